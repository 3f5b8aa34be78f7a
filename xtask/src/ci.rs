//! Running the read-only gates. What they build goes to cargo's target directory and nowhere else; the long one
//! writes down that it has passed.

use crate::gates::{ALL, Gate, Step, TEST, all_steps};
use crate::host::Host;
use crate::record::Record;
use crate::steps::{Cost, Outcome, Steps};
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Runs the steps of a gate.
pub(crate) fn run(host: &Host, gate: &Gate) -> Result<()> {
    passed(host, gate).map(drop)
}

/// Runs the long gate, and writes down that this commit has passed it.
pub(crate) fn run_all(host: &Host) -> Result<()> {
    println!("{}", Record::said(Record::load(&host.root)?.as_ref()));
    let cost = passed(host, &ALL)?;
    println!("passed in {} minutes", cost.clock.as_secs().div_ceil(60));
    match host.git_output(&["status", "--porcelain"])?.trim() {
        "" => Record::of_now(host, cost)?.write(&host.root),
        changes => {
            println!("not recorded: what was tested is no commit:\n{changes}");
            Ok(())
        }
    }
}

/// Runs the named steps of all gates, or those of `make test` when none is named.
pub(crate) fn run_named(host: &Host, names: &[String]) -> Result<()> {
    if names.iter().any(|name| name == "--list") {
        all_steps().iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    if names.is_empty() {
        return run(host, &TEST);
    }
    let mut steps = Steps::begin();
    for (name, step) in choose(names)? {
        steps.run(name, || step(host));
    }
    steps.finish().map(drop)
}

fn passed(host: &Host, gate: &Gate) -> Result<Cost> {
    // Elsewhere an editor may be at work meanwhile.
    let before = std::env::var_os("CI").map(|_| state_of_tree(host)).transpose()?;
    let mut steps = Steps::begin();
    let mut aside = None;
    for (name, step) in gate.steps.iter().filter(|(name, _)| !gate.aside.contains(name)) {
        if *name == gate.beside {
            aside = Some(Aside::start(host, gate.aside)?);
        }
        if *name == "rdma"
            && let Some(aside) = aside.take()
        {
            steps.run("aside", || aside.end());
        }
        steps.run(name, || step(host));
    }
    if let Some(aside) = aside {
        steps.run("aside", || aside.end());
    }
    if let Some(before) = before {
        steps.run("tree-unchanged", || unchanged(&before, &state_of_tree(host)?));
    }
    steps.finish()
}

/// The steps that run beside the others, and what they print.
struct Aside {
    child: Child,
    log: PathBuf,
}

impl Aside {
    fn start(host: &Host, names: &[&str]) -> Result<Aside> {
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
    let all = all_steps();
    if let Some(name) = names.iter().find(|name| !all.iter().any(|step| step.0 == **name)) {
        bail!("no step `{name}`: see cargo xtask ci --list");
    }
    Ok(all.into_iter().filter(|step| names.iter().any(|name| name == step.0)).collect())
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
        let error = choose(&["tset".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`tset`"), "{error}");
    }

    #[test]
    fn a_changed_tree_is_a_failure() {
        assert!(unchanged("", " M Cargo.lock\n").is_err());
        assert!(unchanged(" M notes\n", " M notes\n").is_ok());
    }
}
