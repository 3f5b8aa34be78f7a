#!/usr/bin/env bash
# Tests the documents: unpacked, they are opened in a browser from where they lie. Exits with 77 where there is none.
# usage: testing/release/site.sh PAGE VERSION
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
page=$1 version=$2
libraries=$here/../../.cache/clients/console

tar -xzf "$page/scurry-docs-$version.tar.gz" -C "$work"
site=$work/scurry-docs-$version
no_path_of_here "$site"
chromium=$(command -v chromium || command -v google-chrome) && command -v node >/dev/null &&
  [ -d "$libraries/node_modules/playwright-core" ] || { say "the documents are not opened: no browser"; exit 77; }
node "$here/site.mjs" "$libraries" "$chromium" "$site" || fail "the documents are not as a reader wants them"
say "the documents pass"
