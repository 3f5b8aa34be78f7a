#!/usr/bin/env bash
# Tests the unit of systemd against what the server does: every system call that it makes is one that the unit
# lets it make, its sockets are of families that it may have, and no memory is writable and executable. Nothing
# else would say so before a user does. Exits with 77 where systemd's own tool is not here.
# usage: testing/release/unit.sh PAGE VERSION
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
page=$1 version=$2
base=scurry-$version-x86_64-linux-gnu
unit=$here/../../packaging/scurry.service
for tool in systemd-analyze strace; do
  command -v "$tool" >/dev/null || { say "the unit is not tested: $tool is not here"; exit 77; }
done
exposure=$(systemd-analyze security --offline=yes "$unit" | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p')
say "systemd-analyze security says $exposure"
[ "$(printf '%s\n1.4\n' "$exposure" | sort -V | tail -n1)" = 1.4 ] || fail "more is exposed than was"

tar -xzf "$page/$base.tar.gz" -C "$work"
scurry=$work/$base/scurry
# `serve` starts what it is given: here the server under strace.
printf '#!/bin/sh\nexec strace -f -o "%s" "%s" "$@" --http-listen 127.0.0.1:0 --threads 2\n' "$work/trace" \
  "$scurry" >"$work/traced"
chmod +x "$work/traced"
serve "$work/traced" "$work/data"
charges "$port" "$scurry" cli
"$scurry" snapshot --address "127.0.0.1:$port" >/dev/null
until_true grep -q ' is open$' "$work/serve.log"
http=$(sed -n 's|^http://\(.*\) is open$|\1|p' "$work/serve.log")
curl -sSf "http://$http/v1/accounts/alice" | grep -q 750 || fail "the door shows no balance"
# It ends by the signal that systemd sends; the log of calls is whole when strace has ended.
kill -TERM "$(cat "/proc/${servers[0]}/task/${servers[0]}/children")"
wait "${servers[0]}" || fail "the server ended with $?"
servers=()

python3 - "$unit" "$work/trace" <<'PY'
import re, subprocess, sys
unit, trace = (open(path).read() for path in sys.argv[1:])
calls = set(re.findall(r"^\d+ +(\w+)\(", trace, re.M))
assert {"fdatasync", "epoll_wait"} <= calls, calls

sets, name = {}, None
shown = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True)
for line in shown.stdout.splitlines():
    if line.startswith("@") or line.startswith("# Ungrouped"):
        name = line.strip()
        sets[name] = []
    elif name and line.startswith("    ") and not line.strip().startswith("#"):
        sets[name].append(line.strip())

def expand(name):
    return set().union(*(expand(one) if one.startswith("@") else {one} for one in sets[name]))

allowed = set()
for words in re.findall(r"^SystemCallFilter=(.*)$", unit, re.M):
    if words.startswith("~"):
        allowed -= set().union(*map(expand, words[1:].split()))
    else:
        allowed |= set().union(*map(expand, words.split()))
assert not calls - allowed, f"the unit forbids {sorted(calls - allowed)}"

families = set(re.findall(r"socket(?:pair)?\((AF_\w+)", trace))
allowed = set(re.search(r"^RestrictAddressFamilies=(.*)$", unit, re.M)[1].split())
assert families and families <= allowed, f"the unit forbids sockets of {families - allowed}"
assert not re.search(r"PROT_WRITE\|PROT_EXEC", trace), "memory is writable and executable"
print(f"release: the unit allows all {len(calls)} system calls")
PY
say "the unit passes"
