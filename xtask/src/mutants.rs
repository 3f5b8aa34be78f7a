//! Bugs that are seeded one at a time, and that a test must catch: the hand-written ones of testing/mutants, and those
//! that cargo-mutants generates for changed lines.

use crate::change;
use crate::host::Host;
use crate::record::Record;
use crate::steps::Outcome;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Name of the step that tests the changed lines.
pub(crate) const CHANGED: &str = "mutants-changed";

/// Minutes after which that step starts no more mutants, over all packages.
const MINUTES_MAX: u64 = 20;

/// Most seconds that the tests of a mutant may take. The simulators take the longest.
const TEST_SECONDS_MAX: &str = "300";

/// Packages that are mutated, each with the packages that must catch the mutants in their tests. The others (server,
/// group, doors, module) are tested by running servers, which takes longer than the step has.
const JUDGES: [(&str, &[&str]); 8] = [
    ("scurry-ledger", &["scurry-ledger", "scurry-model"]),
    ("scurry-codec", &["scurry-codec", "scurry-model"]),
    ("scurry-engine", &["scurry-engine", "scurry-model", "scurry-sim"]),
    ("scurry-diameter", &["scurry-diameter", "scurry-diameter-sim"]),
    ("scurry-disk", &["scurry-disk"]),
    ("scurry-resp", &["scurry-resp"]),
    ("scurry-consensus", &["scurry-consensus", "scurry-replicas", "scurry-sim"]),
    ("scurry-rdma-proto", &["scurry-rdma-proto", "scurry-rdma-fabric"]),
];

/// Exit codes of cargo-mutants and of timeout(1).
mod exit {
    pub(super) const ALL_CAUGHT: i32 = 0;
    pub(super) const SURVIVED: i32 = 2;
    /// The tests of a mutant timed out, so they did not pass.
    pub(super) const ENDLESS: i32 = 3;
    pub(super) const OUT_OF_TIME: i32 = 124;
}

/// Runs the mutants of testing/mutants, or those with these names.
pub(crate) fn run(host: &Host, names: &[String]) -> Result<()> {
    let run = ["run", "-q", "--locked", "-p", "scurry-model", "--bin", "mutants", "--"];
    let names = names.iter().map(String::as_str);
    host.cargo(&run.into_iter().chain(names).collect::<Vec<_>>())
}

pub(crate) fn all(host: &Host) -> Result<Outcome> {
    run(host, &[])?;
    Ok(Outcome::Passed)
}

/// Runs the mutants that cargo-mutants generates for the lines changed on the branch, or on `main` since the step last
/// passed.
pub(crate) fn changed(host: &Host) -> Result<Outcome> {
    let base = match change::base(host)? {
        base if base == head(host)? => {
            Record::load(&host.root)?.commit(host, CHANGED).map_or(base, str::to_owned)
        }
        base => base,
    };
    let packages = change::packages(host)?;
    let touched = change::touched(&packages, &change::files(host, &base)?);
    let judged: Vec<_> = JUDGES.iter().filter(|(name, _)| touched.contains(name)).collect();
    if judged.is_empty() {
        println!("nothing has changed since {base} of what cargo-mutants is tried on");
        return Ok(Outcome::Passed);
    }
    let dir = host.target_dir()?.join("mutants-changed");
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let diff = dir.join("change.diff");
    // Explicit prefixes, because the user's git settings may change them.
    let plain = ["diff", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/"];
    let text =
        host.git_output(&[&plain[..], &[&base, "--", "crates", "doors", "transports"]].concat())?;
    fs::write(&diff, text).with_context(|| format!("cannot write {}", diff.display()))?;

    let seconds = 60 * MINUTES_MAX / judged.len() as u64;
    let mut survived = BTreeSet::new();
    for (name, judges) in judged {
        survived.extend(seed(host, &dir, name, judges, seconds)?);
    }
    if !survived.is_empty() {
        bail!(
            "no test of these packages fails under:\n  {}\nadd the test; a mutant that is the same program is \
             left out in .cargo/mutants.toml",
            survived.into_iter().collect::<Vec<_>>().join("\n  ")
        );
    }
    Ok(Outcome::Passed)
}

/// Returns the mutants of one package under which all tests passed; mutants without time left are not run.
fn seed(
    host: &Host,
    dir: &Path,
    package: &str,
    judges: &[&str],
    seconds: u64,
) -> Result<Vec<String>> {
    let output = dir.join(package);
    fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
    // Run the tests without a mutant first: cargo-mutants does that only for the package's own tests.
    let tested = judges.iter().flat_map(|judge| ["-p", judge]);
    host.cargo(&["test", "-q", "--locked"].into_iter().chain(tested).collect::<Vec<_>>())?;
    let diff = dir.join("change.diff").display().to_string();
    let place = output.display().to_string();
    let words = ["--in-diff", &diff, "--output", &place, "--package", package, "--caught"];
    let baseline = ["--baseline", "skip", "--timeout", TEST_SECONDS_MAX];
    let judges = judges.iter().flat_map(|judge| ["--test-package", judge]);
    let words: Vec<&str> = words.into_iter().chain(baseline).chain(judges).collect();
    let mut tool = host.cargo_tool("mutants", &words)?;
    // cargo-mutants builds in a copy of the tree, and no other build can use the artifacts.
    tool.env_remove("CARGO_TARGET_DIR").env("RUST_BACKTRACE", "0");
    let status = host.within(&tool, seconds)?;
    let lists = output.join("mutants.out");
    let survived = lines(&lists.join("missed.txt"));
    match status.code() {
        Some(exit::ALL_CAUGHT | exit::SURVIVED | exit::ENDLESS) => Ok(survived),
        Some(exit::OUT_OF_TIME) => {
            let tried = ["caught.txt", "missed.txt", "timeout.txt", "unviable.txt"];
            let tried: usize = tried.iter().map(|list| lines(&lists.join(list)).len()).sum();
            println!("{package}: {tried} mutants in {seconds} s, the rest is left out");
            Ok(survived)
        }
        _ => bail!("cargo-mutants ended with {status}: see {}", lists.display()),
    }
}

fn head(host: &Host) -> Result<String> {
    Ok(host.git_output(&["rev-parse", "HEAD"])?.trim().to_owned())
}

/// Returns the lines of a file; empty when it is missing.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
