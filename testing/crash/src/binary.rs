//! The `scurry` binary under test.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Path of a server binary.
#[derive(Clone, Debug)]
pub struct Binary(pub(crate) PathBuf);

impl Binary {
    /// Returns the binary named by `SCURRY_BIN`, else builds the one of this workspace.
    pub fn find() -> Result<Binary> {
        if let Some(path) = std::env::var_os("SCURRY_BIN") {
            return Ok(Binary(PathBuf::from(path)));
        }
        // The program is target/debug/NAME or target/debug/deps/NAME-HASH.
        let own = std::env::current_exe().context("the path of this program")?;
        let mut directory = own.parent().context("this program has no directory")?;
        if directory.ends_with("deps") {
            directory = directory.parent().context("deps has no directory above it")?;
        }
        let profile = directory.file_name().and_then(|name| name.to_str()).unwrap_or("debug");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["build", "--quiet", "--package", "scurry-cli", "--bin", "scurry"]);
        cargo.args(["--profile", if profile == "debug" { "dev" } else { profile }]);
        cargo.arg("--target-dir").arg(directory.parent().context("no target directory")?);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        let status = cargo.status().context("cannot run cargo; set SCURRY_BIN")?;
        ensure!(status.success(), "the scurry binary does not build; set SCURRY_BIN");
        Ok(Binary(directory.join("scurry")))
    }

    /// Returns the path of the binary.
    pub fn path(&self) -> &Path {
        &self.0
    }
}
