//! Which crate may depend on which of our crates, and on which external ones. The lists of docs/adr/README.md are the
//! decisions; this file holds the few rules that no line there can override.

use super::Finding;
use super::architecture::quoted;
use super::manifest::{Manifest, read_all};
use super::tree::Tree;

const DECISIONS: &str = "docs/adr/";

/// Heading of the decisions on crates that only tests, the lab and xtask may use.
const OUTSIDE: &str = "Outside the product";

/// Finds dependencies between our crates that no decision allows.
pub(crate) fn between_crates(tree: &Tree) -> Vec<Finding> {
    let all = read_all(tree);
    let lines = decision_lines(tree);
    let mut findings = Vec::new();
    for from in all.iter().filter(|from| from.in_product()) {
        for dependency in &from.dependencies {
            let Some(to) = all.iter().find(|to| to.name == dependency.package) else { continue };
            if let Some(why) = forbidden(from, to) {
                let what = format!("depends on `{}`: {why}", to.name);
                findings.push(Finding::in_file(&from.path(), what));
            } else if !dependency.dev
                && !lines.iter().any(|line| line.decides(&from.name, &to.name))
            {
                let what = format!("a new edge to `{}`: give it a line in {DECISIONS}", to.name);
                findings.push(Finding::in_file(&from.path(), what));
            }
        }
    }
    findings
}

/// Finds external crates that no decision allows.
pub(crate) fn external_crates(tree: &Tree) -> Vec<Finding> {
    let all = read_all(tree);
    let lines = decision_lines(tree);
    let mut findings = Vec::new();
    for from in &all {
        for dependency in &from.dependencies {
            let name = &dependency.package;
            if all.iter().any(|to| to.name == *name) {
                continue;
            }
            let mut named = lines.iter().filter(|line| line.names(name)).peekable();
            let what = if named.peek().is_none() {
                format!("a new external crate `{name}`: give it a line in {DECISIONS}")
            } else if from.in_product() && !dependency.dev && named.all(|line| line.outside) {
                format!("`{name}` was admitted outside the product only")
            } else {
                continue;
            };
            findings.push(Finding::in_file(&from.path(), what));
        }
    }
    findings
}

fn forbidden(from: &Manifest, to: &Manifest) -> Option<&'static str> {
    if !to.in_product() {
        return Some("the product depends on none of testing, lab, xtask");
    }
    match (from.dir.as_str(), to.dir.as_str()) {
        ("crates/ledger", _) => Some("the ledger stands alone"),
        ("crates/codec", to) if to != "crates/ledger" => Some("the codec knows the ledger alone"),
        (from, to) if to.starts_with("transports/") && !from.starts_with("transports/") => {
            let why = "of the main road only the binary knows the transports beside TCP";
            (from.starts_with("crates/") && from != "crates/cli").then_some(why)
        }
        (from, to) if to.starts_with("doors/") && !from.starts_with("doors/") => {
            (from != "crates/cli").then_some("of the main road only the binary knows the doors")
        }
        (from, "doors/entities") => (from != "doors/http")
            .then_some("only the crate that puts the doors on one port knows entities"),
        ("crates/engine", "crates/resp" | "crates/server" | "crates/cli") => {
            Some("the engine knows no door")
        }
        _ => None,
    }
}

/// Line of a decision record.
struct EdgeLine<'a> {
    text: &'a str,
    outside: bool,
}

impl EdgeLine<'_> {
    fn names(&self, name: &str) -> bool {
        quoted(self.text).any(|word| word == name)
    }

    /// Reports whether the line names both, `from` first.
    fn decides(&self, from: &str, to: &str) -> bool {
        quoted(self.text).skip_while(|word| *word != from).any(|word| word == to)
    }
}

