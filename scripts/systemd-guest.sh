#!/usr/bin/env bash
# A small Debian with systemd as its first process, emulated by qemu, and a command that runs in it as root.
# It is installed by its own dpkg within a guest, from packages of this machine's own sources, and lies in
# .cache/systemd-guest; nothing of this machine is changed, and no right of root is needed. It has no network
# but its loopback. Times in it are those of an emulated processor.
#
# usage: scripts/systemd-guest.sh build
#        scripts/systemd-guest.sh run FILE... -- COMMAND [ARGUMENT]...
#   build  fetches the packages and makes the disk, unless it is there
#   run    builds, puts each FILE into the guest's directory /guest, runs the command there on a copy of the
#          disk, prints what it prints and ends with its status. After a boot the command runs anew, with
#          GUEST_BOOT set to 1, 2 and so on. Where it ends with 75 the guest boots again, in order; where it has
#          taken the machine away from under itself, too.
#   SYSTEMD_GUEST_SECONDS  ends it by force after so long, 3600
#   SYSTEMD_GUEST_MEMORY   of the guest, MiB, 1024
#
# Status 77: it cannot run on this machine, and says why. 124: the time was over. 125: the guest died.
set -euo pipefail
export LC_ALL=C
# mke2fs lies where only root looks.
PATH=$PATH:/usr/sbin:/sbin
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What is cached was made by a script of this number, of this kernel; each has a place of its own.
edition=1
cache=$PWD/.cache/systemd-guest
seconds=${SYSTEMD_GUEST_SECONDS:-3600}
memory=${SYSTEMD_GUEST_MEMORY:-1024}
# What the guest prints when the command has ended, before its status.
marker=systemd-guest-has-ended-with
guest=systemd-guest
. scripts/guest-common.sh

# Beside all that is essential but apt, which nothing in the guest asks for.
packages=('?essential ?not(?name(^apt$))' usr-is-merged systemd-sysv passwd)
# The kernel for machines in clouds has a disk and a file system built in, so it starts without an initial one.
built_in='^CONFIG_\(EXT4_FS\|BLK_DEV_NVME\|SERIAL_8250_CONSOLE\)=y$'

# ---- The disk ----------------------------------------------------------------------------------

fetch() { # fetch DIRECTORY
  local directory=$1
  say "fetching $kernel and a Debian with systemd, about 60 MB"
  apt_get "$directory" download "$kernel"
  # As if nothing were installed: all that the packages depend on comes along.
  mkdir -p "$directory/cache/archives/partial"
  : >"$directory/status"
  apt_get "$directory" -y -o "Dir::State::status=$directory/status" -o "Dir::Cache=$directory/cache" \
    -o APT::Install-Recommends=false -o Debug::NoLocking=1 --download-only install "${packages[@]}"
}

