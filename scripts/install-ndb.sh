# MySQL NDB for the laboratory, read by scripts/install-tools.sh, whose helpers it uses. Debian packs the
# source of MySQL with storage/ndb and not what it makes, so this builds it: only the data node, the
# management server and its console, and the library that clients link. No part of it is kept in the repository.

ndb_directory=$PWD/.cache/ndb
ndb_source=mysql-9.7
# The release that was tried; where the mirror has it no longer, the newest that it has is built.
ndb_tried=9.7.2-4
ndb_driver=lab/ndb

need_ndb() {
  local package
  need g++ g++
  need cmake cmake
  need ninja ninja-build
  need bison bison
  need pkg-config pkg-config
  for package in libc6-dev libncurses-dev libssl-dev libtirpc-dev rpcsvc-proto; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || missing+=("$package")
  done
}

# What needs the packages that a build needs: nothing where all of it is there.
ndb_is_built() {
  [ -x "$ndb_directory/bin/ndbmtd" ] && [ -x "$ndb_directory/bin/ndb_mgmd" ] &&
    [ -e "$ndb_directory/lib/libndbclient.so" ] && [ -f "$ndb_directory/include/ndbapi/NdbApi.hpp" ]
}

ndb_sum() {
  find "$ndb_driver" -type f | sort | xargs sha256sum | sha256sum
}

ndb_is_ready() {
  ndb_is_built && [ -x "$ndb_directory/bin/scurry-ndb" ] &&
    [ "$(cat "$ndb_directory/sum" 2>/dev/null)" = "$(ndb_sum)" ]
}

install_ndb() {
  if ! ndb_is_built; then
    has apt-get || fail "the source of MySQL NDB comes from Debian's packages, by apt-get"
    fetch_ndb
    build_ndb
  fi
  ndb_is_ready || build_ndb_driver
}

# apt-get on the lists of sources of Debian sid alone, from the mirror of this machine.
ndb_apt() {
  quietly apt-get -q -y -o Dir::Etc::sourcelist="$ndb_directory/apt/sources.list" \
    -o Dir::Etc::sourceparts=- -o Dir::State::lists="$ndb_directory/apt/lists" \
    -o Dir::State::status="$ndb_directory/apt/status" -o Dir::Cache="$ndb_directory/apt" \
    -o APT::Sandbox::User= "$@"
}

fetch_ndb() {
  local id codename uri key free
  id=$(. /etc/os-release && echo "${ID:-}")
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  [ "$id" = debian ] || fail "the source of MySQL NDB is a package of Debian, which this is not"
  read -r uri key < <(archive_of "$codename") || fail "apt has no source of $codename"
  mkdir -p "$ndb_directory"
  free=$(df --output=avail -BG "$ndb_directory" | tail -n1 | tr -dc 0-9)
  [ "$free" -ge 3 ] || fail "building MySQL NDB takes 2 GB for its time, and $free GB are free"
  rm -rf "${ndb_directory:?}"/{apt,source,build}
  mkdir -p "$ndb_directory"/apt/{lists,archives}/partial "$ndb_directory/source"
  : >"$ndb_directory/apt/status"
  echo "deb-src ${key:+[signed-by=$key]} $uri sid main" >"$ndb_directory/apt/sources.list"
  say "fetching the source of $ndb_source from Debian sid: 430 MB"
  ndb_apt update || fail "cannot read the list of sources of sid"
  (cd "$ndb_directory/source" && ndb_apt source --download-only "$ndb_source=$ndb_tried") ||
    (cd "$ndb_directory/source" && ndb_apt source --download-only "$ndb_source") ||
    fail "cannot fetch the source of $ndb_source"
  # All of it: its cmake asks for directories that have nothing to do with NDB.
  tar -xf "$ndb_directory"/source/*.orig.tar.gz -C "$ndb_directory/source" ||
    fail "cannot unpack the source of $ndb_source"
  rm -f "$ndb_directory"/source/*.orig.tar.gz
}

build_ndb() {
  local build=$ndb_directory/build source option options=()
  source=$(find "$ndb_directory/source" -mindepth 1 -maxdepth 1 -type d | head -n1)
  say "building MySQL NDB into .cache/ndb: 8 minutes of processor time, and 2 GB of disk meanwhile"
  for option in ROUTER MYSQLX UNIT_TESTS NDB_TEST NDB_JAVA NDB_NODEJS SYSTEMD \
    AUTHENTICATION_LDAP AUTHENTICATION_KERBEROS AUTHENTICATION_WEBAUTHN; do
    options+=("-DWITH_$option=OFF")
  done
  quietly cmake -G Ninja -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
    -DWITH_NDB=ON -DWITH_SSL=system -DWITH_CURL=none -DWITH_FIDO=none "${options[@]}" ||
    fail "cmake does not take the source of MySQL NDB: see above"
  quietly nice cmake --build "$build" --target ndbmtd ndb_mgmd ndb_mgm ndbclient_so ||
    fail "MySQL NDB does not compile: see above"
  keep_ndb "$source" "$build"
  rm -rf "$build" "$ndb_directory"/{source,apt}
}

# The few files that are needed of gigabytes.
keep_ndb() { # keep_ndb SOURCE BUILD
  local program
  rm -rf "${ndb_directory:?}"/{bin,lib,include}
  mkdir -p "$ndb_directory"/{bin,lib,include}
  for program in ndbmtd ndb_mgmd ndb_mgm; do
    strip -o "$ndb_directory/bin/$program" "$(find "$2" -path "*/$program" -type f -perm -u+x | head -n1)"
  done
  find "$2" -name 'libndbclient.so*' ! -name '*.txt' -exec cp -P {} "$ndb_directory/lib/" \;
  strip "$(readlink -f "$ndb_directory/lib/libndbclient.so")"
  cp -r "$1/storage/ndb/include/ndbapi" "$ndb_directory/include/"
  cp "$1"/storage/ndb/include/*.h "$2"/storage/ndb/include/*.h "$2/include/mysql_version.h" \
    "$ndb_directory/include/"
  ndb_is_built || fail "the build of MySQL NDB has made other files than it should"
}

build_ndb_driver() {
  say "compiling $ndb_driver into .cache/ndb"
  quietly g++ -std=c++20 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
    -isystem "$ndb_directory/include" -isystem "$ndb_directory/include/ndbapi" "$ndb_driver"/*.cpp \
    -L"$ndb_directory/lib" -lndbclient "-Wl,-rpath,\$ORIGIN/../lib" -o "$ndb_directory/bin/scurry-ndb" ||
    fail "$ndb_driver does not compile: see above"
  ndb_sum >"$ndb_directory/sum"
}
