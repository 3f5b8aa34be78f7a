//! The three gates: which steps each has, and what these run.

use crate::change;
use crate::fuzz;
use crate::host::Host;
use crate::lab;
use crate::mutants;
use crate::rdma;
use crate::release;
use crate::sim;
use crate::site;
use crate::stalls;
use crate::steps::Outcome;
use crate::tidy;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub(crate) type Step = (&'static str, fn(&Host) -> Result<Outcome>);

/// A gate: its steps in their order, and which of them run beside its tests.
pub(crate) struct Gate {
    pub(crate) steps: &'static [Step],
    /// In a process of their own: tests of real servers mostly wait, and what is here mostly computes.
    /// Neither needs what the others build.
    pub(crate) aside: &'static [&'static str],
    /// The tests that they run beside.
    pub(crate) beside: &'static str,
}

/// Before a commit: what is quick and often wrong.
pub(crate) const CHECK: Gate = Gate {
    steps: &[
        ("fmt", fmt),
        ("tidy", tidy),
        ("clippy-changed", change::clippy),
        ("quick-test", quick_test),
        ("seeds", seeds),
    ],
    aside: &[],
    beside: "",
};

/// Before a merge, and what CI runs.
pub(crate) const TEST: Gate = Gate {
    steps: &[
        ("fmt", fmt),
        ("tidy", tidy),
        ("deny", deny),
        ("site", site::step),
        ("clippy", clippy),
        ("no-std", no_std),
        ("test", test),
    ],
    aside: &[],
    beside: "",
};

/// Everything there is.
pub(crate) const ALL: Gate = Gate {
    steps: &[
        ("fmt", fmt),
        ("tidy", tidy),
        ("deny", deny),
        ("site", site::step),
        ("clippy", clippy),
        ("no-std", no_std),
        ("every-test", every_test),
        ("stalls", stalls),
        ("lab", lab::run),
        ("cluster-test", cluster_test),
        ("many-seeds", many_seeds),
        ("fuzz", |host| fuzz::run(host, fuzz::SECONDS_LONG)),
        ("mutants", mutants::all),
        (mutants::CHANGED, mutants::changed),
        ("release", release::test),
        // A processor is emulated there: what runs beside it makes everything in it late.
        ("rdma", rdma::run),
    ],
    aside: &["fuzz", "mutants", mutants::CHANGED],
    beside: "every-test",
};

/// A target without an operating system: what builds for it uses no `std`.
const BARE_TARGET: &str = "thumbv7em-none-eabi";

/// The packages that `make check` tests.
const QUICK: [&str; 7] = [
    "scurry-ledger",
    "scurry-codec",
    "scurry-engine",
    "scurry-resp",
    "scurry-model",
    "scurry-conformance",
    "scurry-crash",
];

/// Seeds of each theme of the simulator in `make check`, and in `make test-all`.
const SEEDS: &str = "20";
const MANY_SEEDS: &str = "2000";

/// All steps, each once.
pub(crate) fn all_steps() -> Vec<Step> {
    let mut all: Vec<Step> = vec![];
    for step in [CHECK, TEST, ALL].iter().flat_map(|gate| gate.steps) {
        if !all.iter().any(|known| known.0 == step.0) {
            all.push(*step);
        }
    }
    all
}

/// The steps that only the long gate has: CI runs the others for each merge, and they need no record.
pub(crate) fn recorded() -> Vec<&'static str> {
    let names = ALL.steps.iter().map(|step| step.0);
    names.filter(|name| !TEST.steps.iter().any(|step| step.0 == *name)).collect()
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
    tidy::run(host, &recorded())?;
    Ok(Outcome::Passed)
}

