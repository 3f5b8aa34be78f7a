# What the guests of scripts/rdma-guest.sh and scripts/systemd-guest.sh share: they are made of Debian packages
# of this machine's own sources, kept under .cache, emulated by qemu, and run a command whose output and status
# come back. Sourced by both, which run with `set -euo pipefail` and have set `guest`, `seconds` and `marker`.
#
# Status 77: it cannot run on this machine, and says why. 124: the time was over. 125: the guest died.

say() { echo "$guest: $*" >&2; }
cannot() { say "cannot run here: $*"; exit 77; }
fail() { say "$*"; exit 1; }

work=$(mktemp -d)
# What was started, by process id.
qemus=()
end() {
  local status=$? process
  trap - EXIT INT TERM
  for process in "${qemus[@]}"; do
    kill -TERM "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  rm -rf "$work"
  exit "$status"
}
trap end EXIT
trap 'exit 130' INT TERM

# ---- The image -------------------------------------------------------------------------------

needs_debian() {
  [ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] && command -v apt-get >/dev/null ||
    cannot "the guest is made of Debian's packages for amd64"
}

# Sets `kernel` to the package that has what the package of this name stands for.
kernel=
find_kernel() { # find_kernel PACKAGE
  kernel=$(apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *Depends: //p' | head -n1)
  [ -n "$kernel" ] || cannot "apt knows no $1: run apt-get update as root, on Debian"
}

apt_get() { # apt_get DIRECTORY ARGUMENT..., whose log and downloads lie in the directory
  local directory=$1
  shift
  (cd "$directory" && apt-get -q -o APT::Sandbox::User= "$@" >log 2>&1) ||
    { cat "$directory/log" >&2; cannot "apt-get has failed"; }
}

# Puts what was made into its place, all of it at once, whoever else makes one.
keep() { # keep DIRECTORY PLACE
  cp -r --sparse=always "$1" "$2.$$"
  mv -T "$2.$$" "$2" 2>/dev/null || rm -rf "$2.$$"
}

# ---- A run -------------------------------------------------------------------------------------

needs_qemu() { # needs_qemu KIND, of scripts/install-tools.sh
  command -v qemu-system-x86_64 >/dev/null ||
    cannot "there is no qemu-system-x86_64: scripts/install-tools.sh $1"
}

# Starts a guest, whose standard output is a file or pipe; its process is $started.
started=
emulate() { # emulate OUTPUT QEMU_ARGUMENT...
  local output=$1
  shift
  timeout --kill-after=5 "$seconds" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -nodefaults \
    -no-user-config -display none "$@" >"$output" 2>"$work/qemu" </dev/null &
  started=$!
  qemus+=("$started")
}

# Prints what the guest prints, up to the marker, and ends with the status behind it.
follow() {
  local line
  while IFS= read -r line; do
    line=${line%$'\r'}
    case "$line" in "$marker "*) return "${line#"$marker "}" ;; esac
    printf '%s\n' "$line"
  done
  return 125
}

finish() { # finish STATUS PROCESS
  local status=$1
  # When the command has ended the guest switches itself off.
  wait "$2" || [ "$?" != 124 ] || [ "$status" != 125 ] || status=124
  case "$status" in
    124) say "ended by force after $seconds s" ;;
    125) cat "$work/qemu" >&2; say "the guest died" ;;
    *) say "status $status after $SECONDS s" ;;
  esac
  return "$status"
}
