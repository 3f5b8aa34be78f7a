#!/usr/bin/env bash
# Tests the wheels: the program, installed by pip into an environment of its own, and run by uvx; and the Python
# client, which charges there.
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

# The client finds the program of the wheel beside it, and starts it; where the tests of the client have put redis-py,
# it charges there, and on the server that runs.
client=$page/scurry_client-$version-py3-none-any.whl
"$work/venv/bin/pip" install --quiet --no-index --no-deps "$client"
"$tools/python" -m zipfile -e "$client" "$work/client"
no_path_of_here "$work/client"
[ -n "$(find "$work/client" -path '*.dist-info/*LICENSE' -size +0)" ] || fail "the client has no licence"
alone "$work/client/scurry_client-$version.dist-info/METADATA"
libraries=$(echo "$tools"/../../python-client/lib/python3.*/site-packages)
[ -d "$libraries/redis" ] || { libraries=; say "redis-py is not here: the client charges nowhere"; }
# Nothing is imported from where this was started.
(cd "$work" && unset SCURRY_BIN && PYTHONPATH=$libraries "$work/venv/bin/python" - "$work/venv" "$port" "$libraries") <<'PY'
import sys
import scurry_client
from scurry_client import NewBucket, Store
from scurry_client.testing import Server, find_binary
environment, port, is_there = sys.argv[1:]
assert scurry_client.__file__.startswith(environment), scurry_client.__file__
assert str(find_binary()) == f"{environment}/bin/scurry", find_binary()
with Server() as server:
    for url in (server.url, f"redis://127.0.0.1:{port}") if is_there else ():
        store = Store.connect(url)
        store.create("org-7", buckets=[NewBucket("june", "ucent", 1000)])
        with store.session("org-7", unit="ucent", hold=300) as session:
            session.use(250)
        assert store.get("org-7").buckets[0].available == 750
PY
say "the client starts the wheel's program$([ -z "$libraries" ] || echo ", and charges")"

# uvx keeps what it has unpacked; here that is a directory that goes.
export UV_CACHE_DIR=$work/uv UV_TOOL_DIR=$work/uv-tools UV_PYTHON_DOWNLOADS=never UV_OFFLINE=1
printf '#!/bin/sh\nexec "%s" --quiet --python "%s" --from "%s" scurry "$@"\n' "$tools/uvx" "$tools/python" \
  "${wheel[0]}" >"$work/by-uvx"
chmod +x "$work/by-uvx"
SECONDS=0
serve "$work/by-uvx" "$work/data-of-uvx"
charges "$port" "$work/by-uvx" cli
say "the wheel: from the file to the first charge in $SECONDS s by uvx"
say "the wheels pass"
