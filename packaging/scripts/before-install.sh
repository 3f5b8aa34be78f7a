#!/bin/sh
# Makes the user that the service runs as; one that is there already is left alone.
set -e
if ! getent group scurry >/dev/null; then
  groupadd --system scurry
fi
if ! getent passwd scurry >/dev/null; then
  useradd --system --gid scurry --home-dir /var/lib/scurry --no-create-home --shell /usr/sbin/nologin \
    --comment "Scurry" scurry
fi
