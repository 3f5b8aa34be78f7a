//! `make site`: the pages that docs/SUMMARY.md lists and a page for each command, built by mdBook, with a search. The
//! site works from local files and loads nothing from the network.

mod check;
mod stage;

use crate::host::Host;
use crate::steps::Outcome;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// mdBook as scripts/install-tools.sh installs it from Python's registry.
const MDBOOK: &str = ".cache/mdbook/bin/mdbook";

/// Builds the site in target/site.
pub(crate) fn run(host: &Host) -> Result<()> {
    make(host).map(drop)
}

/// Builds the site, and checks it as a reader's browser would see it. Returns its directory.
pub(crate) fn make(host: &Host) -> Result<PathBuf> {
    let made = build(host)?;
    let site = check::Site::load(&made)?;
    let findings = site.findings();
    findings.iter().for_each(|finding| println!("{finding}"));
    if !findings.is_empty() {
        bail!("site: {} findings in {} pages", findings.len(), site.pages());
    }
    println!(
        "site: {} pages, {} kB: {}/index.html",
        site.pages(),
        site.kilobytes(),
        made.display()
    );
    Ok(made)
}

/// Runs it as a step of the gate.
pub(crate) fn step(host: &Host) -> Result<Outcome> {
    run(host)?;
    Ok(Outcome::Passed)
}

/// Builds the site from scratch and returns its directory.
fn build(host: &Host) -> Result<PathBuf> {
    let made = host.target_dir()?.join("site");
    let work = made.with_extension("work");
    for dir in [&made, &work] {
        if dir.exists() {
            std::fs::remove_dir_all(dir)
                .with_context(|| format!("cannot empty {}", dir.display()))?;
        }
    }
    stage::fill(&host.root, &work)?;
    stage::add_commands(
        &work,
        &crate::tidy::reference::write_pages(host, &work.join("src/docs"))?,
    )?;
    let mut mdbook = Command::new(program(&host.root)?);
    host.show(mdbook.env("MDBOOK_LOG", "warn").args(["build", "--dest-dir"]).args([&made, &work]))?;
    Ok(made)
}

/// Returns mdBook beside the tree, otherwise that of this machine.
fn program(root: &Path) -> Result<PathBuf> {
    let own = root.join(MDBOOK);
    if own.is_file() {
        return Ok(own);
    }
    let mut asked = Command::new("mdbook");
    asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().ok().filter(|status| status.success()).context(
        "mdbook is missing: run scripts/install-tools.sh site, or cargo install --locked mdbook",
    )?;
    Ok("mdbook".into())
}
