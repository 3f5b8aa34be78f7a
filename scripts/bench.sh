#!/usr/bin/env bash
# The benchmarks that the documents quote: the ledger alone, then the store beside its peers.
# Every system runs alone, pinned to one core, with the loader on another. Results are JSON.
#
# usage: scripts/bench.sh [ledger|pipelined|published|kv]...   (all of them without arguments)
# environment: ACCOUNTS, SECONDS_PER_ROW, WARMUP, RUNS, OUT (directory of the results)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

accounts=${ACCOUNTS:-1000000}
seconds=${SECONDS_PER_ROW:-10}
warmup=${WARMUP:-2}
runs=${RUNS:-5}
out=${OUT:-docs/results}
lab="${CARGO_TARGET_DIR:-target}/release/scurry-lab"
targets=(--target scurry --target valkey+lua --target redis+lua --target echo)

# The ledger's decide and apply in nanoseconds and instructions, and the bytes of an account.
ledger() {
  {
    cargo bench --quiet --locked -p scurry-ledger --bench update -- --discard-baseline
    cargo bench --quiet --locked -p scurry-ledger --bench instructions
    cargo bench --quiet --locked -p scurry-engine --bench memory
  } | grep -vE '^Benchmarking| change: |Performance has|hange within|No change' | tee "$out/ledger.txt"
}

run() { # run NAME SCENARIO OPTION...
  local name=$1 scenario=$2
  shift 2
  echo "== $name"
  "$lab" run "$scenario" "${targets[@]}" --accounts "$accounts" --seconds "$seconds" \
    --warmup "$warmup" --runs "$runs" --json "$out/$name.json" "$@"
}

# Many sessions on few connections: what a gateway in front of the store does.
pipelined() { run moaf-scur-pipelined moaf-scur --sessions 3200 --connections 50 --depth 64; }

# The published form: 4 x 150 threads, each with a connection and one request in flight.
published() { run moaf-scur-published moaf-scur --sessions 600 --connections 600 --depth 1; }

kv() { run kv-pipelined kv --sessions 3200 --connections 50 --depth 64; }

if [ "$#" = 0 ]; then set -- ledger pipelined published kv; fi
for part in "$@"; do
  case "$part" in
    ledger | pipelined | published | kv) ;;
    *) echo "bench: unknown part '$part': say ledger, pipelined, published or kv" >&2; exit 1 ;;
  esac
done
cargo build --release --locked -p scurry-cli -p scurry-lab
mkdir -p "$out"
for part in "$@"; do "$part"; done
