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
use crate::upgrade;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub(crate) type Step = (&'static str, fn(&Host) -> Result<Outcome>);

/// Gate: its steps in order, and which of them run beside its tests.
pub(crate) struct Gate {
    pub(crate) steps: &'static [Step],
    /// Steps that run in a second process. Tests of real servers mostly wait, and these steps mostly compute; neither
    /// needs the build of the other.
    pub(crate) aside: &'static [&'static str],
    /// Name of the test step that they run beside.
    pub(crate) beside: &'static str,
}

/// Gate before a commit: quick checks that often fail.
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

/// Gate before a merge, and in CI.
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

/// Gate with every step.
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
        ("brokers", brokers),
        ("lab", lab::run),
        ("cluster-test", cluster_test),
        ("upgrade", upgrade_test),
        ("many-seeds", many_seeds),
        ("fuzz", |host| fuzz::run(host, fuzz::SECONDS_LONG)),
        ("mutants", mutants::all),
        (mutants::CHANGED, mutants::changed),
        ("release", release::test),
        // Last and alone: it emulates a processor, and anything that runs beside it would make its timeouts expire.
        ("rdma", rdma::run),
    ],
    aside: &["fuzz", "mutants", mutants::CHANGED],
    beside: "every-test",
};

/// Target without an operating system: a crate that builds for it does not use `std`.
const BARE_TARGET: &str = "thumbv7em-none-eabi";

/// Packages that `make check` tests.
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

/// Returns all steps of all gates, each once.
pub(crate) fn all_steps() -> Vec<Step> {
    let mut all: Vec<Step> = vec![];
    for step in [CHECK, TEST, ALL].iter().flat_map(|gate| gate.steps) {
        if !all.iter().any(|known| known.0 == step.0) {
            all.push(*step);
        }
    }
    all
}

/// Returns the steps that only the long gate has. CI runs the others for each merge, so they need no record.
pub(crate) fn recorded() -> Vec<&'static str> {
    let names = ALL.steps.iter().map(|step| step.0);
    names.filter(|name| !TEST.steps.iter().any(|step| step.0 == *name)).collect()
}

fn fmt(host: &Host) -> Result<Outcome> {
    host.cargo(&["fmt", "--all", "--check"]).context("repair with cargo xtask fix")?;
    Ok(Outcome::Passed)
}

fn clippy(host: &Host) -> Result<Outcome> {
    let words = ["--all-targets", "--locked", "--", "-D", "warnings"];
    host.cargo(&[&["clippy", "--workspace"][..], &WITHOUT_BROKERS, &words].concat())?;
    Ok(Outcome::Passed)
}

fn tidy(host: &Host) -> Result<Outcome> {
    tidy::run(host, &recorded())?;
    Ok(Outcome::Passed)
}

/// Checks licences, sources and known vulnerabilities of the dependencies. The last check needs a database from the
/// network.
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

/// Builds the pure crates without `std`. tidy reads the attribute; this also proves it for their dependencies.
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

/// Tests the pure crates, the models, the scripts and a smoke test, after building the server that these start.
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
    sim::run(host, sim::DIAMETER, &[])?;
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
    // The test runner leaves doc tests out. Those of this package show which mistakes do not compile.
    host.cargo(&["test", "--doc", "--locked", "-p", "scurry-codec"])?;
    Ok(Outcome::Passed)
}

/// Runs the tests of a merge while single processes of theirs are stopped for a moment. The tests are built before:
/// stopping a compiler costs minutes and finds nothing.
fn stalls(host: &Host) -> Result<Outcome> {
    let tests = product_tests(host, "default")?;
    host.show(&mut nextest(host, &["--workspace", "--no-run"])?)?;
    stalls::beside(host, tests)?;
    Ok(Outcome::Passed)
}

/// Crates whose clients take long to build: the step `brokers` has them.
const WITHOUT_BROKERS: [&str; 6] = [
    "--exclude",
    "scurry-sink-amqp",
    "--exclude",
    "scurry-sink-kafka",
    "--exclude",
    "scurry-sink-nats",
];

/// Checks the build that ships to brokers, and tests it before real ones.
fn brokers(host: &Host) -> Result<Outcome> {
    const WITH: [&str; 10] = [
        "-p",
        "scurry-cli",
        "-p",
        "scurry-sink-amqp",
        "-p",
        "scurry-sink-kafka",
        "-p",
        "scurry-sink-nats",
        "--features",
        "scurry-cli/amqp,scurry-cli/kafka,scurry-cli/nats",
    ];
    let clippy = ["clippy", "--all-targets", "--locked"];
    host.cargo(&[&clippy[..], &WITH, &["--", "-D", "warnings"]].concat())?;
    let filter = "binary(kafka) | binary(amqp) | package(scurry-sink-nats) | binary(ship_streams) & test(/^nats::/)";
    let tests = ["--profile", "all", "-E", filter];
    host.show(&mut nextest(host, &[&WITH[..], &tests].concat())?)?;
    Ok(Outcome::Passed)
}

/// Returns the tests of a profile of `.config/nextest.toml`, with the module as users load it and one with a test
/// clock.
fn product_tests(host: &Host, profile: &str) -> Result<Command> {
    let clock = module(host, "libscurry-test-clock.so", &["--features", "test-clock"])?;
    let plain = module(host, "libscurry.so", &[])?;
    let words = [&["--workspace"][..], &WITHOUT_BROKERS, &["--profile", profile]].concat();
    let mut nextest = nextest(host, &words)?;
    nextest.env("SCURRY_MODULE", plain).env("SCURRY_MODULE_TEST_CLOCK", clock);
    Ok(nextest)
}

/// Builds the module and copies it, because a build with other features has the same file name.
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

/// Returns the test runner: each test has its own process, and shared binaries are built beforehand.
fn nextest(host: &Host, words: &[&str]) -> Result<Command> {
    // Most tests wait for servers, so twice as many tests as processors do not take longer each.
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let run = ["run", "--locked", "--test-threads", &threads.to_string()];
    let mut nextest = host.cargo_tool("nextest", &[&run, words].concat())?;
    // The binary is built with the tests, before the first of them runs. If a test of another package built it alone,
    // its dependencies would have other features, and all of them would be built a second time.
    nextest.env("SCURRY_BIN", host.target_dir()?.join("debug/scurry"));
    Ok(nextest)
}

/// Upgrades groups from earlier versions.
fn upgrade_test(host: &Host) -> Result<Outcome> {
    let words =
        ["--workspace", "--test", "replica", "--profile", "all", "-E", "test(/^upgrade::/)"];
    let tests = nextest(host, &words)?;
    upgrade::run(host, tests)
}

/// Tests a real cluster (one primary killed, one paused, slots moved), doors and shippers before a group, and a door under
/// attack.
fn cluster_test(host: &Host) -> Result<Outcome> {
    const NAME: &str = "scurry-cluster-test";
    const DOORS: &str = "scurry-door-faults";
    const HTTP2: &str = "scurry-http2-fuzz";
    const SHIPPERS: &str = "scurry-ship-faults";
    let built = host.binaries(&[NAME, DOORS, SHIPPERS, HTTP2])?;
    host.show(Command::new(built.join(NAME)).arg("--short"))?;
    for protocol in ["diameter", "nchf"] {
        host.show(Command::new(built.join(DOORS)).arg(protocol))?;
    }
    host.show(Command::new(built.join(SHIPPERS)).args(["--rounds", "10"]))?;
    host.show(&mut Command::new(built.join(HTTP2)))?;
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
