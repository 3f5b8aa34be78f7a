#!/usr/bin/env bash
# A small Linux with a software RDMA device (rxe on a dummy network device), emulated by qemu, and a
# command that runs in it. Everything in it is unpacked from Debian packages of this machine's own
# sources into .cache/rdma-guest; nothing is installed. Times in it mean nothing: it is emulated.
#
# usage: scripts/rdma-guest.sh build
#        scripts/rdma-guest.sh run [FILE|FILE:PATH]... -- COMMAND [ARGUMENT]...
#   build  fetches the packages and makes the image, unless it is there
#   run    builds, puts each FILE into the guest's directory /guest (or at PATH), runs the command there,
#          prints what it prints and ends with its status. In the guest the device is rxe0 on dummy0,
#          whose addresses are 10.77.0.1 and fd77::1, and SCURRY_RDMA_GUEST=1 is set.
#        scripts/rdma-guest.sh pair [FILE|FILE:PATH]... -- COMMAND [ARGUMENT]... -- COMMAND [ARGUMENT]...
#   pair   the same with two guests that are joined by a wire: the first command runs in 10.78.0.1, the
#          second in 10.78.0.2, each with its device rxe0 on eth0. It ends with the second command, with
#          its status; the first guest is switched off then, unless it has ended before.
#   RDMA_GUEST_SECONDS  ends it by force after so long, 150
#   RDMA_GUEST_MEMORY   of the guest, MiB, 1024
#   RDMA_GUEST_CPUS     of the guest, 2; of each of a pair, 1
#
# Status 77: it cannot run on this machine, and says why. 124: the time was over. 125: the guest died.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What is cached was made by a script of this number, of this kernel; each has a place of its own.
edition=5
cache=$PWD/.cache/rdma-guest
seconds=${RDMA_GUEST_SECONDS:-150}
memory=${RDMA_GUEST_MEMORY:-1024}
# What the guest prints when the command has ended, before its status.
marker=rdma-guest-has-ended-with

packages=(busybox-static iproute2 libibverbs1 librdmacm1 ibverbs-providers libgcc-s1)
# Of all that these depend on, what the programs below are linked with.
libraries='^(libc6|libbpf[0-9]*|libbsd0|libcap2|libelf1.*|libmd0|libmnl0|libnl-.*|libxtables.*|libzstd1|zlib1g)$'
# In the order in which they can be loaded; each brings what it depends on.
modules=(crc32_generic crc32c_generic dummy rdma_ucm rdma_rxe virtio_ring virtio_pci virtio_net sch_netem)

guest=rdma-guest
. scripts/guest-common.sh

# ---- The image -------------------------------------------------------------------------------

fetch() { # fetch DIRECTORY
  local closure
  closure=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances "${packages[@]}" | grep -E "$libraries" | sort -u)
  say "fetching $kernel and what goes with it, about 80 MB"
  # shellcheck disable=SC2086
  apt_get "$1" download "$kernel" "${packages[@]}" $closure
}

# The file of a module, and before it those of what it depends on.
module_files() { # module_files DIRECTORY NAME
  local file depends other
  file=$(find "$1" -name "$2.ko" -o -name "$2.ko.xz" -o -name "${2//_/-}.ko" -o -name "${2//_/-}.ko.xz" |
    head -n1)
  # Not there: built into this kernel.
  [ -n "$file" ] || return 0
  depends=$(read_module "$file" | tr '\0' '\n' | sed -n 's/^depends=//p')
  for other in ${depends//,/ }; do
    module_files "$1" "$other"
  done
  echo "$file"
}

read_module() { # read_module FILE
  case "$1" in *.xz) xz -dc "$1" ;; *) cat "$1" ;; esac
}

copy_modules() { # copy_modules FROM ROOT
  local name file list=$2/modules/order
  mkdir -p "$2/modules"
  for name in "${modules[@]}"; do
    module_files "$1" "$name"
  done | awk '!seen[$0]++' | while read -r file; do
    name=$(basename "$file" .xz)
    read_module "$file" >"$2/modules/$name"
    echo "$name"
  done >"$list"
  grep -q rdma_rxe "$list" || fail "this kernel has no rdma_rxe"
}

