#!/usr/bin/env bash
# Tests the .deb and the .rpm in throwaway roots: installed, upgraded with changed settings, removed, purged; and
# the service's command run as its user. A root is this machine's file system beneath one in memory, with
# networks and processes of its own, so nothing of this machine is changed. Exits with 77 where that cannot be.
# usage: testing/release/packages.sh PAGE VERSION UPGRADE
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"

in_root() { chroot "$root" "$@"; }

make_root() {
  mount --make-rprivate /
  # Where the other namespace has nothing but an empty directory: nothing in it needs to be removed, and what
  # is mounted in it must not be.
  trap end_servers EXIT
  mount -t tmpfs tmpfs "$work"
  root=$work/root
  mkdir "$work/upper" "$work/overlay" "$root"
  mount -t overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/overlay" overlay "$root"
  mount -t proc proc "$root/proc"
  # Devices of its own: those of this machine must not be reached by whatever removes the root.
  mount -t tmpfs tmpfs "$root/dev"
  mknod -m 666 "$root/dev/null" c 1 3
  mknod -m 666 "$root/dev/zero" c 1 5
  mknod -m 666 "$root/dev/random" c 1 8
  mknod -m 666 "$root/dev/urandom" c 1 9
  ln -s /proc/self/fd "$root/dev/fd"
  for directory in run tmp; do mount -t tmpfs tmpfs "$root/$directory"; done
  ip link set lo up
  ! in_root getent passwd scurry >/dev/null || fail "this machine has a user scurry already"
}

# The property of a file: owner, group, mode.
is_owned() { # is_owned EXPECTED FILE
  local found
  found=$(in_root stat -c '%U:%G:%a' "$2")
  [ "$found" = "$1" ] || fail "$2 is $found, and should be $1"
}

check_installed() { # check_installed VERSION
  [ "$(in_root scurry --version)" = "scurry $built" ] || fail "it is $(in_root scurry --version)"
  in_root getent passwd scurry | grep -q ':/var/lib/scurry:/usr/sbin/nologin$' || fail "no user"
  is_owned root:scurry:640 /etc/scurry/scurry.toml
  is_owned root:root:755 /usr/bin/scurry
  is_owned root:root:644 /usr/lib/systemd/system/scurry.service
  for file in /usr/lib/scurry/libscurry.so /usr/share/man/man1/scurry-serve.1.gz \
    /usr/share/bash-completion/completions/scurry; do
    [ -s "$root$file" ] || fail "$file is not there"
  done
  alone "$root/usr/share/doc/scurry/README.md"
  ! command -v systemd-analyze >/dev/null ||
    in_root systemd-analyze verify --man=no /usr/lib/systemd/system/scurry.service ||
    fail "the unit is wrong"
}

