//! Passes histories to the checker of testing/linearizability.

use crate::shared::Shared;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../linearizability");
/// Directory that scripts/install-tools.sh installs into, unless `SCURRY_TEST_CACHE` names another.
const CACHE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache");

/// Writes the histories of an epoch. Returns the number of calls in them.
pub fn write(directory: &Path, epoch: u64, shared: Shared) -> Result<u64> {
    let histories = shared.into_histories();
    let path = directory.join(format!("{epoch}.json"));
    std::fs::write(&path, serde_json::to_vec(&histories)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(histories.values().map(|history| history.calls.len() as u64).sum())
}

/// Checks all histories of a directory. First checks that the checker finds the bugs seeded into some of them.
pub fn check(directory: &Path) -> Result<()> {
    let cache = std::env::var_os("SCURRY_TEST_CACHE").map_or(CACHE.into(), PathBuf::from);
    let modules = cache.join("clients/linearizability");
    let mut go = Command::new("go");
    go.args(["-C", SOURCE, "test", "-count=1", "."]).env("HISTORIES", directory);
    go.env("GOMODCACHE", modules.join("mod")).env("GOCACHE", modules.join("build"));
    go.env("GOPROXY", "off").env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly");
    let output = go.output().context("go is missing: run scripts/install-tools.sh")?;
    if !output.status.success() {
        let said = [&output.stdout[..], &output.stderr].concat();
        bail!(
            "{}(if a module is missing: run scripts/install-tools.sh)",
            String::from_utf8_lossy(&said)
        );
    }
    Ok(())
}
