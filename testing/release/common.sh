# What the tests of release artifacts share. Sourced by the scripts beside it, which run with `set -euo pipefail`.

say() { echo "release: $*"; }
fail() { echo "release: $*" >&2; exit 1; }

work=$(mktemp -d)
servers=()
end_servers() {
  local pid
  for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${servers[@]}"; do wait "$pid" 2>/dev/null || true; done
}
clean() {
  end_servers
  rm -rf --one-file-system "$work"
}
trap clean EXIT

# Waits until a command succeeds: a minute by its tries, more on a machine that stalls.
until_true() { # until_true COMMAND...
  local try
  for try in $(seq 600); do
    "$@" && return 0
    sleep 0.1
  done
  fail "after $try tries: $*"
}

# Starts a server on a free port, with its data in a directory; sets `port`.
serve() { # serve BINARY DIR
  local log=$work/serve.log
  "$1" serve --listen 127.0.0.1:0 --dir "$2" 2>"$log" &
  servers+=("$!")
  until_true grep -q '^listening on ' "$log" || fail "$(cat "$log")"
  port=$(sed -n 's/^listening on 127\.0\.0\.1:\([0-9]*\)$/\1/p' "$log")
}

# PING, an account, and what is left of it after a debit.
charges() { # charges PORT COMMAND...
  local port=$1 reply
  shift
  [ "$("$@" -p "$port" PING)" = PONG ] || fail "no PONG from $*"
  "$@" -p "$port" SCUR.CREATE "alice" BUCKET main cent 1000 >/dev/null
  "$@" -p "$port" SCUR.DEBIT "alice" order-1 cent 250 >/dev/null
  reply=$("$@" -p "$port" SCUR.GET alice)
  grep -q 750 <<<"$reply" || fail "alice is not charged: $reply"
}

# The newest glibc that a file asks for is not newer than this.
glibc_at_most() { # glibc_at_most VERSION FILE
  local newest
  newest=$(objdump -T "$2" | grep -o 'GLIBC_[0-9.]*' | cut -d_ -f2 | sort -uV | tail -n1)
  [ -n "$newest" ] || fail "$2 asks for no glibc"
  [ "$(printf '%s\n%s\n' "$newest" "$1" | sort -V | tail -n1)" = "$1" ] ||
    fail "$2 asks for glibc $newest"
  say "${2##*/} asks for glibc $newest"
}

# A page leads to no file that is not beside it.
alone() { # alone PAGE
  local links
  [ -s "$1" ] || fail "$1 is not there"
  links=$(grep -oE '\]\([^)]*\)' "$1" | grep -vE '^\]\((#|https?://)' || true)
  [ -z "$links" ] || fail "$1 leads to what is not there: $links"
}

# No path of the machine that built is in any file of a directory.
no_path_of_here() { # no_path_of_here DIR
  local path
  for path in "$(git rev-parse --show-toplevel)" "${CARGO_HOME:-$HOME/.cargo}"; do
    ! grep -rlF "$path/" "$1" || fail "these have the path $path"
  done
}
