#!/bin/sh
# Tells systemd of the unit. A first installation starts nothing: systemctl enable --now scurry. An upgrade
# restarts a service that runs.
# dpkg says `configure`, and with an upgrade the old version; rpm says 1, and with an upgrade 2.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload || true
if [ "$1" = 2 ] || { [ "$1" = configure ] && [ -n "$2" ]; }; then
  systemctl try-restart scurry.service || true
fi
