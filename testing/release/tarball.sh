#!/usr/bin/env bash
# Tests the tarball: unpacked by somebody who has nothing else.
# usage: testing/release/tarball.sh PAGE VERSION
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/common.sh"
page=$1 version=$2
base=scurry-$version-x86_64-linux-gnu

SECONDS=0
tar -xzf "$page/$base.tar.gz" -C "$work"
serve "$work/$base/scurry" "$work/data"
charges "$port" "$work/$base/scurry" cli
say "the tarball: from the file to the first charge in $SECONDS s"
cd "$work/$base"
[ "$(./scurry --version)" = "scurry $version" ] || fail "scurry --version says $(./scurry --version)"
for file in scurry libscurry.so; do glibc_at_most 2.17 "$file"; done
for file in LICENSE README.md CHANGELOG.md scurry.example.toml; do
  [ -s "$file" ] || fail "$file is not there"
done
alone README.md
[ -z "$(find . ! -perm -a+r)" ] || fail "not everybody can read $(find . ! -perm -a+r)"
cd - >/dev/null
no_path_of_here "$work/$base"

# Completions: those of bash are asked, as a key press does.
completed=$(bash -c '. "$1"; COMP_WORDS=(scurry res); COMP_CWORD=1; _scurry scurry res scurry
  echo "${COMPREPLY[*]}"' - "$work/$base/completions/scurry.bash")
[ "$completed" = restore ] || fail "bash completes \`scurry res\` to: $completed"
for shell in zsh:_scurry fish:scurry.fish; do
  file=$work/$base/completions/${shell#*:}
  [ -s "$file" ] || fail "$file is not there"
  ! command -v "${shell%%:*}" >/dev/null || "${shell%%:*}" -n "$file"
done
for command in "" -serve -cli -backup -restore -replica-up; do
  page_of=$work/$base/man/man1/scurry$command.1
  grep -q '^\.TH scurry' "$page_of" || fail "scurry$command has no manual page"
done

say "loading the module"
valkey-server --port 0 --unixsocket "$work/socket" --save "" --dir "$work" \
  --loadmodule "$work/$base/libscurry.so" >"$work/valkey.log" &
servers+=("$!")
module_ready() { valkey-cli -s "$work/socket" PING >/dev/null 2>&1; }
until_true module_ready
valkey-cli -s "$work/socket" SCUR.CREATE bob BUCKET main cent 5 >/dev/null
valkey-cli -s "$work/socket" SCUR.GET bob | grep -q '^main$' || fail "the module knows no account"
say "the tarball passes"
