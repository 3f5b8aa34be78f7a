#!/usr/bin/env bash
# Shows the HTTP door: starts a store with it, runs a little charging load on the store, prints what
# to open and what to ask, and ends by itself. Ctrl-C ends it sooner.
#
# usage: scripts/demo-http.sh DIRECTORY_OF_THE_BINARIES
#   DEMO_HTTP_PORT     port of the door, 8080
#   DEMO_HTTP_SECONDS  how long it lasts, 300
#   DEMO_HTTP_RATE     requests per second, 2000
set -euo pipefail

binaries=$1
port=${DEMO_HTTP_PORT:-8080}
seconds=${DEMO_HTTP_SECONDS:-300}
rate=${DEMO_HTTP_RATE:-2000}
door=127.0.0.1:$port
log=$(mktemp)

# The laboratory stops the store that it has started, also when it is told to stop itself.
lab=
end() {
  local status=$?
  trap - EXIT INT TERM
  [ -z "$lab" ] || kill -TERM "$lab" 2>/dev/null || true
  [ -z "$lab" ] || wait "$lab" 2>/dev/null || true
  rm -f "$log"
  exit "$status"
}
trap end EXIT
trap 'echo; echo "stopped"; exit 0' INT TERM

"$binaries/scurry-lab" run moaf-scur --target scurry:fsync --threads 2 --sessions 200 --connections 20 \
  --depth 8 --accounts 2000 --rate "$rate" --warmup 1 --seconds "$seconds" \
  --server-arg=--http-listen="$door" >"$log" 2>&1 </dev/null &
lab=$!

# One line of a request and its answer.
ask() { # ask PATH
  local answer status
  exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$1" "$door" >&3
  answer=$(tr -d '\0\r' <&3)
  exec 3>&-
  status=${answer%%$'\n'*}
  [[ $status == *" 200 "* ]] && printf '%s\n' "${answer#*$'\n\n'}"
}

for ((look = 0; ; look++)); do
  if ready=$( (ask /readyz) 2>/dev/null) && [ "$ready" = ready ]; then break; fi
  if ! kill -0 "$lab" 2>/dev/null || [ "$look" -gt 600 ]; then
    cat "$log" >&2
    echo "the store did not start: is port $port taken? DEMO_HTTP_PORT=8081 make demo-http" >&2
    exit 1
  fi
  sleep 0.1
done

cat <<TEXT
A store with its HTTP door runs, under $rate charging requests per second, for $seconds seconds.

  the console    http://$door/        (look up the account acc:0000007)
  metrics        curl http://$door/metrics
  health         curl http://$door/healthz
                 curl http://$door/readyz
  an account     curl 'http://$door/v1/console/account?id=acc:0000007'

A dashboard for Grafana is docs/grafana/scurry.json. Ctrl-C ends it.

TEXT

before=0
until ! kill -0 "$lab" 2>/dev/null; do
  if page=$( (ask /metrics) 2>/dev/null); then
    commands=$(awk '/^scurry_commands_total[{]/ { all += $NF } END { print all + 0 }' <<<"$page")
    sessions=$(awk '/^scurry_sessions_open / { print $NF }' <<<"$page")
    error=$(awk '/^scurry_conservation_error_units[{]/ { if ($NF != 0) bad++ } END { print bad ? "broken" : "holds" }' <<<"$page")
    [ "$before" = 0 ] ||
      printf '%s operations/s, %s sessions open, conservation %s\n' "$(((commands - before) / 5))" "$sessions" "$error"
    before=$commands
  fi
  for ((wait = 0; wait < 50; wait++)); do
    kill -0 "$lab" 2>/dev/null || break
    sleep 0.1
  done
done
wait "$lab" && status=0 || status=$?
lab=
echo
# The row of this run, or why there is none.
if [ "$status" = 0 ]; then sed -n '/^scenario/,/^$/p' "$log"; else cat "$log" >&2; fi
exit "$status"
