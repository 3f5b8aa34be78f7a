#!/usr/bin/env bash
# The benchmarks that the documents quote: the ledger alone, then the store beside its peers.
# Every system runs alone, pinned to one core, with the loader on another. Results are JSON.
#
# usage: scripts/bench.sh [PART]...   (all of them without arguments; see `parts` below)
# environment: ACCOUNTS, SECONDS_PER_ROW, WARMUP, RUNS, OUT (directory of the results),
#   FILL_ACCOUNTS (of the part `fill`: 20,000,000 need about 6 GB), LOG_DIRECTORY (of the parts
#   that keep something: a directory on the disk in question; without it a temporary one)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

accounts=${ACCOUNTS:-1000000}
seconds=${SECONDS_PER_ROW:-10}
warmup=${WARMUP:-2}
runs=${RUNS:-5}
out=${OUT:-docs/results}
lab="${CARGO_TARGET_DIR:-target}/release/scurry-lab"
parts=(ledger table ladder pipelined published kv published-kv cross-core neighbours expiry fill
  durable durable-peers commit snapshots recovery)
charging=(--target scurry --target valkey+lua --target redis+lua --target echo)
plain=(--target scurry --target valkey --target redis --target echo)
many=(--sessions 3200 --connections 50 --depth 64)
place=()
if [ -n "${LOG_DIRECTORY:-}" ]; then place=(--directory "$LOG_DIRECTORY"); fi

# The ledger's decide and apply in nanoseconds and instructions, and the bytes of an account.
ledger() {
  {
    cargo bench --quiet --locked -p scurry-ledger --bench update -- --discard-baseline
    cargo bench --quiet --locked -p scurry-ledger --bench instructions
    cargo bench --quiet --locked -p scurry-engine --bench memory
  } | grep -vE '^Benchmarking| change: |Performance has|hange within|No change' | tee "$out/ledger.txt"
}

# The longest calls of a shard beside one table that doubles, and what it is to look ahead.
table() {
  cargo bench --quiet --locked -p scurry-engine --bench pauses | tee "$out/pauses.txt"
}

# What each layer costs, as a share of the one below.
ladder() {
  "$lab" ladder --accounts "$accounts" --seconds "$seconds" --runs "$runs" --json "$out/ladder.json"
}

run() { # run NAME SCENARIO OPTION...
  local name=$1 scenario=$2
  shift 2
  echo "== $name"
  "$lab" run "$scenario" --accounts "$accounts" --seconds "$seconds" \
    --warmup "$warmup" --runs "$runs" --json "$out/$name.json" "$@"
}

# Many sessions on few connections: what a gateway in front of the store does.
pipelined() { run moaf-scur-pipelined moaf-scur "${charging[@]}" "${many[@]}"; }

# The published form: 4 x 150 threads, each with a connection and one request in flight.
published() {
  run moaf-scur-published moaf-scur "${charging[@]}" --sessions 600 --connections 600 --depth 1
}

published-kv() { run kv-published kv "${plain[@]}" --sessions 600 --connections 600 --depth 1; }

kv() { run kv-pipelined kv "${plain[@]}" "${many[@]}"; }

# What it costs to pass a request on: the same load on the main port and on the cores' own.
cross-core() {
  run cross-core moaf-scur --target scurry "${many[@]}" --threads 2 --door main --door cores
}

neighbours() { "$lab" neighbours --json "$out/neighbours.json"; }

expiry() {
  "$lab" expiry --json "$out/expiry.json"
  "$lab" expiry --spread 0 --json "$out/expiry-at-once.json"
}

fill() {
  "$lab" fill --accounts "${FILL_ACCOUNTS:-20000000}" --compare "$accounts" --json "$out/fill.json"
}

# What keeping something costs.
durable() {
  run durable moaf-scur --target scurry:none --target scurry:write --target scurry:fsync \
    "${many[@]}" "${place[@]}"
}

# The same promise beside the same promise.
durable-peers() {
  run durable-peers moaf-scur --target scurry:fsync --target valkey+lua:always \
    --target scurry:write --target valkey+lua:everysec "${many[@]}" "${place[@]}"
}

half() { # half COMMAND: at half of what fsync can do
  "$lab" "$1" --accounts "$accounts" --seconds "$seconds" --runs "$runs" --json "$out/$1.json" \
    "${place[@]}"
}

# How long a commit takes, beside the device alone.
commit() { half commit; }

# What is felt while snapshots are written, and their longest steps.
snapshots() {
  half snapshots
  cargo bench --quiet --locked -p scurry-engine --bench snapshot | tee "$out/snapshot-steps.txt"
}

# How fast a log and a snapshot are read back.
recovery() { "$lab" recovery --runs "$runs" --json "$out/recovery.json" "${place[@]}"; }

if [ "$#" = 0 ]; then set -- "${parts[@]}"; fi
for part in "$@"; do
  case " ${parts[*]} " in
    *" $part "*) ;;
    *) echo "bench: unknown part '$part': say one of ${parts[*]}" >&2; exit 1 ;;
  esac
done
cargo build --release --locked --features rdma -p scurry-cli
cargo build --release --locked --manifest-path lab/Cargo.toml
mkdir -p "$out"
for part in "$@"; do "$part"; done
