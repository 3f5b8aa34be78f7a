//! Bugs that are seeded one at a time, and that a test must catch: those of testing/mutants, chosen by hand, and those
//! that cargo-mutants makes of the lines that have changed.

use crate::change;
use crate::host::Host;
use crate::record::Record;
use crate::steps::Outcome;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The step that looks at the change.
pub(crate) const CHANGED: &str = "mutants-changed";

/// Minutes after which that step begins no mutant, all packages together.
const MINUTES_MAX: u64 = 20;

/// Seconds that the tests of a mutant may take. Those of the simulators take the most.
const TEST_SECONDS_MAX: &str = "300";

/// Packages whose mutants are made, and the packages whose tests must catch them. The others (server, doors, module)
/// are tested by servers that run: that takes longer than the step has.
const JUDGES: [(&str, &[&str]); 8] = [
    ("scurry-ledger", &["scurry-ledger", "scurry-model"]),
    ("scurry-codec", &["scurry-codec", "scurry-model"]),
    ("scurry-engine", &["scurry-engine", "scurry-model", "scurry-sim"]),
    ("scurry-disk", &["scurry-disk"]),
    ("scurry-resp", &["scurry-resp"]),
    ("scurry-replica", &["scurry-replica", "scurry-replicas"]),
    ("scurry-group", &["scurry-group", "scurry-sim"]),
    ("scurry-rdma-proto", &["scurry-rdma-proto", "scurry-rdma-fabric"]),
];

/// Exit codes of cargo-mutants and of timeout(1).
mod exit {
    pub(super) const ALL_CAUGHT: i32 = 0;
    pub(super) const SURVIVED: i32 = 2;
    /// The tests of a mutant went on for ever: they did not pass.
    pub(super) const ENDLESS: i32 = 3;
    pub(super) const OUT_OF_TIME: i32 = 124;
}

/// Seeds the bugs of testing/mutants, or those with these names.
pub(crate) fn run(host: &Host, names: &[String]) -> Result<()> {
    let run = ["run", "-q", "--locked", "-p", "scurry-model", "--bin", "mutants", "--"];
    let names = names.iter().map(String::as_str);
    host.cargo(&run.into_iter().chain(names).collect::<Vec<_>>())
}

pub(crate) fn all(host: &Host) -> Result<Outcome> {
    run(host, &[])?;
    Ok(Outcome::Passed)
}

/// Seeds what cargo-mutants makes of the changed lines: those of the branch, or on `main` those since the step has
/// passed last.
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
    // Prefixes that the user's own settings of git do not change.
    let plain = ["diff", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/"];
    let text = host.git_output(&[&plain[..], &[&base, "--", "crates"]].concat())?;
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

/// Returns the mutants of one package that all tests have passed under, of those for which there was time.
fn seed(
    host: &Host,
    dir: &Path,
    package: &str,
    judges: &[&str],
    seconds: u64,
) -> Result<Vec<String>> {
    let output = dir.join(package);
    fs::create_dir_all(&output).with_context(|| format!("cannot make {}", output.display()))?;
    // cargo-mutants itself tries the package's own tests alone without a mutant.
    let tested = judges.iter().flat_map(|judge| ["-p", judge]);
    host.cargo(&["test", "-q", "--locked"].into_iter().chain(tested).collect::<Vec<_>>())?;
    let diff = dir.join("change.diff").display().to_string();
    let place = output.display().to_string();
    let words = ["--in-diff", &diff, "--output", &place, "--package", package, "--caught"];
    let baseline = ["--baseline", "skip", "--timeout", TEST_SECONDS_MAX];
    let judges = judges.iter().flat_map(|judge| ["--test-package", judge]);
    let words: Vec<&str> = words.into_iter().chain(baseline).chain(judges).collect();
    let mut tool = host.cargo_tool("mutants", &words)?;
    // It builds in a copy of the tree, whose crates no other build can use.
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

/// Returns the lines of a list; none where it is absent.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
