//! Pages that are generated, compared, and never edited by hand: the reference of commands from the command table, as text
//! and as JSON; the conformance of the Diameter door from the tables of its tests.

use super::Finding;
use super::tree::Tree;
use crate::host::Host;
use anyhow::{Context, Result};
use std::path::Path;

/// File that is generated.
pub(crate) struct Page {
    /// Path in the repository.
    pub(crate) path: &'static str,
    /// Package that has the example.
    package: &'static str,
    /// Example that prints it.
    example: &'static str,
    /// What it is generated from.
    source: &'static str,
}

const COMMANDS: &str = "the command table";

/// Pages for people, and a table for programs.
pub(crate) const PAGES: [Page; 3] = [
    Page {
        path: "docs/commands.md",
        package: "scurry-resp",
        example: "reference",
        source: COMMANDS,
    },
    Page { path: "docs/commands.json", package: "scurry-resp", example: "table", source: COMMANDS },
    Page {
        path: "docs/diameter-conformance.md",
        package: "scurry-diameter",
        example: "conformance",
        source: "testing/diameter",
    },
];

/// Writes the pages that only the site has into `docs`. Returns a line `FILE TITLE` for each command's page.
pub(crate) fn write_pages(host: &Host, docs: &Path) -> Result<String> {
    let print = ["run", "-q", "--locked", "-p", "scurry-resp", "--example", "reference", "--"];
    let docs = docs.to_str().context("the directory of the site is no UTF-8")?;
    host.cargo_output(&[&print[..], &[docs]].concat()).context("cannot write the pages of commands")
}

impl Page {
    /// Generates the page from its source.
    pub(crate) fn generate(&self, host: &Host) -> Result<String> {
        let print = ["run", "-q", "--locked", "-p", self.package, "--example", self.example];
        host.cargo_output(&print)
            .with_context(|| format!("cannot generate {} from {}", self.path, self.source))
    }

    /// Finds the first difference between the page in the tree and the generated one.
    pub(crate) fn compare(&self, tree: &Tree, generated: &str) -> Vec<Finding> {
        let Some(page) = tree.text(self.path) else {
            return vec![Finding::in_file(self.path, "is missing: cargo xtask fix writes it")];
        };
        if page == generated {
            return Vec::new();
        }
        let same = page.lines().zip(generated.lines()).take_while(|(a, b)| a == b).count();
        let differs = format!("differs from {}: cargo xtask fix writes it", self.source);
        vec![Finding::at(self.path, same, differs)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &Page = &PAGES[0];

    #[test]
    fn the_first_difference_is_found() {
        let tree = Tree::from_files(&[(PAGE.path, "# Commands\nGET\n")]);
        assert!(PAGE.compare(&tree, "# Commands\nGET\n").is_empty());
        assert_eq!(PAGE.compare(&tree, "# Commands\nSET\n")[0].line, 2);
        assert_eq!(PAGE.compare(&tree, "# Commands\nGET\nSET\n")[0].line, 3);
        assert_eq!(PAGE.compare(&tree, "# Commands\nGET")[0].line, 3);
    }

    #[test]
    fn a_missing_page_is_found() {
        assert_eq!(PAGE.compare(&Tree::from_files(&[]), "").len(), 1);
    }
}
