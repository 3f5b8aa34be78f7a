#!/usr/bin/env bash
# Tests the image: validated, and run by crun without a daemon, beneath a file system in memory, with a network of
# its own. The container serves as a user without privileges on a root that it cannot write to, is asked how it is
# as Docker would ask it, and ends by SIGTERM. Exits with 77 where that cannot be.
# usage: testing/release/image.sh PAGE VERSION
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
crane=$here/../../.cache/packaging/bin/crane

# What umoci has made of the image for a runtime, with a volume, a password and the network of the test.
settle_bundle() { # settle_bundle NAME PASSWORD
  umoci unpack --image "$work/layout:$version" "$work/$1" >/dev/null
  python3 - "$work/$1/config.json" "$work/volume" "$2" <<'PY'
import json, sys
path, volume, password = sys.argv[1:]
config = json.load(open(path))
process = config["process"]
assert process["user"]["uid"] == process["user"]["gid"] == 65532, process["user"]
process["terminal"] = False
process["noNewPrivileges"] = True
process["capabilities"] = {}
process.pop("rlimits", None)
if password:
    process["env"].append(f"SCURRY_REQUIREPASS={password}")
config["root"]["readonly"] = True
linux = config["linux"]
# Groups of control are this machine's.
linux["namespaces"] = [n for n in linux["namespaces"] if n["type"] not in ("network", "cgroup")]
linux.pop("resources", None)
linux.pop("cgroupsPath", None)
mounts = [m for m in config["mounts"] if m["destination"] != "/var/lib/scurry" and m["type"] != "cgroup"]
mounts.append({"destination": "/var/lib/scurry", "type": "bind", "source": volume, "options": ["rbind", "rw"]})
config["mounts"] = mounts
json.dump(config, open(path, "w"))
PY
}

run_crun() { crun --root "$work/crun" --cgroup-manager=disabled "$@"; }

start_container() {
  # crun gives a log to the user of the container.
  rm -f "$work/container.log"
  run_crun run --bundle "$work/bundle" scurry >"$work/container.log" 2>&1 &
  container=$!
  servers+=("$container")
  until_true is_healthy
}

is_healthy() {
  kill -0 "$container" 2>/dev/null || fail "the container ended: $(cat "$work/container.log")"
  run_crun exec scurry "${health[@]}" 2>/dev/null
}

stop_container() {
  run_crun kill scurry TERM
  wait "$container" || fail "the container ended with $?: $(cat "$work/container.log")"
}

try_image() {
  mkdir "$work/layout" "$work/volume"
  SECONDS=0
  tar -xf "$image" -C "$work/layout"
  # As Docker makes a volume of a directory of an image: with its owner.
  chown 65532:65532 "$work/volume"
  settle_bundle bundle geheim
  mapfile -t health < <(python3 - "$work/layout" "$version" <<'PY'
import json, os, sys
layout, version = sys.argv[1:]
def blob(descriptor):
    return json.load(open(os.path.join(layout, "blobs", *descriptor["digest"].split(":"))))
index = json.load(open(os.path.join(layout, "index.json")))
config = blob(blob(index["manifests"][0])["config"])["config"]
assert config["Labels"]["org.opencontainers.image.version"] == version, config
assert config["Volumes"] == {"/var/lib/scurry": {}} and config["User"] == "65532:65532", config
test = config["Healthcheck"]["Test"]
assert test[0] == "CMD", test
print("\n".join(test[1:]))
PY
)
  [ "${#health[@]}" -gt 0 ] || fail "the image has no health check"
  export SCURRY_PASSWORD=geheim
  start_container
  local scurry=$work/bundle/rootfs/usr/bin/scurry process
  charges 6389 "$scurry" cli
  say "the image: from the file to the first charge in $SECONDS s"
  process=$(run_crun state scurry | sed -n 's/^ *"pid": \([0-9]*\),$/\1/p')
  grep -Pq '^Uid:\t65532\t65532\t65532\t65532$' "/proc/$process/status" || fail "it is another user"
  grep -Pq '^CapEff:\t0+$' "/proc/$process/status" || fail "it has privileges"
  ! run_crun exec scurry "${health[@]}" -p 1 2>/dev/null || fail "where nobody listens it is well"
  [ "$(run_crun exec scurry /usr/bin/scurry --version)" = "scurry $version" ] || fail "another version"
  stop_container
  [ -z "$(find "$work/volume" ! -user 65532)" ] && [ -e "$work/volume/MANIFEST" ] ||
    fail "the store is not in the volume"
  say "starting it again on its volume"
  start_container
  "$scurry" cli SCUR.GET alice | grep -q 750 || fail "the balance is lost"
  stop_container
  say "starting it without a password"
  settle_bundle open ""
  ! run_crun run --bundle "$work/open" open >"$work/open.log" 2>&1 || fail "it serves whoever comes"
  grep -q 'without a password' "$work/open.log" || fail "it says: $(cat "$work/open.log")"
}

if [ "$1" = --inside ]; then
  [ "$(readlink /proc/self/ns/mnt)" != "$4" ] && [ $$ = 1 ] || fail "not in namespaces of its own"
  image=$2 version=$3
  rm -rf --one-file-system "$work"
  work=$5
  # What is mounted here ends with the namespaces, and is not removed.
  trap end_servers EXIT
  mount --make-rprivate /
  mount -t tmpfs tmpfs "$work"
  mount -t proc proc /proc
  # crun looks for groups of control, which the container has none of.
  mount -t tmpfs tmpfs /sys/fs/cgroup
  ip link set lo up
  try_image
  exit
fi
page=$1 version=$2
image=$page/scurry-$version-linux-amd64.oci.tar
[ -f "$image" ] || { say "there is no image: scripts/install-tools.sh packaging"; exit 77; }
if [ -x "$crane" ]; then
  "$crane" validate --tarball "$image" >/dev/null || fail "crane finds the image wrong"
else
  say "the image is not validated by crane, which is not here"
fi
[ "$(id -u)" = 0 ] || { say "the image is not run: that takes root"; exit 77; }
for tool in umoci crun; do
  command -v "$tool" >/dev/null || { say "the image is not run: $tool is not here"; exit 77; }
done
unshare --mount --pid --fork --kill-child --net --ipc --uts bash "$here/image.sh" --inside "$image" \
  "$version" "$(readlink /proc/self/ns/mnt)" "$work"
say "the image passes"