/// Licences, sources and known faults of the crates that we depend on. The last need a database from the network.
fn deny(host: &Host) -> Result<Outcome> {
    host.show(
        &mut host.cargo_tool("deny", &["--locked", "check", "licenses", "bans", "sources"])?,
    )?;
    let fetched = host.cargo_tool("deny", &["fetch", "db"])?.stderr(Stdio::null()).status();
    if !fetched.is_ok_and(|status| status.success()) {
        return Ok(Outcome::Skipped(
            "known faults: the RustSec database cannot be reached".to_owned(),
        ));
    }
    host.show(&mut host.cargo_tool("deny", &["--locked", "check", "advisories"])?)?;
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

/// The pure crates, the models, the scripts, and a smoke; the server that these want is built first.
fn quick_test(host: &Host) -> Result<Outcome> {
    host.cargo(&["build", "--locked", "-p", "scurry-cli", "--bin", "scurry"])?;
    let packages = QUICK.iter().flat_map(|name| ["-p", name]);
    let words = ["--profile", "check"].into_iter().chain(packages);
    host.show(&mut nextest(host, &words.collect::<Vec<_>>())?)?;
    Ok(Outcome::Passed)
}

fn seeds(host: &Host) -> Result<Outcome> {
    sim::run(host, sim::DURABILITY, &["--seeds".to_owned(), SEEDS.to_owned()])?;
    Ok(Outcome::Passed)
}

fn many_seeds(host: &Host) -> Result<Outcome> {
    sim::run(host, sim::DURABILITY, &["--seeds".to_owned(), MANY_SEEDS.to_owned()])?;
    let group = ["--theme", "group", "--seeds", MANY_SEEDS].map(str::to_owned);
    sim::run(host, sim::DURABILITY, &group)?;
    sim::run(host, sim::RDMA, &[])?;
    sim::run(host, sim::REPLICAS, &[])?;
    Ok(Outcome::Passed)
}

fn test(host: &Host) -> Result<Outcome> {
    run_tests(host, "default")
}

fn every_test(host: &Host) -> Result<Outcome> {
    run_tests(host, "all")
}

fn run_tests(host: &Host, profile: &str) -> Result<Outcome> {
    host.show(&mut product_tests(host, profile)?)?;
    Ok(Outcome::Passed)
}

/// The tests of a merge while now this process of theirs stands still and now that. They are built before: a compiler
/// that stands still takes minutes more and finds nothing.
fn stalls(host: &Host) -> Result<Outcome> {
    let tests = product_tests(host, "default")?;
    host.show(&mut nextest(host, &["--workspace", "--no-run"])?)?;
    stalls::beside(host, tests)?;
    Ok(Outcome::Passed)
}

/// The tests of a profile of `.config/nextest.toml`, with the module that a server of users would load and
/// the one with a clock for tests.
fn product_tests(host: &Host, profile: &str) -> Result<Command> {
    let clock = module(host, "libscurry-test-clock.so", &["--features", "test-clock"])?;
    let plain = module(host, "libscurry.so", &[])?;
    let mut nextest = nextest(host, &["--workspace", "--profile", profile])?;
    nextest.env("SCURRY_MODULE", plain).env("SCURRY_MODULE_TEST_CLOCK", clock);
    Ok(nextest)
}

/// Builds the module and sets a copy aside: with other features it would have the same name.
fn module(host: &Host, name: &str, features: &[&str]) -> Result<PathBuf> {
    let build = ["rustc", "--locked", "-p", "scurry-valkey-module", "--lib"];
    host.cargo(&[&build[..], features, &["--", "-C", "panic=abort"]].concat())?;
    let built = host.target_dir()?.join("debug");
    let copies = built.join("modules");
    std::fs::create_dir_all(&copies)?;
    let copy = copies.join(name);
    std::fs::copy(built.join("libscurry.so"), &copy)
        .with_context(|| format!("cannot write {}", copy.display()))?;
    Ok(copy)
}

/// The runner: each test has a process of its own, which builds none of what it shares with others.
fn nextest(host: &Host, words: &[&str]) -> Result<Command> {
    // Most tests wait for servers that they have started, and twice as many as there are processors wait no longer.
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let run = ["run", "--locked", "--test-threads", &threads.to_string()];
    let mut nextest = host.cargo_tool("nextest", &[&run, words].concat())?;
    // It is built with the tests, before the first of them runs. Tests of other packages would build it
    // alone, with other features of what it depends on: all of that a second time.
    nextest.env("SCURRY_BIN", host.target_dir()?.join("debug/scurry"));
    Ok(nextest)
}

/// A real cluster: a primary killed, one paused, slots moved.
fn cluster_test(host: &Host) -> Result<Outcome> {
    const NAME: &str = "scurry-cluster-test";
    let built = host.binaries(&[NAME])?.join(NAME);
    host.show(Command::new(built).arg("--short"))?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(steps: &[Step]) -> Vec<&str> {
        steps.iter().map(|step| step.0).collect()
    }

    #[test]
    fn each_step_is_listed_once() {
        let steps = all_steps();
        let mut names = names(&steps);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), steps.len());
    }

    #[test]
    fn what_only_the_long_gate_has_is_recorded() {
        let recorded = recorded();
        assert!(recorded.contains(&"mutants") && recorded.contains(&mutants::CHANGED));
        assert!(recorded.contains(&"every-test") && !recorded.contains(&"fmt"));
    }

    #[test]
    fn what_runs_aside_is_a_step_and_so_is_what_it_runs_beside() {
        for name in ALL.aside.iter().chain([&ALL.beside]) {
            assert!(names(ALL.steps).contains(name), "{name}");
        }
        assert!(CHECK.aside.is_empty() && TEST.aside.is_empty());
    }

    #[test]
    fn a_longer_gate_leaves_out_only_what_it_has_a_fuller_form_of() {
        let fuller = ["clippy-changed", "quick-test", "seeds", "test"];
        for (shorter, longer) in [(CHECK, TEST), (TEST, ALL)] {
            for name in names(shorter.steps) {
                assert!(names(longer.steps).contains(&name) || fuller.contains(&name), "{name}");
            }
        }
    }
}
