#!/bin/sh
# Stops the service of a package that goes, but not that of one that is upgraded.
# dpkg says `remove`, or `upgrade`; rpm says 0, or 1.
set -e
case "$1" in
  remove | 0)
    if [ -d /run/systemd/system ]; then
      systemctl disable --now scurry.service || true
    fi
    ;;
esac
