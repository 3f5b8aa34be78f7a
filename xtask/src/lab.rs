//! The lab, a workspace beside the product, which is formatted, linted and tested separately.

use crate::host::Host;
use crate::steps::Outcome;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Manifest of the lab.
pub(crate) const MANIFEST: &str = "lab/Cargo.toml";

/// Checks formatting, compiles everything and runs every test against the server of this tree.
pub(crate) fn run(host: &Host) -> Result<Outcome> {
    let own = ["--manifest-path", MANIFEST];
    host.cargo(&[&["fmt", "--check"], &own[..]].concat()).context("repair with cargo xtask fix")?;
    let clippy = [&["clippy", "--all-targets", "--locked"], &own[..], &["--", "-D", "warnings"]];
    host.cargo(&clippy.concat())?;
    let scurry = host.binaries(&["scurry"])?.join("scurry");
    let mut test = host.cargo_command();
    test.args(["test", "--locked", "--no-fail-fast"]).args(own).env("SCURRY_BIN", scurry);
    host.show(&mut test)?;
    Ok(Outcome::Passed)
}

/// Builds the lab's program and returns its path.
pub(crate) fn binary(host: &Host) -> Result<PathBuf> {
    host.cargo(&["build", "--locked", "--manifest-path", MANIFEST, "--bin", "scurry-lab"])?;
    Ok(host.target_dir()?.join("debug/scurry-lab"))
}
