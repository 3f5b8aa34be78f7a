//! The project's own rules that a machine can check. Each check is a function from a tree of files to findings, so that
//! its tests can give it a tree that breaks the rule.

mod alerts;
mod architecture;
mod circles;
mod documents;
mod edges;
mod figures;
mod manifest;
mod modules;
mod mutants;
mod phrases;
mod purity;
mod readme;
pub(crate) mod reference;
mod rust;
mod source;
mod tree;
mod words;

use crate::host::Host;
use crate::record::{self, Record};
use anyhow::{Result, bail};
use std::fmt;
use tree::Tree;

type Check = fn(&Tree) -> Vec<Finding>;

const CHECKS: &[Check] = &[
    alerts::runbooks,
    architecture::code_map,
    architecture::paths_exist,
    architecture::invariants,
    circles::circles,
    documents::changelog,
    documents::links,
    documents::results,
    documents::sizes,
    documents::summary,
    documents::trailing_whitespace,
    edges::between_crates,
    edges::external_crates,
    figures::figures,
    manifest::lab_settings,
    mutants::caught,
    phrases::phrases,
    purity::pure_crates,
    readme::front_door,
    rust::banned,
    rust::opening,
    rust::unsafe_code,
    rust::unsafe_places,
    words::type_names,
];

/// Breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    /// Line number from 1; 0 means the whole file.
    line: usize,
    what: String,
}

impl Finding {
    fn in_file(path: &str, what: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line: 0, what: what.into() }
    }

    fn at(path: &str, index: usize, what: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line: index + 1, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// Prints every finding; returns an error when there is one.
pub(crate) fn run(host: &Host, recorded: &[&'static str]) -> Result<()> {
    let tree = Tree::load(host)?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    for page in &reference::PAGES {
        match page.generate(host) {
            Ok(text) => findings.extend(page.compare(&tree, &text)),
            Err(error) => findings.push(Finding::in_file(page.path, format!("{error:#}"))),
        }
    }
    match warnings(host, recorded) {
        Ok(warnings) => warnings.iter().for_each(|warning| println!("warning: {warning}")),
        Err(error) => findings.push(Finding::in_file(record::FILE, format!("{error:#}"))),
    }
    findings.sort();
    findings.iter().for_each(|finding| println!("{finding}"));
    if !findings.is_empty() {
        bail!("tidy: {} findings in {} files", findings.len(), tree.len());
    }
    println!("tidy: {} files, {} checks, no findings", tree.len(), CHECKS.len() + 1);
    Ok(())
}

/// Returns warnings about the steps of the long gate that are due.
fn warnings(host: &Host, recorded: &[&'static str]) -> Result<Vec<String>> {
    let record = Record::load(&host.root)?;
    let age = |step: &'static str| Ok((step, record.age(host, step)?));
    let ages = recorded.iter().copied().map(age).collect::<Result<Vec<_>>>()?;
    Ok(record::warnings(&ages))
}