write_init() { # write_init ROOT
  cat >"$1/init" <<'INIT'
#!/bin/busybox sh
# The first process of the guest: the device, then the command.
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /busybox
/bin/busybox --install -s /busybox
export PATH=/bin:/busybox HOME=/tmp TERM=dumb SCURRY_RDMA_GUEST=1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir -p /dev/shm && mount -t tmpfs shm /dev/shm
stty -F /dev/console -onlcr
while read -r module; do
  case "$module" in dummy.ko) options=numdummies=0 ;; *) options= ;; esac
  insmod "/modules/$module" $options || echo "no module $module"
done </modules/order
/bin/ip link set lo up
host=$(sed -n 's/.*guest.host=\([0-9]*\).*/\1/p' /proc/cmdline)
if [ -n "$host" ]; then
  device=eth0
  /bin/ip addr add 10.78.0.$host/24 dev eth0
else
  device=dummy0
  /bin/ip link add dummy0 type dummy
  /bin/ip addr add 10.77.0.1/24 dev dummy0
  /bin/ip addr add fd77::1/64 nodad dev dummy0
fi
/bin/ip link set $device up
/bin/rdma link add rxe0 type rxe netdev $device || echo "no RDMA device"
# Anyone may use it, as on a host whose administrator has said so.
chmod 666 /dev/infiniband/* 2>/dev/null
cd /guest
setsid sh /guest/.command$host
echo "MARKER $?"
poweroff -f
INIT
  sed -i "s/MARKER/$marker/" "$1/init"
  chmod 755 "$1/init"
}

assemble() { # assemble PACKAGES ROOT
  local deb name unpacked=$work/unpacked root=$2
  mkdir -p "$unpacked/programs" "$unpacked/kernel" "$root"/{bin,etc/libibverbs.d,lib64,usr/lib,work}
  for deb in "$1"/*.deb; do
    case "${deb##*/}" in
      linux-image-*) dpkg-deb --extract "$deb" "$unpacked/kernel" ;;
      *) dpkg-deb --extract "$deb" "$unpacked/programs" ;;
    esac
  done
  for name in busybox ip tc rdma; do
    find "$unpacked/programs" -path "*bin/$name" \( -type f -o -type l \) -exec cp -L {} "$root/bin/" \; -quit
    [ -x "$root/bin/$name" ] || fail "the packages have no $name"
  done
  # Where the loader of Debian looks.
  name=usr/lib/x86_64-linux-gnu
  mkdir -p "$root/$name/libibverbs"
  find "$unpacked/programs" -path '*/lib/x86_64-linux-gnu/*.so*' ! -path '*/gconv/*' \
    ! -path '*/libibverbs/*' ! -path '*/tc/*' -exec cp -d {} "$root/$name/" \;
  find "$unpacked/programs" -name 'librxe-rdmav*.so' -exec cp {} "$root/$name/libibverbs/" \;
  cp "$unpacked/programs/etc/libibverbs.d/rxe.driver" "$root/etc/libibverbs.d/"
  cp -L "$(find "$unpacked/programs" -name 'ld-linux-x86-64.so.2' | head -n1)" "$root/lib64/"
  ln -s usr/lib "$root/lib"
  printf 'root:x:0:0::/tmp:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n' >"$root/etc/passwd"
  copy_modules "$unpacked/kernel" "$root"
  write_init "$root"
  cp "$unpacked"/kernel/boot/vmlinuz-* "$work/made/kernel"
}

archive() { # archive DIRECTORY: prints it as the kernel unpacks it
  (cd "$1" && find . | "$busybox" cpio -o -H newc -R 0:0 2>/dev/null)
}

build() {
  needs_debian
  find_kernel linux-image-amd64
  image=$cache/$edition-$kernel
  [ ! -d "$image" ] || return 0
  mkdir -p "$work/packages" "$work/root" "$work/made" "$cache"
  fetch "$work/packages"
  assemble "$work/packages" "$work/root"
  cp "$work/root/bin/busybox" "$work/made/"
  busybox=$work/made/busybox
  archive "$work/root" | gzip -9 >"$work/made/image"
  say "the image has $(wc -c <"$work/made/image") bytes, the kernel $(wc -c <"$work/made/kernel")"
  keep "$work/made" "$image"
}

