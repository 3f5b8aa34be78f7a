//! Runs faults of a group for hours, on release builds: rounds of all kinds, by `scurry-group-test --hours`, or a soak,
//! by `scurry-soak`. Rounds and results are those of these programs.

use crate::host::Host;
use anyhow::{Context, Result};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A program that runs for hours.
pub(crate) struct LongTest {
    program: &'static str,
    /// Directory of its results, in that of the builds.
    results: &'static str,
}

/// Rounds of all faults, again and again.
pub(crate) const TORTURE: LongTest = LongTest { program: "scurry-group-test", results: "torture" };
/// One group under steady load.
pub(crate) const SOAK: LongTest = LongTest { program: "scurry-soak", results: "soak" };

/// Hours when none are given.
const HOURS: &str = "1";

/// Builds the server and the test, and becomes the test, so that it gets the signals of the terminal.
pub(crate) fn run(host: &Host, test: &LongTest, args: &[String]) -> Result<()> {
    let LongTest { program, results } = test;
    let packages = ["-p", "scurry-cli", "--bin", "scurry", "-p", "scurry-cluster-test"];
    let build = ["build", "--release", "--locked"].into_iter().chain(packages);
    host.cargo(&build.chain(["--bin", program]).collect::<Vec<_>>())?;
    let target = host.target_dir()?;
    let mut test = Command::new(target.join("release").join(program));
    test.args(args).current_dir(&host.root);
    if !args.iter().any(|arg| arg.split('=').next() == Some("--hours")) {
        test.args(["--hours", HOURS]);
    }
    test.args(["--commit", &commit(host)?]);
    test.arg("--results").arg(target.join(results).join("results.json"));
    test.env("SCURRY_BIN", target.join("release/scurry"));
    Err(test.exec()).with_context(|| format!("cannot start {program}"))
}

/// Returns the commit that is built. A tree with changes is not that commit.
fn commit(host: &Host) -> Result<String> {
    let commit = host.git_output(&["rev-parse", "HEAD"])?;
    let changes = host.git_output(&["status", "--porcelain"])?;
    Ok(format!("{}{}", commit.trim(), if changes.is_empty() { "" } else { "-changed" }))
}
