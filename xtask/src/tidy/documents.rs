//! Rules for what people read: files that must be there, links that lead somewhere, no debris.

use super::Finding;
use super::tree::Tree;

const FILE_LEN_MAX: usize = 1 << 20;

/// Endings of files that people edit.
const TEXT: &[&str] = &[
    ".rs", ".md", ".toml", ".sh", ".py", ".lua", ".java", ".c", ".h", ".json", ".html", ".scn",
    "Makefile", "/run",
];

/// A page says what users see.
pub(crate) fn changelog(tree: &Tree) -> Vec<Finding> {
    match tree.text("CHANGELOG.md") {
        Some(text) if text.lines().any(|line| line.starts_with("## ")) => Vec::new(),
        Some(_) => vec![Finding::in_file("CHANGELOG.md", "names no release")],
        None => vec![Finding::in_file("CHANGELOG.md", "is missing")],
    }
}

/// Git keeps every byte for ever.
pub(crate) fn sizes(tree: &Tree) -> Vec<Finding> {
    tree.sizes()
        .filter(|(_, len)| *len > FILE_LEN_MAX)
        .map(|(path, len)| {
            Finding::in_file(path, format!("has {len} bytes: at most {FILE_LEN_MAX} go into git"))
        })
        .collect()
}

/// Trailing whitespace makes noise in diffs.
pub(crate) fn trailing_whitespace(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in
        tree.texts("").filter(|(path, _)| TEXT.iter().any(|end| path.ends_with(end)))
    {
        for (index, line) in text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                findings.push(Finding::at(path, index, "ends with whitespace"));
            }
        }
    }
    findings
}

/// Relative links lead to files that are in git.
pub(crate) fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts(".md") {
        for (index, line) in prose(text) {
            for target in targets(line) {
                if !leads_somewhere(tree, path, target) {
                    findings.push(Finding::at(
                        path,
                        index,
                        format!("links to `{target}`: no such file"),
                    ));
                }
            }
        }
    }
    findings
}

/// Raw results are kept where a document quotes them.
pub(crate) fn results(tree: &Tree) -> Vec<Finding> {
    let kept = tree.sizes().map(|(path, _)| path);
    kept.filter_map(|path| Some((path, path.strip_prefix("docs/")?)))
        .filter(|(_, name)| name.starts_with("results/"))
        .filter(|(_, name)| !tree.texts(".md").any(|(_, text)| text.contains(name)))
        .map(|(path, _)| Finding::in_file(path, "no document names it: quote it or delete it"))
        .collect()
}

/// The lines outside fenced code.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// The targets of `[text](target)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = &rest[..rest.find(')')?];
        target.split_whitespace().next()
    })
}

fn leads_somewhere(tree: &Tree, from: &str, target: &str) -> bool {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return true;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return false;
                }
            }
            name => parts.push(name),
        }
    }
    tree.has(&parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changelog_must_be_there() {
        assert_eq!(changelog(&Tree::of(&[])).len(), 1);
        assert_eq!(changelog(&Tree::of(&[("CHANGELOG.md", "# Changes\n")])).len(), 1);
        assert!(changelog(&Tree::of(&[("CHANGELOG.md", "## Unreleased\n")])).is_empty());
    }

    #[test]
    fn a_file_above_the_bound_is_found() {
        let large = "x".repeat(FILE_LEN_MAX + 1);
        let tree = Tree::of(&[("a.bin", &large), ("b.bin", &large[1..])]);
        let found = sizes(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "a.bin");
    }

    #[test]
    fn whitespace_at_the_end_is_found() {
        let tree = Tree::of(&[("a.md", "one \ntwo\n\tthree\t\nfour\r\n"), ("a.golden", "one \n")]);
        let lines: Vec<usize> = trailing_whitespace(&tree).iter().map(|f| f.line).collect();
        assert_eq!(lines, [1, 3, 4]);
    }

    #[test]
    fn results_that_no_document_names_are_found() {
        let tree = Tree::of(&[
            ("docs/a.md", "([x](results/x.json))"),
            ("docs/results/x.json", ""),
            ("docs/results/lab/x.json", ""),
            ("docs/other/x.json", ""),
        ]);
        let found: Vec<String> = results(&tree).into_iter().map(|f| f.path).collect();
        assert_eq!(found, ["docs/results/lab/x.json"]);
    }

    #[test]
    fn links_to_nowhere_are_found() {
        let text = "[a](b.md) [b](../x.md#part) [c](https://example.org/x) [d](#here)\n\
            [e](c.md), [f](../../x.md)\n\
            ```\n[g](gone.md)\n```\n\
            [h](../docs/ \"title\")";
        let tree = Tree::of(&[("docs/a.md", text), ("docs/b.md", ""), ("x.md", "")]);
        let found: Vec<String> = links(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/a.md:2: links to `c.md`: no such file",
                "docs/a.md:2: links to `../../x.md`: no such file"
            ]
        );
    }
}
