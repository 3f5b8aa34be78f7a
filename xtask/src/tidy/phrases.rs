//! Checks that comments and documents use the words of the field: a short list of phrases that say less than the plain
//! word does.

use super::Finding;
use super::tree::Tree;
use crate::markdown::prose;

/// Phrases, each with what to write instead.
const PHRASES: [(&str, &str); 10] = [
    ("anew", "again, or the verb: resets, rebuilds"),
    ("whoever", "the client, the caller, the operator"),
    ("nobody", "no client, no node, no thread"),
    ("somebody", "a client, a node, a thread"),
    ("has come", "arrives, is received"),
    ("have come", "arrive, are received"),
    ("had come", "arrived, was received"),
    ("what comes", "the next request, the following bytes"),
    ("by the way", "say when or why"),
    ("of no bound", "unlimited"),
];

/// Finds these phrases in comments of Rust files and in the prose of documents.
pub(crate) fn phrases(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.sources() {
        let lines = source.comments.iter().enumerate();
        findings.extend(lines.flat_map(|(index, line)| of_line(path, index, line)));
    }
    for (path, text) in tree.texts(".md") {
        findings.extend(prose(text).flat_map(|(index, line)| of_line(path, index, line)));
    }
    findings
}

/// Finds the phrases of one line, without what stands between backquotes.
fn of_line(path: &str, index: usize, line: &str) -> Vec<Finding> {
    let text: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`").to_lowercase();
    let text = format!(" {} ", text.replace(|c: char| !c.is_alphanumeric(), " "));
    let found = PHRASES.iter().filter(|(phrase, _)| text.contains(&format!(" {phrase} ")));
    found
        .map(|(phrase, plain)| Finding::at(path, index, format!("says `{phrase}`: {plain}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_in_comments_and_prose_and_not_in_code() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "//! Read anew,\n/// by `nobody`.\nlet nobody = \"anew\"; // Whoever asks",
            ),
            ("docs/a.md", "What comes, has\ncome.\n```\nanew\n```\nNobody."),
        ];
        let found: Vec<String> =
            phrases(&Tree::from_files(&files)).iter().map(ToString::to_string).collect();
        let starts: Vec<&str> =
            found.iter().map(|line| line.split_once("`: ").expect("a cure").0).collect();
        assert_eq!(
            starts,
            [
                "crates/a/src/lib.rs:1: says `anew",
                "crates/a/src/lib.rs:3: says `whoever",
                "docs/a.md:1: says `what comes",
                "docs/a.md:6: says `nobody",
            ]
        );
    }
}
