#!/bin/sh
# Balances outlive the package: /var/lib/scurry stays, and so does the user whose files these are, unless the
# directory is gone or empty when the package is purged (dpkg) or removed (rpm).
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
case "$1" in
  purge | 0)
    rmdir /etc/scurry /var/lib/scurry 2>/dev/null || true
    if [ -e /var/lib/scurry ]; then
      echo "scurry: /var/lib/scurry is kept, with the user scurry: remove them when nobody needs the balances"
    else
      if getent passwd scurry >/dev/null; then userdel scurry || true; fi
      if getent group scurry >/dev/null; then groupdel scurry || true; fi
    fi
    ;;
esac
