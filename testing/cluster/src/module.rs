//! The libscurry.so that the nodes load.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Path of a module file.
#[derive(Clone, Debug)]
pub struct Module(pub(crate) PathBuf);

impl Module {
    /// Returns the module named by `SCURRY_MODULE`. Without it, builds the module of this workspace, separately and
    /// with its own profile.
    pub fn find() -> Result<Module> {
        if let Some(path) = std::env::var_os("SCURRY_MODULE") {
            return Ok(Module(PathBuf::from(path)));
        }
        // The program is target/debug/NAME or target/debug/deps/NAME-HASH.
        let own = std::env::current_exe().context("the path of this program")?;
        let up = if own.parent().is_some_and(|parent| parent.ends_with("deps")) { 3 } else { 2 };
        let target = own.ancestors().nth(up).context("no target directory")?;
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["build", "--quiet", "--package", "scurry-valkey-module", "--lib"]);
        cargo.args(["--profile", "module", "--target-dir"]).arg(target);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        let status = cargo.status().context("cargo cannot be run: set SCURRY_MODULE")?;
        ensure!(status.success(), "libscurry.so does not build: set SCURRY_MODULE");
        Ok(Module(target.join("module/libscurry.so")))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }
}
