//! Runs all faults of a group for hours, on release builds. The rounds and their results are those of
//! `scurry-group-test --hours`.

use crate::host::Host;
use anyhow::{Context, Result};
use std::os::unix::process::CommandExt;
use std::process::Command;

const TEST: &str = "scurry-group-test";
/// Hours when none are given.
const HOURS: &str = "1";

/// Builds the server and the test, and becomes the test, so that it gets the signals of the terminal.
pub(crate) fn run(host: &Host, args: &[String]) -> Result<()> {
    let packages = ["-p", "scurry-cli", "--bin", "scurry", "-p", "scurry-cluster-test"];
    let build = ["build", "--release", "--locked"].into_iter().chain(packages);
    host.cargo(&build.chain(["--bin", TEST]).collect::<Vec<_>>())?;
    let target = host.target_dir()?;
    let mut test = Command::new(target.join("release").join(TEST));
    test.args(args).current_dir(&host.root);
    if !args.iter().any(|arg| arg.split('=').next() == Some("--hours")) {
        test.args(["--hours", HOURS]);
    }
    test.args(["--commit", &commit(host)?]);
    test.arg("--results").arg(target.join("torture/results.json"));
    test.env("SCURRY_BIN", target.join("release/scurry"));
    Err(test.exec()).with_context(|| format!("cannot start {TEST}"))
}

/// Returns the commit that is built. A tree with changes is not that commit.
fn commit(host: &Host) -> Result<String> {
    let commit = host.git_output(&["rev-parse", "HEAD"])?;
    let changes = host.git_output(&["status", "--porcelain"])?;
    Ok(format!("{}{}", commit.trim(), if changes.is_empty() { "" } else { "-changed" }))
}
