//! The reference page is the command table in words: generated, compared, never edited by hand.

use super::Finding;
use super::tree::Tree;
use crate::host::Host;
use anyhow::{Context, Result};

/// The page in the repository.
pub(crate) const PAGE: &str = "docs/commands.md";

/// The page as the command table gives it.
pub(crate) fn generate(host: &Host) -> Result<String> {
    host.cargo_output(&["run", "-q", "--locked", "-p", "scurry-resp", "--example", "reference"])
        .context("cannot generate the page from the command table")
}

/// Where the page in the tree first differs from the generated one.
pub(crate) fn compare(tree: &Tree, generated: &str) -> Vec<Finding> {
    let Some(page) = tree.text(PAGE) else {
        return vec![Finding::in_file(PAGE, "is missing: cargo xtask fix writes it")];
    };
    if page == generated {
        return Vec::new();
    }
    let same = page.lines().zip(generated.lines()).take_while(|(a, b)| a == b).count();
    vec![Finding::at(PAGE, same, "differs from the command table: cargo xtask fix writes it anew")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found() {
        let tree = Tree::of(&[(PAGE, "# Commands\nGET\n")]);
        assert!(compare(&tree, "# Commands\nGET\n").is_empty());
        assert_eq!(compare(&tree, "# Commands\nSET\n")[0].line, 2);
        assert_eq!(compare(&tree, "# Commands\nGET\nSET\n")[0].line, 3);
        assert_eq!(compare(&tree, "# Commands\nGET")[0].line, 3);
    }

    #[test]
    fn a_missing_page_is_found() {
        assert_eq!(compare(&Tree::of(&[]), "").len(), 1);
    }
}