# The files of all packages, so that dpkg runs, and the packages, which it installs then.
lay_out() { # lay_out PACKAGES ROOT
  local deb directory root=$2
  for directory in bin lib lib64 sbin; do
    mkdir -p "$root/usr/$directory"
    ln -s "usr/$directory" "$root/$directory"
  done
  for deb in "$1"/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -p --keep-directory-symlink -C "$root"
  done
  mkdir -p "$root/packages" "$root/var/lib/dpkg"
  cp "$1"/*.deb "$root/packages/"
  : >"$root/var/lib/dpkg/status"
  write_installer "$root/installer"
  write_runner "$root"
}

# The first process of the first boot: files get the owners that packages give them, scripts are run.
write_installer() { # write_installer FILE
  cat >"$1" <<'INSTALLER'
#!/bin/bash
export PATH=/usr/sbin:/usr/bin LC_ALL=C HOME=/root DEBIAN_FRONTEND=noninteractive DEBCONF_NONINTERACTIVE_SEEN=true
install_all() {
  set -e
  chown -hR 0:0 /
  mount -t proc proc /proc
  mount -t sysfs sys /sys
  mount -t tmpfs tmp /tmp
  # Whatever has an owner needs these names.
  dpkg --force-depends --install /packages/base-passwd_*.deb
  dpkg --force-depends --force-unsafe-io --unpack /packages/*.deb
  dpkg --configure --pending
  rm -rf /packages /installer /var/cache/debconf/*-old /var/lib/dpkg/*-old
  ln -s /dev/null /etc/systemd/system/getty.target
  ln -s /dev/null /etc/systemd/system/serial-getty@.service
  echo guest >/etc/hostname
  ln -s /etc/systemd/system/guest.service /etc/systemd/system/multi-user.target.wants/
}
mount -t devtmpfs dev /dev
exec </dev/null >/dev/ttyS1 2>&1
(install_all)
status=$?
sync
echo "MARKER $status"
echo o >/proc/sysrq-trigger
sleep infinity
INSTALLER
  sed -i "s/MARKER/$marker/" "$1"
  chmod 755 "$1"
}

# What runs the command at each boot.
write_runner() { # write_runner ROOT
  mkdir -p "$1/guest" "$1/etc/systemd/system" "$1/etc/systemd/system.conf.d"
  # An emulated machine that stalls is no finding.
  printf '[Manager]\nDefaultTimeoutStartSec=900\nDefaultTimeoutStopSec=900\n' \
    >"$1/etc/systemd/system.conf.d/guest.conf"
  cat >"$1/etc/systemd/system/guest.service" <<'UNIT'
[Unit]
Description=The command of the guest
[Service]
ExecStart=/guest.sh
Environment=SYSTEMD_BUS_TIMEOUT=900 LC_ALL=C HOME=/root
TimeoutStopSec=60
[Install]
WantedBy=multi-user.target
UNIT
  cat >"$1/guest.sh" <<'RUNNER'
#!/bin/bash
exec </dev/null >/dev/ttyS1 2>&1
cd /guest
[ ! -e /guest.tar ] || { tar -xf /guest.tar && rm /guest.tar; }
export GUEST_BOOT=$(($(cat .boots 2>/dev/null || echo 0) + 1))
echo "$GUEST_BOOT" >.boots
bash ./.command
status=$?
# Not `systemctl reboot`, which asks a daemon that is not here.
if [ "$status" = 75 ]; then
  systemctl start --no-block reboot.target
else
  echo "MARKER $status"
  systemctl start --no-block poweroff.target
fi
RUNNER
  sed -i "s/MARKER/$marker/" "$1/guest.sh"
  chmod 755 "$1/guest.sh"
}

# Starts a guest on a disk. What it prints goes to the output, what its kernel and systemd say to a file.
boot() { # boot OUTPUT DISK KERNEL APPEND QEMU_ARGUMENT...
  local output=$1 disk=$2 vmlinuz=$3 append=$4
  shift 4
  emulate "$output" -smp 2 -m "$memory" -serial "file:$work/console" -serial stdio -kernel "$vmlinuz" \
    -drive "file=$disk,if=none,format=raw,id=disk" -device nvme,drive=disk,serial=disk "$@" \
    -append "console=ttyS0 quiet panic=-1 random.trust_cpu=on root=/dev/nvme0n1 rw rootwait $append"
}

# Prints what the guest prints, and ends with the status of its command.
watch() { # watch OUTPUT
  local status=0
  follow <"$1" || status=$?
  case "$status" in 124 | 125) tail -n 40 "$work/console" >&2 ;; esac
  finish "$status" "$started"
}

build() {
  needs_debian
  for tool in mke2fs e2fsck debugfs; do
    command -v "$tool" >/dev/null || cannot "there is no $tool: scripts/install-tools.sh packaging"
  done
  find_kernel linux-image-cloud-amd64
  image=$cache/$edition-$kernel
  [ ! -d "$image" ] || return 0
  needs_qemu packaging
  mkdir -p "$work"/{packages,kernel,root,made} "$cache"
  fetch "$work/packages"
  dpkg-deb --extract "$work"/packages/linux-image-*.deb "$work/kernel"
  [ "$(grep -c "$built_in" "$work"/kernel/boot/config-*)" = 3 ] || cannot "$kernel has no disk built in"
  cp "$work"/kernel/boot/vmlinuz-* "$work/made/kernel"
  lay_out "$work/packages/cache/archives" "$work/root"
  mke2fs -q -t ext4 -d "$work/root" "$work/made/disk" 2G >/dev/null
  say "installing it in a guest: minutes, for that is emulated"
  mkfifo "$work/installer"
  boot "$work/installer" "$work/made/disk" "$work/made/kernel" init=/installer -no-reboot
  SECONDS=0
  watch "$work/installer" >"$work/installed" || { cat "$work/installed" >&2; fail "it was not installed"; }
  # What the guest has left in the journal of its file system, which must be whole before files are put there.
  e2fsck -fy "$work/made/disk" >"$work/checked" || [ "$?" = 1 ] || { cat "$work/checked" >&2; fail "a broken disk"; }
  keep "$work/made" "$image"
}

# ---- A run -------------------------------------------------------------------------------------

run() {
  local file
  mkdir -p "$work/files"
  while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
    cp -L "$1" "$work/files/"
    shift
  done
  [ "$#" -gt 1 ] || fail "say what to run: scripts/systemd-guest.sh run FILE... -- COMMAND"
  shift
  printf '%q ' "$@" >"$work/files/.command"
  (cd "$work/files" && tar --owner=0 --group=0 -cf "$work/guest.tar" .)
  cp --sparse=always "$image/disk" "$work/disk"
  # It says on its error output what it is, and nothing when it fails.
  debugfs -w -R "write $work/guest.tar guest.tar" "$work/disk" >/dev/null 2>&1
  debugfs -R "stat guest.tar" "$work/disk" 2>/dev/null | grep -q 'Type: regular' || fail "no file on the disk"
  mkfifo "$work/output"
  SECONDS=0
  boot "$work/output" "$work/disk" "$image/kernel" ""
  watch "$work/output"
}

case "${1:-}" in
  build)
    build
    ;;
  run)
    needs_qemu packaging
    shift
    build
    run "$@"
    ;;
  *) fail "unknown argument '${1:-}': say build or run" ;;
esac