# ---- A run -------------------------------------------------------------------------------------

add_files() { # add_files ROOT FILE...
  local root=$1 file place
  shift
  for file in "$@"; do
    place=/guest/${file##*/}
    case "$file" in *:/*) place=${file#*:}; file=${file%%:*} ;; esac
    [ -f "$file" ] || fail "there is no file $file"
    mkdir -p "$root$(dirname "$place")"
    cp -L "$file" "$root$place"
    # What a debugger reads is most of a program. What is no program is left as it is.
    strip --strip-debug "$root$place" 2>/dev/null || true
  done
}

# Reads the arguments: the files, and behind each -- a command.
files=()
commands=()
read_arguments() {
  local command=
  while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
    files+=("$1")
    shift
  done
  while [ "$#" -gt 1 ] && [ "$1" = -- ]; do
    shift
    command=
    while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
      command+=$(printf '%q ' "$1")
      shift
    done
    commands+=("$command")
  done
}

# The image, and behind it what this run adds: the kernel unpacks one archive after another, each of
# which begins at a multiple of four bytes.
make_initrd() {
  mkdir -p "$work/files/guest"
  add_files "$work/files" "${files[@]}"
  cp "$image/image" "$work/initrd"
  truncate -s %4 "$work/initrd"
  busybox=$image/busybox
  archive "$work/files" >>"$work/initrd"
}

start() { # start CONSOLE APPEND QEMU_ARGUMENT...
  local console=$1 append=$2
  shift 2
  emulate "$console" -smp "${RDMA_GUEST_CPUS:-$cpus}" -m "$memory" -no-reboot -serial stdio \
    -kernel "$image/kernel" -initrd "$work/initrd" "$@" \
    -append "console=ttyS0 quiet loglevel=3 panic=-1 random.trust_cpu=on rdinit=/init $append"
}

run() {
  local status=0 cpus=2
  [ "${#commands[@]}" = 1 ] || fail "say what to run: scripts/rdma-guest.sh run FILE... -- COMMAND"
  mkdir -p "$work/files/guest"
  echo "${commands[0]}" >"$work/files/guest/.command"
  make_initrd
  mkfifo "$work/console"
  start "$work/console" ""
  follow <"$work/console" || status=$?
  finish "$status" "$started"
}

pair() {
  local status=0 cpus=1 wire=$work/wire host
  [ "${#commands[@]}" = 2 ] || fail "say what to run in both: rdma-guest.sh pair FILE... -- COMMAND -- COMMAND"
  mkdir -p "$work/files/guest"
  for host in 1 2; do
    echo "${commands[host - 1]}" >"$work/files/guest/.command$host"
    mkfifo "$work/console$host"
  done
  make_initrd
  start "$work/console1" "guest.host=1" -device virtio-net-pci,netdev=wire,mac=52:54:00:00:00:01 \
    -netdev "stream,id=wire,server=on,addr.type=unix,addr.path=$wire"
  # It ends with its guest.
  { follow || true; } <"$work/console1" | sed 's/^/[1] /' &
  until [ -S "$wire" ]; do
    kill -0 "$started" 2>/dev/null || { cat "$work/qemu" >&2; fail "the first guest does not start"; }
    read -rt 0.1 <> <(:) || true
  done
  start "$work/console2" "guest.host=2" -device virtio-net-pci,netdev=wire,mac=52:54:00:00:00:02 \
    -netdev "stream,id=wire,server=off,addr.type=unix,addr.path=$wire"
  follow <"$work/console2" | sed 's/^/[2] /' || status=${PIPESTATUS[0]}
  kill -TERM "${qemus[0]}" 2>/dev/null || true
  finish "$status" "$started"
}

case "${1:-}" in
  build)
    build
    ;;
  run | pair)
    needs_qemu rdma
    what=$1
    shift
    read_arguments "$@"
    build
    SECONDS=0
    "$what"
    ;;
  *) fail "unknown argument '${1:-}': say build, run or pair" ;;
esac
