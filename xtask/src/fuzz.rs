//! Fuzzing within bounds: the seeds as ordinary tests, then each target for some seconds. What
//! a run finds goes to cargo's target directory and nowhere else.

use crate::host::Host;
use crate::steps::Outcome;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// A workspace of its own, so that it can be built by another compiler.
const DIR: &str = "testing/fuzz";
pub(crate) const MANIFEST: &str = "testing/fuzz/Cargo.toml";

/// Each target in the gate, seconds.
pub(crate) const SECONDS_DEFAULT: u32 = 10;
/// Each target at most, seconds: a run is bounded.
const SECONDS_MAX: u32 = 24 * 3600;

/// What a target may take: bytes of one input, MiB of one allocation, seconds of one input.
const BOUNDS: [&str; 4] =
    ["-max_len=4096", "-malloc_limit_mb=64", "-rss_limit_mb=2048", "-timeout=20"];

/// Reads `--seconds N`.
pub(crate) fn seconds(args: &[String]) -> Result<u32> {
    match args {
        [] => Ok(SECONDS_DEFAULT),
        [option, number] if option == "--seconds" => match number.parse() {
            Ok(seconds @ 1..=SECONDS_MAX) => Ok(seconds),
            _ => bail!("`{number}` is not a number of seconds from 1 to {SECONDS_MAX}"),
        },
        _ => bail!("`fuzz` takes --seconds N and nothing else"),
    }
}

/// Runs the seeds, then every target for so many seconds.
pub(crate) fn run(host: &Host, seconds: u32) -> Result<Outcome> {
    let target_dir = host.target_dir()?.join("fuzz");
    let target = target_dir.display().to_string();
    host.cargo(&["fmt", "--manifest-path", MANIFEST, "--check"])
        .context("repair with cargo xtask fix")?;
    let own = ["--manifest-path", MANIFEST, "--locked", "--target-dir", &target];
    host.cargo(
        &[&["clippy", "-q", "--all-targets"], &own[..], &["--", "-D", "warnings"]].concat(),
    )?;
    host.cargo(&[&["test", "-q"], &own[..]].concat())?;
    if !has_fuzzer() {
        return Ok(Outcome::Skipped(
            "the seeds ran as tests; to fuzz (nightly Rust, cargo-fuzz): scripts/install-tools.sh"
                .to_owned(),
        ));
    }
    for name in targets(&host.root)? {
        println!("\nfuzzing {name} for {seconds} s");
        fuzz(host, &target_dir, &name, seconds).with_context(|| {
            format!(
                "{name} found a broken property; the input is in {}: \
                 cargo run --manifest-path {MANIFEST} --bin {name} FILE",
                target_dir.join("artifacts").display()
            )
        })?;
    }
    Ok(Outcome::Passed)
}

/// One target. What it learns stays in the target directory and makes the next run better.
fn fuzz(host: &Host, target_dir: &Path, name: &str, seconds: u32) -> Result<()> {
    let corpus = target_dir.join("corpus").join(name);
    let artifacts = target_dir.join("artifacts");
    for dir in [&corpus, &artifacts] {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    let mut command = nightly();
    command.args(["fuzz", "run", "--fuzz-dir", DIR, "--target-dir"]).arg(target_dir).arg(name);
    command.arg(&corpus).arg(format!("{DIR}/seeds/{name}")).arg("--").args(BOUNDS);
    let dictionary = format!("{DIR}/dictionaries/{name}.dict");
    if host.root.join(&dictionary).exists() {
        command.arg(format!("-dict={dictionary}"));
    }
    command.arg(format!("-artifact_prefix={}/{name}-", artifacts.display()));
    command.args([format!("-max_total_time={seconds}").as_str(), "-print_final_stats=1"]);
    command.arg("-verbosity=0");
    host.show(&mut command)
}

/// Cargo of the nightly toolchain; the one that runs this has left its traces in the environment.
fn nightly() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    command
}

fn has_fuzzer() -> bool {
    let mut command = nightly();
    command.args(["fuzz", "--version"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The names of the targets, in their order.
fn targets(root: &Path) -> Result<Vec<String>> {
    let dir = root.join(DIR).join("targets");
    let mut names = Vec::new();
    for entry in dir.read_dir().with_context(|| format!("cannot read {}", dir.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    if names.is_empty() {
        bail!("{} has no targets", dir.display());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn seconds_are_bounded() {
        assert_eq!(seconds(&[]).unwrap(), SECONDS_DEFAULT);
        assert_eq!(seconds(&args("--seconds 600")).unwrap(), 600);
        for line in ["--seconds", "--seconds 0", "--seconds ten", "--seconds 86401", "600"] {
            assert!(seconds(&args(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn every_target_has_a_directory_of_seeds() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let names = targets(root).unwrap();
        assert!(names.len() >= 5, "{names:?}");
        for name in names {
            assert!(root.join(DIR).join("seeds").join(&name).is_dir(), "{name}");
        }
    }
}
