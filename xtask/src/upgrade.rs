//! Builds earlier versions of the server, and upgrades groups from them and back under load.

use crate::host::Host;
use crate::steps::Outcome;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An earlier version.
struct Before {
    commit: &'static str,
    /// The variable by which the test finds its binary.
    variable: &'static str,
}

const BEFORE: [Before; 1] = [
    // A commit whose formats are those of today: a group goes back to it at any time. After a change of a format, take
    // the first commit that has it.
    Before { commit: "2a1af4a00672667da54c82fa54ec3bae7eb68b3a", variable: "SCURRY_BEFORE" },
];

/// Builds them, once, and runs the tests that need them.
pub(crate) fn run(host: &Host, mut tests: Command) -> Result<Outcome> {
    let is_there = |before: &Before| {
        let commit = format!("{}^{{commit}}", before.commit);
        host.git_output(&["cat-file", "-e", &commit]).is_ok()
    };
    if let Some(missing) = BEFORE.iter().find(|before| !is_there(before)) {
        let commit = missing.commit;
        return Ok(Outcome::Skipped(format!("no commit {commit} here: git fetch --unshallow")));
    }
    for Before { commit, variable } in BEFORE {
        tests.env(variable, build(host, commit)?);
    }
    host.show(&mut tests)?;
    Ok(Outcome::Passed)
}

/// Returns the server of a commit. It is built in target/before, unless that was done before.
fn build(host: &Host, commit: &str) -> Result<PathBuf> {
    let place = host.target_dir()?.join("before");
    let (kept, tree) = (place.join(commit).join("scurry"), place.join(commit).join("tree"));
    if kept.is_file() {
        return Ok(kept);
    }
    unpack(host, commit, &tree)?;
    // All versions have nearly the same dependencies, which are built once.
    let target = place.join("target");
    let manifest = tree.join("Cargo.toml");
    let mut cargo = host.cargo_command();
    cargo.args(["build", "--profile", "source", "--locked", "-p", "scurry-cli", "--bin", "scurry"]);
    cargo.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(&target);
    host.show(&mut cargo)?;
    // The next commit is built over it. It has its name only when it is whole.
    let new = kept.with_extension("new");
    fs::copy(target.join("source/scurry"), &new).context("the server that was built")?;
    fs::rename(&new, &kept)?;
    fs::remove_dir_all(&tree)?;
    Ok(kept)
}

/// Writes the files of a commit into an empty directory.
fn unpack(host: &Host, commit: &str, tree: &Path) -> Result<()> {
    if tree.exists() {
        fs::remove_dir_all(tree)?;
    }
    fs::create_dir_all(tree).with_context(|| format!("cannot make {}", tree.display()))?;
    let archive = tree.with_extension("tar");
    let output = format!("--output={}", archive.display());
    host.git_output(&["archive", "--format=tar", &output, commit])?;
    host.show(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(tree))?;
    Ok(fs::remove_file(&archive)?)
}
