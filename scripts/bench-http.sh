#!/usr/bin/env bash
# CPU time per operation of charging over HTTP and over RESP: the same debits, on one store, sent one
# after another on each of a few connections. It prints the CPU time of the door and of the store, divided
# by the operations that were answered. It builds nothing: cargo build --release comes first.
#
# usage: scripts/bench-http.sh [SECONDS [CONNECTIONS]]
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-10}
connections=${2:-16}
scurry=${CARGO_TARGET_DIR:-target}/release/scurry
python=.cache/venv/bin/python
[ -x "$scurry" ] || { echo "bench-http: $scurry is missing: cargo build --release" >&2; exit 1; }
[ -x "$python" ] || { echo "bench-http: $python is missing: scripts/install-tools.sh tests" >&2; exit 1; }
exec "$python" scripts/bench-http.py "$scurry" "$seconds" "$connections"
