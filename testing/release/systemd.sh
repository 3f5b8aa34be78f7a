#!/usr/bin/env bash
# Tests the .deb under a real systemd: a small Debian, emulated, in which testing/release/systemd/checks.sh installs
# it as a user does. Nothing of this machine is changed. Exits with 77 where such a guest cannot be.
# usage: testing/release/systemd.sh PAGE VERSION UPGRADE
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
page=$1 version=$2 upgrade=$3
next=scurry_99.0.0_amd64.deb
say "the .deb in a guest with systemd; its processor is emulated, and so are its seconds"
status=0
"$here/../../scripts/systemd-guest.sh" run "$page/scurry_${version}_amd64.deb" "$upgrade/$next" \
  "$here"/systemd/{checks.sh,sandbox.pl} -- bash /guest/checks.sh "$version" || status=$?
case $status in
  0) say "the service passes" ;;
  77) say "systemd is not tested: the guest cannot run here"; exit 77 ;;
  *) fail "the guest ended with $status" ;;
esac
