//! Bounded fuzzing: the seeds as ordinary tests, then each target for some seconds. Everything that a run finds goes to
//! cargo's target directory only.

use crate::host::Host;
use crate::steps::Outcome;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DIR: &str = "testing/fuzz";

/// Default seconds for each target.
const SECONDS_DEFAULT: u32 = 10;
/// Seconds for each target in the long gate.
pub(crate) const SECONDS_LONG: u32 = 60;
/// Most seconds for each target, so that a run is bounded.
const SECONDS_MAX: u32 = 24 * 3600;

/// Bounds of a target: bytes of one input, MiB of one allocation, MiB of resident memory, seconds of one input.
const BOUNDS: [&str; 4] =
    ["-max_len=4096", "-malloc_limit_mb=64", "-rss_limit_mb=2048", "-timeout=20"];

/// Text before the number of executions in libFuzzer's output.
const EXECUTIONS: &str = "stat::number_of_executed_units:";

/// Parses `--seconds N`.
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

/// Runs every target for this many seconds.
pub(crate) fn run(host: &Host, seconds: u32) -> Result<Outcome> {
    let target_dir = target_dir(host)?;
    if !has_fuzzer() {
        return Ok(Outcome::Skipped(
            "the seeds run as tests; to fuzz (nightly Rust, cargo-fuzz): scripts/install-tools.sh"
                .to_owned(),
        ));
    }
    let mut build = nightly();
    build.args(["fuzz", "build", "--fuzz-dir", DIR, "--target-dir"]).arg(&target_dir);
    // Without link-time optimization the build is much faster and the targets hardly slower.
    build.envs([
        ("CARGO_PROFILE_RELEASE_LTO", "off"),
        ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ]);
    build.env("CARGO_PROFILE_RELEASE_PANIC", "unwind");
    host.show(&mut build)?;
    let built = target_dir.join(triple(host)?).join("release");
    // As many targets at once as there are cores: each target is one thread.
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let mut found = vec![];
    for names in targets(&host.root)?.chunks(cores) {
        std::thread::scope(|scope| {
            let (dir, built) = (&target_dir, &built);
            let one = |name| move || fuzz(host, dir, &built.join(name), name, seconds);
            let runs: Vec<_> = names.iter().map(|name| scope.spawn(one(name))).collect();
            for (name, run) in names.iter().zip(runs) {
                match run.join().expect("a run does not panic") {
                    Ok(executions) => {
                        println!("{name}: {executions} executions in {seconds} s, nothing found");
                    }
                    Err(error) => found.push(format!("{error:#}")),
                }
            }
        });
    }
    if !found.is_empty() {
        bail!("{}", found.join("\n"));
    }
    Ok(Outcome::Passed)
}

fn target_dir(host: &Host) -> Result<PathBuf> {
    Ok(host.target_dir()?.join("fuzz"))
}

/// Runs one target and returns its number of executions. Its corpus stays in the target directory and improves the next
/// run.
fn fuzz(host: &Host, dir: &Path, binary: &Path, name: &str, seconds: u32) -> Result<u64> {
    let (corpus, artifacts) = (dir.join("corpus").join(name), dir.join("artifacts"));
    for dir in [&corpus, &artifacts] {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    let mut command = Command::new(binary);
    command.arg(&corpus).arg(format!("{DIR}/seeds/{name}")).args(BOUNDS);
    let phrases = host.root.join(format!("{DIR}/dictionaries/{name}.dict"));
    if phrases.exists() {
        let dictionary = dir.join(format!("{name}.dict"));
        let mut words = std::fs::read_to_string(&phrases)?;
        if name == "commands" {
            words.push_str(&grammar_words(&host.root)?);
        }
        std::fs::write(&dictionary, words)?;
        command.arg(format!("-dict={}", dictionary.display()));
    }
    command.arg(format!("-artifact_prefix={}/{name}-", artifacts.display()));
    command.args([&format!("-max_total_time={seconds}"), "-print_final_stats=1", "-verbosity=0"]);
    let output = command.current_dir(&host.root).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {}", binary.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        println!("{said}");
        bail!(
            "{name} found a broken property; the input is in {}: \
             cargo run -p scurry-fuzz --bin {name} FILE",
            artifacts.display()
        );
    }
    executions(&said).with_context(|| format!("{name} executed nothing: {said}"))
}

/// Returns the names and keywords of the command table as entries of a dictionary, each once.
fn grammar_words(root: &Path) -> Result<String> {
    let path = root.join("docs/commands.json");
    let table = std::fs::read_to_string(&path);
    let table = table.with_context(|| format!("cannot read {}", path.display()))?;
    let table: serde_json::Value = serde_json::from_str(&table)?;
    let commands = table["commands"].as_array().context("docs/commands.json has no commands")?;
    let mut words = std::collections::BTreeSet::new();
    for command in commands.iter().filter(|command| command["group"] == "scur") {
        let text = |member: &str| command[member].as_str().unwrap_or_default().to_owned();
        words.insert(text("name"));
        let grammar = text("grammar");
        let keywords = grammar.split(|c: char| !c.is_ascii_uppercase());
        words.extend(keywords.filter(|word| !word.is_empty()).map(str::to_owned));
    }
    ensure!(!words.is_empty(), "docs/commands.json has no command of the group scur");
    Ok(words.iter().map(|word| format!("\" {word} \"\n")).collect())
}

/// Returns the number of executions that libFuzzer reported; None when it is missing or 0.
fn executions(said: &str) -> Option<u64> {
    let line = said.lines().find_map(|line| line.strip_prefix(EXECUTIONS))?;
    line.trim().parse().ok().filter(|&executions| executions > 0)
}

/// Returns this machine's target triple, as cargo-fuzz passes it to cargo.
fn triple(host: &Host) -> Result<String> {
    let shown = host.output(Command::new("rustc").arg("-vV"))?;
    let triple = shown.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(triple.context("rustc names no host")?.to_owned())
}

/// Returns cargo of the nightly toolchain, without the variables that the running toolchain has set.
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

/// Returns the names of the targets, sorted.
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
    fn a_run_without_executions_is_noticed() {
        assert_eq!(executions("seed\nstat::number_of_executed_units: 12\n"), Some(12));
        for said in ["", "stat::number_of_executed_units: 0", "stat::number_of_executed_units:"] {
            assert_eq!(executions(said), None, "{said}");
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
