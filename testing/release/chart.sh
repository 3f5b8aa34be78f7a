#!/usr/bin/env bash
# Tests the chart of Helm: linted, rendered for several settings and compared with the schemas of Kubernetes; what does
# not fit together is refused; and the three nodes that it renders are started, killed, moved and updated as a
# cluster would. Exits with 77 where that cannot be.
# usage: testing/release/chart.sh PAGE VERSION
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
page=$1 version=$2
root=$here/../..
chart=$root/packaging/helm/scurry
tools=$root/.cache/chart/bin
# The oldest that the chart is for, and later ones.
kubernetes=(1.30 1.33 1.37)

for tool in helm python; do
  [ -x "$tools/$tool" ] || { say "the chart is not tested: $tool is not here"; exit 77; }
done
export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
helm() { "$tools/helm" "$@"; }
render() { helm template store "$chart" --namespace billing "$@"; }

grep -qx "appVersion: \"$version\"" "$chart/Chart.yaml" && grep -qx "version: $version" "$chart/Chart.yaml" ||
  fail "the chart is not of version $version"
cmp "$root/docs/grafana/alerts.yml" "$chart/files/alerts.yml" ||
  fail "the chart has other rules for alerts: cp docs/grafana/alerts.yml packaging/helm/scurry/files/"

for values in "$here"/chart/*.yaml; do
  name=$(basename "$values" .yaml)
  helm lint --strict --quiet "$chart" --values "$values" || fail "the chart is not clean with $name"
  render --values "$values" >"$work/$name.yaml"
  render --values "$values" | cmp - "$work/$name.yaml" || fail "$name is rendered in two ways"
  "$tools/python" "$here/chart/manifest.py" "$work/$name.yaml" "$name" "${kubernetes[@]}" || fail "$name is wrong"
done

if [ -d "$page" ]; then
  helm template store "$page/scurry-chart-$version.tar.gz" --namespace billing --values "$here/chart/group.yaml" |
    cmp - "$work/group.yaml" || fail "the chart of the page is another one"
fi

refused() { # refused WORDS OPTION...
  local words=$1
  shift
  ! render "$@" >"$work/rendered" 2>"$work/refusal" || fail "rendered: $*"
  grep -qF -- "$words" "$work/refusal" || fail "$* is refused with: $(cat "$work/refusal")"
}
password=(--set auth.existingSecret=scurry-password)
refused "who may come in?"
refused "nodes without certificates" "${password[@]}" --set mode=group
refused "two sources of one file" "${password[@]}" --set settings=a=1 --set existingSettingsSecret=b
refused "group.replace takes both" "${password[@]}" --set mode=group,group.plain=true,group.replace.node=1
refused "mode" "${password[@]}" --set mode=three
refused "persistance" "${password[@]}" --set persistance.size=1Gi
refused "sise" "${password[@]}" --set persistence.sise=1Gi
refused "id" "${password[@]}" --set mode=group,group.plain=true,group.replace.node=1,group.replace.id=scurry
refused "group.replace is for mode=group" "${password[@]}" --set group.replace.node=1
refused "group.replace is for mode=group" "${password[@]}" --set group.replace.id=0af3c25d11e07b94
for line in 'tls_client_ca = "ca.pem"' $'max_clients = 5\n  tls_client_ca="ca.pem"' '"tls_client_ca" = "ca.pem"'; do
  refused "tls_client_ca in settings" "${password[@]}" --set-string "settings=$line"
done
refused "TLS in settings" "${password[@]}" --set-string 'settings=tls_cert = "server.pem"'
render "${password[@]}" --set-string 'settings=# tls_client_ca = "ca.pem"' >"$work/rendered" ||
  fail "a comment is taken for a setting"
refused "a pod would be killed before" "${password[@]}" --set preStopSeconds=90
refused "a pod would be killed before" "${password[@]}" --set preStopSeconds=30,terminationGracePeriodSeconds=20
for label in name instance; do
  refused "podLabels" "${password[@]}" --set "podLabels.app\.kubernetes\.io/$label=x"
done
refused "podAnnotations" "${password[@]}" --set 'podAnnotations.checksum/settings=x'
refused "size" "${password[@]}" --set persistence.size=0Gi
refused "size" "${password[@]}" --set persistence.size=00Mi
for release in 1store a.b 1scurry; do
  ! helm template "$release" "$chart" "${password[@]}" >"$work/rendered" 2>"$work/refusal" || fail "rendered: $release"
  grep -qF "no Service can be named after the release $release" "$work/refusal" || fail "$(cat "$work/refusal")"
done
# As long as Helm lets a name be, and cut where it has hyphens.
for release in "$(printf 'a%.0s' {1..53})" "$(printf 'a%.0s' {1..43})---bbbbbbb" scurry; do
  helm template "$release" "$chart" --values "$here/chart/group.yaml" >"$work/named.yaml"
  "$tools/python" "$here/chart/manifest.py" "$work/named.yaml" group "${kubernetes[@]}" || fail "$release is wrong"
done
# Notes are shown by an installation alone: here they are rendered as if they were a manifest.
cp -r "$chart" "$work/noted"
{ echo "notes: |" && sed 's/^/  /' "$chart/templates/NOTES.txt"; } >"$work/noted/templates/noted.yaml"
helm template store "$work/noted" --namespace billing --values "$here/chart/group.yaml" \
  --show-only templates/noted.yaml >"$work/notes"
for line in "rollout status statefulset/store-scurry" "exec store-scurry-0 -- /usr/bin/scurry cli SCUR.REPLICA STATUS" \
  "exec store-scurry-0 -- /usr/bin/scurry replica init --dir /var/lib/scurry/store"; do
  grep -q "  .*$line\$" "$work/notes" || fail "the notes are: $(cat "$work/notes")"
done
say "the chart is clean, for Kubernetes ${kubernetes[*]}"

[ "$(id -u)" = 0 ] || { say "the nodes of the chart are not started: that takes root"; exit 77; }
shell="busybox sh"
busybox true 2>/dev/null || shell=sh
binary=${SCURRY_BIN:-$work/scurry}
[ -n "${SCURRY_BIN:-}" ] ||
  tar -xzf "$page/scurry-$version-x86_64-linux-gnu.tar.gz" -C "$work" --strip-components=1 --wildcards '*/scurry'
mkdir "$work/cluster"
unshare --net --mount --pid --fork --kill-child bash -c 'mount -t tmpfs tmpfs /run && mount -t proc proc /proc &&
  exec "$@"' - "$tools/python" "$here/chart/group.py" "$work/cluster" "$work/single.yaml" \
  "$work/group.yaml" "$binary" "$shell"
say "the chart passes"