# Runs the command of the unit as its user, with what systemd would have made for it.
start_service() { # start_service PORT
  local command=()
  read -ra command < <(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/scurry.service")
  in_root install -d -o scurry -g scurry -m 0700 /var/lib/scurry
  chroot "$root" python3 -c 'import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("/run/notify")
import os; os.chmod("/run/notify", 0o777); print(s.recv(64).decode(), flush=True)' >"$work/notified" &
  servers+=("$!")
  until_true test -S "$root/run/notify"
  # Without a shell between: the process is the one that is stopped.
  chroot "$root" setpriv --reuid scurry --regid scurry --clear-groups --no-new-privs --bounding-set=-all \
    --inh-caps=-all env --chdir=/var/lib/scurry NOTIFY_SOCKET=/run/notify "${command[@]}" \
    2>"$work/service.log" &
  service=$!
  servers+=("$service")
  until_true grep -q '^READY=1$' "$work/notified"
  [ "$(in_root scurry cli -p "$1" PING)" = PONG ] || fail "$(cat "$work/service.log")"
  is_owned scurry:scurry:700 /var/lib/scurry
}

stop_service() {
  kill -TERM "$service"
  wait "$service" || fail "the service ended with $?: $(cat "$work/service.log")"
  rm -f "$root/run/notify" "$work/notified"
}

own_port=7389
change_settings() {
  sed -i "s/^listen = .*/listen = \"127.0.0.1:$own_port\"/" "$root/etc/scurry/scurry.toml"
}

# After an upgrade: the changed settings count, the new ones lie beside them, and the balance is there.
check_upgraded() { # check_upgraded FILE_OF_NEW_SETTINGS
  check_installed
  grep -q "127.0.0.1:$own_port" "$root/etc/scurry/scurry.toml" || fail "the settings are not kept"
  grep -q '^# A line of the new version' "$root$1" || fail "$1 has not the new settings"
  start_service "$own_port"
  in_root scurry cli -p "$own_port" SCUR.GET alice | grep -q 750 || fail "the balance is lost"
  stop_service
}

# After a removal: no file, and no directory that was the package's alone.
nothing_left() {
  local path
  for path in /usr/bin/scurry /usr/lib/scurry /usr/share/doc/scurry; do
    [ ! -e "$root$path" ] || fail "not removed: $path"
  done
}

try_deb() {
  local deb=scurry_${built}_amd64.deb next=scurry_99.0.0_amd64.deb
  cp "$page/$deb" "$upgrade/$next" "$root/tmp/"
  say "installing $deb"
  SECONDS=0
  in_root dpkg -i "/tmp/$deb" >/dev/null
  start_service 6389
  charges 6389 in_root scurry cli
  say "$deb: from the package to the first charge in $SECONDS s"
  check_installed
  stop_service
  change_settings
  say "upgrading to $next"
  in_root dpkg --force-confold -i "/tmp/$next" >/dev/null
  check_upgraded /etc/scurry/scurry.toml.dpkg-dist
  say "removing and purging"
  in_root dpkg -r scurry >/dev/null
  nothing_left
  [ -e "$root/etc/scurry/scurry.toml" ] || fail "the settings are gone"
  in_root dpkg -P scurry | grep -q '/var/lib/scurry is kept' || fail "purged without a word"
  [ ! -e "$root/etc/scurry/scurry.toml" ] || fail "the settings are there after a purge"
  is_owned scurry:scurry:700 /var/lib/scurry
  [ -e "$root/var/lib/scurry/MANIFEST" ] || fail "the balances are gone"
  in_root dpkg -i "/tmp/$deb" >/dev/null
  rm -r "$root/var/lib/scurry"
  in_root dpkg -P scurry >/dev/null
  ! in_root getent passwd scurry || fail "the user is there after a purge that left nothing"
  ! in_root getent group scurry || fail "the group is there after a purge that left nothing"
}

try_rpm() {
  local rpm=scurry-$built-1.x86_64.rpm next=scurry-99.0.0-1.x86_64.rpm
  cp "$page/$rpm" "$upgrade/$next" "$root/tmp/"
  in_root rpm --initdb
  say "installing $rpm"
  SECONDS=0
  # What it depends on is not known to rpm here: this is no system of rpm's.
  in_root rpm -i --nodeps "/tmp/$rpm"
  start_service 6389
  charges 6389 in_root scurry cli
  say "$rpm: from the package to the first charge in $SECONDS s"
  check_installed
  [ "$(in_root rpm -q --qf '%{VERSION}' scurry)" = "$built" ] || fail "rpm knows another version"
  in_root rpm -V --nodeps scurry || fail "rpm -V finds changes"
  stop_service
  change_settings
  say "upgrading to $next"
  in_root rpm -U --nodeps "/tmp/$next" 2>/dev/null
  check_upgraded /etc/scurry/scurry.toml.rpmnew
  say "removing"
  in_root rpm -e scurry 2>/dev/null | grep -q '/var/lib/scurry is kept' || fail "removed without a word"
  nothing_left
  grep -q "127.0.0.1:$own_port" "$root/etc/scurry/scurry.toml.rpmsave" || fail "settings are lost"
  [ -e "$root/var/lib/scurry/MANIFEST" ] || fail "the balances are gone"
}

if [ "$1" = --inside ]; then
  # In namespaces that the last lines have made, and nowhere else.
  [ "$(readlink /proc/self/ns/mnt)" != "$6" ] && [ $$ = 1 ] || fail "not in namespaces of its own"
  page=$3 built=$4 upgrade=$5
  rm -rf --one-file-system "$work"
  work=$7
  make_root
  "try_$2"
  exit
fi
[ "$(id -u)" = 0 ] || { say "the packages are not tested: that takes root"; exit 77; }
for format in deb rpm; do
  case $format in deb) tool=dpkg ;; rpm) tool=rpm ;; esac
  command -v "$tool" >/dev/null || { say "the .$format is not tested: $tool is not here"; exit 77; }
  unshare --mount --pid --fork --kill-child --net --ipc --uts bash "$here/packages.sh" --inside \
    "$format" "$@" "$(readlink /proc/self/ns/mnt)" "$work"
done
say "the packages pass"
