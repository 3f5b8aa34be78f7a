//! Checks that ARCHITECTURE.md and the tree agree, in both directions.

use super::Finding;
use super::tree::Tree;
use crate::markdown::prose;

const PAGE: &str = "ARCHITECTURE.md";
const MAP: &str = "## Code map";
const INVARIANTS: usize = 19;

/// Finds crates that the code map does not list.
pub(crate) fn code_map(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(PAGE).unwrap_or_default();
    let map: Vec<&str> = prose(text)
        .map(|(_, line)| line)
        .skip_while(|line| line.trim_end() != MAP)
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .collect();
    tree.crate_dirs()
        .filter(|dir| !map.iter().any(|line| quoted(line).any(|name| name == *dir)))
        .map(|dir| Finding::in_file(PAGE, format!("`{dir}` is not in the code map")))
        .collect()
}

/// Finds paths on the page that do not exist.
pub(crate) fn paths_exist(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(PAGE) else {
        return vec![Finding::in_file(PAGE, "is missing")];
    };
    let mut findings = Vec::new();
    for (index, line) in prose(text) {
        for name in quoted(line).filter(|name| is_path(name) && !tree.has(name)) {
            findings.push(Finding::at(PAGE, index, format!("`{name}` does not exist")));
        }
    }
    findings
}

/// Checks that every invariant has exactly one row in a table.
pub(crate) fn invariants(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(PAGE).unwrap_or_default();
    let rows = |id: &str| {
        let first = |line: &str| Some(line.strip_prefix('|')?.split('|').next()?.trim() == id);
        prose(text).filter(|(_, line)| first(line) == Some(true)).count()
    };
    (1..=INVARIANTS)
        .map(|number| format!("I{number}"))
        .filter_map(|id| match rows(&id) {
            1 => None,
            0 => Some(Finding::in_file(PAGE, format!("{id} has no row"))),
            n => Some(Finding::in_file(PAGE, format!("{id} has {n} rows"))),
        })
        .collect()
}

/// Returns the texts between backticks.
pub(crate) fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Reports whether a name must be a path of this repository.
fn is_path(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    let file = [".md", ".rs", ".toml", ".sh"].iter().any(|end| name.ends_with(end));
    plain && !name.starts_with('/') && (name.contains('/') || file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_crate_outside_the_map_is_found() {
        let text = "# A\n`lab` runs.\n## Code map\n- `crates/a`: it.\n## After\n`crates/b`";
        let tree = Tree::from_files(&[
            (PAGE, text),
            ("crates/a/Cargo.toml", ""),
            ("crates/b/Cargo.toml", ""),
            ("lab/Cargo.toml", ""),
        ]);
        assert_eq!(
            found(code_map(&tree)),
            ["`crates/b` is not in the code map", "`lab` is not in the code map"]
        );
    }

    #[test]
    fn a_path_that_is_gone_is_found() {
        let text = "`crates/a`, `crates/b/src/x.rs`, `decide(a/b)`, `a -> b`, `x.toml`, `docs/`";
        let tree =
            Tree::from_files(&[(PAGE, text), ("crates/a/Cargo.toml", ""), ("docs/y.md", "")]);
        assert_eq!(
            found(paths_exist(&tree)),
            ["`crates/b/src/x.rs` does not exist", "`x.toml` does not exist"]
        );
        assert_eq!(found(paths_exist(&Tree::from_files(&[]))), ["is missing"]);
    }

    #[test]
    fn an_invariant_without_a_row_or_with_two_is_found() {
        let row = |n: usize| format!("| I{n} | words | place |\n");
        let all: String = (1..=19).map(row).collect();
        assert!(invariants(&Tree::from_files(&[(PAGE, &all)])).is_empty());
        let some: String = (1..=18).chain([3]).map(row).collect();
        assert_eq!(
            found(invariants(&Tree::from_files(&[(PAGE, &some)]))),
            ["I3 has 2 rows", "I19 has no row"]
        );
    }
}
