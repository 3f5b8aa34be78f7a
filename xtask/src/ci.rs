//! Runs the read-only gates. Their output goes only to cargo's target directory. Steps that only the long gate has are
//! recorded when they pass.

use crate::gates::{ALL, Gate, Step, TEST, all_steps, recorded};
use crate::host::Host;
use crate::record::{self, COMMITS_MAX, Record};
use crate::steps::{Outcome, Steps};
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Runs the long gate; or, with `--stale N`, only its recorded steps that have not passed within the last N commits.
pub(crate) fn run_all(host: &Host, words: &[String]) -> Result<()> {
    let (record, own) = (Record::load(&host.root)?, recorded());
    println!("{}", record.said(&own));
    let Some(commits_max) = stale(words)? else { return run(host, &ALL) };
    let mut names = Vec::new();
    for step in own {
        if record.age(host, step)?.is_over(commits_max) {
            names.push(step.to_owned());
        }
    }
    match names.is_empty() {
        true => println!("each of these steps has passed at most {commits_max} commits ago"),
        false => run_steps(host, choose(&names)?)?,
    }
    Ok(())
}

/// Parses `--stale` and its optional number of commits.
fn stale(words: &[String]) -> Result<Option<u64>> {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(None),
        ["--stale"] => Ok(Some(COMMITS_MAX)),
        ["--stale", number] => number.parse().map(Some).context("--stale wants a number"),
        _ => bail!("all takes --stale or --stale COMMITS"),
    }
}

/// Runs the named steps of all gates; without names the steps of `make test`.
pub(crate) fn run_named(host: &Host, names: &[String]) -> Result<()> {
    if names.iter().any(|name| name == "--list") {
        all_steps().iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    if names.is_empty() {
        return run(host, &TEST);
    }
    run_steps(host, choose(names)?)
}

fn run_steps(host: &Host, chosen: Vec<Step>) -> Result<()> {
    let mut steps = Steps::begin();
    for step in chosen {
        run_step(host, &mut steps, step)?;
    }
    steps.finish()
}

/// Runs a step. A pass is recorded if the step is recorded and the tree equals a commit.
fn run_step(host: &Host, steps: &mut Steps, (name, step): Step) -> Result<()> {
    let before = record::tested(host)?;
    let Some(cost) = steps.run(name, || step(host)) else { return Ok(()) };
    if !recorded().contains(&name) {
        return Ok(());
    }
    match before {
        // Record the pass only if the tree still equals that commit after the step.
        Some(commit) if record::tested(host)?.as_ref() == Some(&commit) => {
            record::write(host, name, commit, cost)?;
            println!("-- {name}: recorded in {}: commit it", record::FILE);
        }
        _ => println!("-- {name}: not recorded, for what was tested is no commit"),
    }
    Ok(())
}

/// Runs the steps of a gate.
pub(crate) fn run(host: &Host, gate: &Gate) -> Result<()> {
    // Only CI checks that the tree stays unchanged; elsewhere an editor may write to it meanwhile.
    let before = std::env::var_os("CI").map(|_| state_of_tree(host)).transpose()?;
    let mut steps = Steps::begin();
    let mut aside = None;
    for (name, step) in gate.steps.iter().filter(|(name, _)| !gate.aside.contains(name)) {
        // The other process starts with the tests that it runs beside.
        if *name == gate.beside {
            aside = Some(ParallelSteps::start(host, gate.aside)?);
        }
        // The RDMA step emulates a processor and must run alone, so wait for the other process first.
        if *name == "rdma"
            && let Some(aside) = aside.take()
        {
            steps.run("aside", || aside.end());
        }
        run_step(host, &mut steps, (name, *step))?;
    }
    if let Some(aside) = aside {
        steps.run("aside", || aside.end());
    }
    if let Some(before) = before {
        steps.run("tree-unchanged", || unchanged(&before, &state_of_tree(host)?));
    }
    steps.finish()
}

/// Steps that run in a second process beside the others, and its output.
struct ParallelSteps {
    child: Child,
    log: PathBuf,
}

impl ParallelSteps {
    fn start(host: &Host, names: &[&str]) -> Result<ParallelSteps> {
        let log = host.target_dir()?.join("xtask-aside.log");
        let file = File::create(&log).with_context(|| format!("create {}", log.display()))?;
        let program = std::env::current_exe().context("this program has no path")?;
        let child = Command::new(program)
            .arg("ci")
            .args(names)
            .current_dir(&host.root)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .context("cannot start the steps that run beside")?;
        println!("\nbeside what follows: {}, in {}", names.join(", "), log.display());
        Ok(ParallelSteps { child, log })
    }

    fn end(mut self) -> Result<Outcome> {
        let status = self.child.wait()?;
        println!("{}", std::fs::read_to_string(&self.log)?);
        ensure!(status.success(), "failed: see its summary above");
        Ok(Outcome::Passed)
    }
}

fn choose(names: &[String]) -> Result<Vec<Step>> {
    let all = all_steps();
    if let Some(name) = names.iter().find(|name| !all.iter().any(|step| step.0 == **name)) {
        bail!("no step `{name}`: see cargo xtask ci --list");
    }
    Ok(all.into_iter().filter(|step| names.iter().any(|name| name == step.0)).collect())
}

fn state_of_tree(host: &Host) -> Result<String> {
    let rest = ["--", ".", &record::but_the_record()];
    let status = host.git_output(&[&["status", "--porcelain"], &rest[..]].concat())?;
    let changes = host.git_output(&[&["diff", "--no-ext-diff"], &rest[..]].concat())?;
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
        let error = choose(&["tset".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`tset`"), "{error}");
    }

    #[test]
    fn what_is_stale_is_told_by_commits() {
        let read =
            |line: &str| stale(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(read("").unwrap(), None);
        assert_eq!(read("--stale").unwrap(), Some(COMMITS_MAX));
        assert_eq!(read("--stale 20").unwrap(), Some(20));
        for line in ["--stale soon", "--stale 1 2", "lab"] {
            assert!(read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_changed_tree_is_a_failure() {
        assert!(unchanged("", " M Cargo.lock\n").is_err());
        assert!(unchanged(" M notes\n", " M notes\n").is_ok());
    }
}
