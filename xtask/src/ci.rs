//! The read-only gate. What it builds goes to cargo's target directory and nowhere else.

use crate::fuzz;
use crate::host::Host;
use crate::rdma;
use crate::steps::{Outcome, Steps};
use crate::tidy;
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

type Step = (&'static str, fn(&Host) -> Result<Outcome>);

/// In this order: what is quick and often wrong comes first.
const STEPS: &[Step] = &[
    ("fmt", fmt),
    ("clippy", clippy),
    ("tidy", tidy),
    ("no-std", no_std),
    ("test", test),
    ("cluster-test", cluster_test),
    ("fuzz", fuzz_step),
    ("mutants", mutants_step),
    // A processor is emulated there: what runs beside it makes everything in it late.
    ("rdma", rdma::run),
];

/// A target without an operating system: what builds for it uses no `std`.
const BARE_TARGET: &str = "thumbv7em-none-eabi";

/// Steps that run beside the others, in a process of their own: tests of real servers mostly wait, and
/// what is here mostly computes. Neither needs what the others build.
const ASIDE: &[&str] = &["fuzz", "mutants"];

/// One gate in so many has seeded each mutant: all of them take longer than everything else together.
const MUTANT_PARTS: u64 = 4;

/// Runs the named steps, or all. An error names those that failed.
pub(crate) fn run(host: &Host, names: &[String]) -> Result<()> {
    if names.iter().any(|name| name == "--list") {
        STEPS.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    let chosen = choose(names)?;
    // Elsewhere an editor may be at work meanwhile.
    let before = std::env::var_os("CI").map(|_| state_of_tree(host)).transpose()?;
    let mut steps = Steps::default();
    let mut aside = None;
    for (name, step) in chosen {
        if names.is_empty() && ASIDE.contains(&name) {
            continue;
        }
        // What is quick and often wrong has been looked at.
        if names.is_empty() && name == "test" {
            aside = Some(Aside::start(host)?);
        }
        if name == "rdma"
            && let Some(aside) = aside.take()
        {
            steps.run("aside", || aside.end());
        }
        steps.run(name, || step(host));
    }
    if let Some(before) = before {
        steps.run("tree-unchanged", || unchanged(&before, &state_of_tree(host)?));
    }
    steps.finish()
}

/// Seeds all known bugs, or a part of them.
pub(crate) fn mutants(host: &Host, words: &[&str]) -> Result<()> {
    let run = ["run", "-q", "--locked", "-p", "scurry-model", "--bin", "mutants", "--"];
    host.cargo(&[&run[..], words].concat())
}

/// The steps that run beside the others, and what they print.
struct Aside {
    child: Child,
    log: PathBuf,
}

impl Aside {
    fn start(host: &Host) -> Result<Aside> {
        let log = host.target_dir()?.join("xtask-aside.log");
        let file = File::create(&log).with_context(|| format!("create {}", log.display()))?;
        let program = std::env::current_exe().context("this program has no path")?;
        let child = Command::new(program)
            .arg("ci")
            .args(ASIDE)
            .current_dir(&host.root)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .context("cannot start the steps that run beside")?;
        println!("\nbeside what follows: {}, in {}", ASIDE.join(", "), log.display());
        Ok(Aside { child, log })
    }

    fn end(mut self) -> Result<Outcome> {
        let status = self.child.wait()?;
        println!("{}", std::fs::read_to_string(&self.log)?);
        ensure!(status.success(), "failed: see its summary above");
        Ok(Outcome::Passed)
    }
}

fn choose(names: &[String]) -> Result<Vec<Step>> {
    if names.is_empty() {
        return Ok(STEPS.to_vec());
    }
    if let Some(name) = names.iter().find(|name| !STEPS.iter().any(|step| step.0 == **name)) {
        bail!("no step `{name}`: see cargo xtask ci --list");
    }
    Ok(STEPS.iter().copied().filter(|step| names.iter().any(|name| name == step.0)).collect())
}

fn fmt(host: &Host) -> Result<Outcome> {
    host.cargo(&["fmt", "--all", "--check"]).context("repair with cargo xtask fix")?;
    Ok(Outcome::Passed)
}

fn clippy(host: &Host) -> Result<Outcome> {
    host.cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?;
    Ok(Outcome::Passed)
}

fn tidy(host: &Host) -> Result<Outcome> {
    tidy::run(host)?;
    Ok(Outcome::Passed)
}

/// tidy reads the attribute; this proves it, also for what the pure crates depend on.
fn no_std(host: &Host) -> Result<Outcome> {
    let libraries = host.output(Command::new("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        BARE_TARGET,
    ]))?;
    if !std::path::Path::new(libraries.trim()).is_dir() {
        return Ok(Outcome::Skipped(format!(
            "tidy has read the attributes; to prove them: rustup target add {BARE_TARGET}"
        )));
    }
    host.cargo(&[
        "build",
        "--locked",
        "--target",
        BARE_TARGET,
        "-p",
        "scurry-ledger",
        "-p",
        "scurry-codec",
    ])?;
    Ok(Outcome::Passed)
}

fn test(host: &Host) -> Result<Outcome> {
    let mut cargo = host.cargo_command();
    cargo.args(["test", "--workspace", "--locked", "--no-fail-fast"]);
    // It is built with the tests, before the first of them runs. Tests of other packages would build it
    // alone, with other features of what it depends on: all of that a second time.
    cargo.env("SCURRY_BIN", host.target_dir()?.join("debug/scurry"));
    host.show(&mut cargo)?;
    Ok(Outcome::Passed)
}

/// A real cluster: a primary killed, one paused, slots moved.
fn cluster_test(host: &Host) -> Result<Outcome> {
    const NAME: &str = "scurry-cluster-test";
    let built = host.binaries(&[NAME])?.join(NAME);
    host.show(Command::new(built).arg("--short"))?;
    Ok(Outcome::Passed)
}

fn fuzz_step(host: &Host) -> Result<Outcome> {
    fuzz::run(host, fuzz::SECONDS_DEFAULT)
}

/// A part of them, by the number of commits: each commit has its turn at another part.
fn mutants_step(host: &Host) -> Result<Outcome> {
    let commits = host.git_output(&["rev-list", "--count", "HEAD"])?;
    let commits: u64 = commits.trim().parse().context("the number of commits")?;
    let part = format!("{}/{MUTANT_PARTS}", commits % MUTANT_PARTS + 1);
    println!("part {part}; all of them: cargo xtask mutants");
    mutants(host, &["--part", &part])?;
    Ok(Outcome::Passed)
}

fn state_of_tree(host: &Host) -> Result<String> {
    let status = host.git_output(&["status", "--porcelain"])?;
    let changes = host.git_output(&["diff", "--no-ext-diff"])?;
    Ok(status + &changes)
}

fn unchanged(before: &str, after: &str) -> Result<Outcome> {
    if before != after {
        let head: Vec<&str> = after.lines().take(20).collect();
        bail!("the gate changed the working tree; git status and diff begin\n{}", head.join("\n"));
    }
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name_and_keep_their_order() {
        let chosen = choose(&["test".to_owned(), "fmt".to_owned()]).unwrap();
        assert_eq!(chosen.iter().map(|step| step.0).collect::<Vec<_>>(), ["fmt", "test"]);
        assert_eq!(choose(&[]).unwrap().len(), STEPS.len());
        let error = choose(&["tset".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`tset`"), "{error}");
    }

    #[test]
    fn a_changed_tree_is_a_failure() {
        assert!(unchanged("", " M Cargo.lock\n").is_err());
        assert!(unchanged(" M notes\n", " M notes\n").is_ok());
    }
}
