#!/usr/bin/env bash
# Tests the wheel: installed by pip into an environment of its own, and run by uvx.
# usage: testing/release/wheel.sh PAGE VERSION
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
page=$(cd "$1" && pwd) version=$2
tools=$(git -C "$here" rev-parse --show-toplevel)/.cache/packaging/bin
wheel=("$page"/scurry-"$version"-*.whl)
[ -f "${wheel[0]}" ] && [ "${#wheel[@]}" = 1 ] || fail "there is not one wheel: ${wheel[*]}"
case "${wheel[0]}" in
  *-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl) ;;
  *) fail "${wheel[0]##*/} is for other machines" ;;
esac

"$tools/python" -m venv "$work/venv"
SECONDS=0
"$work/venv/bin/pip" install --quiet --no-index --no-deps "${wheel[0]}"
serve "$work/venv/bin/scurry" "$work/data"
charges "$port" "$work/venv/bin/scurry" cli
say "the wheel: from the file to the first charge in $SECONDS s by pip"
[ "$("$work/venv/bin/scurry" --version)" = "scurry $version" ] || fail "it is another version"
glibc_at_most 2.17 "$work/venv/bin/scurry"
"$tools/python" -m zipfile -e "${wheel[0]}" "$work/unpacked"
no_path_of_here "$work/unpacked"
[ -n "$(find "$work/unpacked" -path '*.dist-info/*LICENSE' -size +0)" ] || fail "it has no licence"
tar -xzf "$page/scurry-$version-x86_64-linux-gnu.tar.gz" -C "$work"
cmp "$work"/unpacked/*.data/scripts/scurry "$work/scurry-$version-x86_64-linux-gnu/scurry" ||
  fail "the tarball has another program"

# uvx keeps what it has unpacked; here that is a directory that goes.
export UV_CACHE_DIR=$work/uv UV_TOOL_DIR=$work/uv-tools UV_PYTHON_DOWNLOADS=never UV_OFFLINE=1
printf '#!/bin/sh\nexec "%s" --quiet --python "%s" --from "%s" scurry "$@"\n' "$tools/uvx" "$tools/python" \
  "${wheel[0]}" >"$work/by-uvx"
chmod +x "$work/by-uvx"
SECONDS=0
serve "$work/by-uvx" "$work/data-of-uvx"
charges "$port" "$work/by-uvx" cli
say "the wheel: from the file to the first charge in $SECONDS s by uvx"
say "the wheel passes"
