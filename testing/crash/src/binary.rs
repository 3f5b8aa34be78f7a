//! Which `scurry` is killed.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A server program.
#[derive(Clone, Debug)]
pub struct Binary(pub(crate) PathBuf);

impl Binary {
    /// The binary that `SCURRY_BIN` names, else the one of this build, which is brought up to
    /// date first.
    pub fn find() -> Result<Binary> {
        if let Some(path) = std::env::var_os("SCURRY_BIN") {
            return Ok(Binary(PathBuf::from(path)));
        }
        // target/debug/this, or target/debug/deps/this-test
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

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0
    }
}
