#!/usr/bin/env bash
# Tests the page as a whole: checksums, and of each artifact a bill of materials that names it.
# usage: testing/release/page.sh PAGE VERSION
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/common.sh"
page=$1 version=$2

(cd "$page" && sha256sum --quiet -c SHA256SUMS)
for file in "$page"/*; do
  name=${file##*/}
  [ "$name" != SHA256SUMS ] || continue
  grep -q "  $name\$" "$page/SHA256SUMS" || fail "$name has no checksum"
  [[ $name == *"$version"* ]] || fail "$name has no version in its name"
  [[ $name != *.cdx.json ]] || continue
  # There is no program in these.
  [[ $name != scurry-docs-* && $name != scurry-chart-* && $name != scurry_client-* && $name != *.profdata ]] || continue
  [ -f "$file.cdx.json" ] || fail "$name has no bill of materials"
  python3 - "$file.cdx.json" "$name" "$version" "$(sha256sum <"$file" | cut -d' ' -f1)" <<'PY'
import json, sys
path, name, version, digest = sys.argv[1:]
bom = json.load(open(path))
assert bom["bomFormat"] == "CycloneDX", bom["bomFormat"]
root = bom["metadata"]["component"]
assert (root["name"], root["version"]) == (name, version), root
assert root["hashes"] == [{"alg": "SHA-256", "content": digest}], root
refs = {component["bom-ref"] for component in bom["components"]} | {root["bom-ref"]}
assert len(refs) == len(bom["components"]) + 1, "a reference stands twice"
names = {component["name"] for component in bom["components"]}
assert {"rustls", "clap", "scurry-ledger"} <= names, names
# The image alone brings a libc along.
assert ("libc6" in names) == name.endswith(".oci.tar"), names
edges = {edge["ref"]: edge.get("dependsOn", []) for edge in bom["dependencies"]}
assert edges[root["bom-ref"]], "the artifact depends on nothing"
unknown = {to for tos in edges.values() for to in tos} - refs
assert not unknown, unknown
print(f"release: {name}: {len(refs) - 1} components")
PY
done
no_path_of_here "$page"