fn decision_lines(tree: &Tree) -> Vec<EdgeLine<'_>> {
    let mut lines = Vec::new();
    for (_, text) in tree.texts(".md").filter(|(path, _)| path.starts_with(DECISIONS)) {
        let mut outside = false;
        for text in text.lines() {
            if text.starts_with('#') {
                outside = text.trim_start_matches('#').trim() == OUTSIDE;
            }
            lines.push(EdgeLine { text, outside });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a workspace in which one crate has these dependencies.
    fn findings(dir: &str, section: &str) -> Vec<String> {
        let decisions = "| `scurry-codec` | `scurry-ledger` |\n| `scurry-engine` | `scurry-ledger` |\n\
            | `scurry-cli` | `scurry-verbs` |\n\
            ### In the product\n- `smallvec`: in place.\n\
            ### Outside the product\n- `hdrhistogram`: percentiles.\n";
        let manifest = format!("[package]\nname = \"scurry-{}\"\n{section}\n", last(dir));
        let mut files = vec![("docs/adr/README.md".to_owned(), decisions.to_owned())];
        for other in [
            "crates/ledger",
            "crates/codec",
            "crates/engine",
            "crates/resp",
            "crates/server",
            "crates/cli",
            "doors/entities",
            "doors/json",
            "transports/rdma/verbs",
            "testing/model",
            "lab",
        ] {
            let text = format!("[package]\nname = \"scurry-{}\"\n", last(other));
            files.push((
                format!("{other}/Cargo.toml"),
                if other == dir { manifest.clone() } else { text },
            ));
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let tree = Tree::from_files(&files);
        let found = between_crates(&tree).into_iter().chain(external_crates(&tree));
        found.map(|finding| finding.what).collect()
    }

    fn last(dir: &str) -> &str {
        dir.rsplit('/').next().unwrap_or(dir)
    }

    #[test]
    fn decided_edges_and_crates_pass() {
        assert!(
            findings("crates/codec", "[dependencies]\nscurry-ledger = {}\nsmallvec = \"1\"")
                .is_empty()
        );
        assert!(
            findings("crates/cli", "[dependencies]\nscurry-verbs = {}").is_empty()
                && findings("lab", "[dependencies]\nhdrhistogram = \"7\"\nscurry-resp = {}")
                    .is_empty()
        );
        assert!(findings("crates/engine", "[dev-dependencies]\nhdrhistogram = \"7\"").is_empty());
    }

    #[test]
    fn forbidden_edges_are_found_even_in_tests() {
        for (dir, section, why) in [
            ("crates/engine", "[dev-dependencies]\nscurry-model = {}", "testing"),
            ("crates/engine", "[dependencies]\nscurry-lab = {}", "lab"),
            ("crates/ledger", "[dependencies]\nscurry-codec = {}", "stands alone"),
            ("crates/codec", "[dependencies]\nscurry-resp = {}", "the ledger alone"),
            ("crates/engine", "[dependencies]\nscurry-resp = {}", "no door"),
            ("crates/server", "[dependencies]\nscurry-verbs = {}", "only the binary"),
            ("crates/server", "[dev-dependencies]\nscurry-json = {}", "knows the doors"),
            ("doors/json", "[dependencies]\nscurry-entities = {}", "knows entities"),
        ] {
            let found = findings(dir, section);
            assert_eq!(found.len(), 1, "{dir} {section} {found:?}");
            assert!(found[0].contains(why), "{found:?}");
        }
    }

    #[test]
    fn undecided_edges_and_crates_are_found() {
        for (dir, section) in [
            ("crates/engine", "[dependencies]\nscurry-codec = {}"),
            ("crates/engine", "[dependencies]\nhdrhistogram = \"7\""),
            ("crates/engine", "[dependencies]\nserde = \"1\""),
            ("crates/engine", "[dev-dependencies]\nserde = \"1\""),
            ("lab", "[dependencies]\nserde = \"1\""),
        ] {
            assert_eq!(findings(dir, section).len(), 1, "{dir} {section}");
        }
    }
}
