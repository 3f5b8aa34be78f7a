//! Rules for documents: required files exist, links lead somewhere, no debris.

use super::Finding;
use super::tree::Tree;
use crate::markdown::{anchors, is_elsewhere, prose, resolve, targets};

const FILE_LEN_MAX: usize = 1 << 20;

/// Endings of files that people edit.
const TEXT: &[&str] = &[
    ".rs", ".md", ".toml", ".sh", ".py", ".lua", ".java", ".c", ".h", ".json", ".html", ".scn",
    "Makefile", "/run",
];

/// Checks that the changelog exists and names a release.
pub(crate) fn changelog(tree: &Tree) -> Vec<Finding> {
    match tree.text("CHANGELOG.md") {
        Some(text) if text.lines().any(|line| line.starts_with("## ")) => Vec::new(),
        Some(_) => vec![Finding::in_file("CHANGELOG.md", "names no release")],
        None => vec![Finding::in_file("CHANGELOG.md", "is missing")],
    }
}

/// Finds files that are too large, because git keeps every byte forever.
pub(crate) fn sizes(tree: &Tree) -> Vec<Finding> {
    tree.sizes()
        .filter(|(_, len)| *len > FILE_LEN_MAX)
        .map(|(path, len)| {
            Finding::in_file(path, format!("has {len} bytes: at most {FILE_LEN_MAX} go into git"))
        })
        .collect()
}

/// Finds trailing whitespace, which makes noise in diffs.
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

/// Finds relative links to a file that is not in git, or to a heading that does not exist.
pub(crate) fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts(".md") {
        for (index, line) in prose(text) {
            for target in targets(line) {
                if let Some(why) = link_fault(tree, path, target) {
                    findings.push(Finding::at(path, index, format!("links to `{target}`: {why}")));
                }
            }
        }
    }
    findings
}

/// Finds raw results that no document quotes.
pub(crate) fn results(tree: &Tree) -> Vec<Finding> {
    let kept = tree.sizes().map(|(path, _)| path);
    kept.filter_map(|path| Some((path, path.strip_prefix("docs/")?)))
        .filter(|(_, name)| name.starts_with("results/"))
        .filter(|(_, name)| !tree.texts(".md").any(|(_, text)| text.contains(name)))
        .map(|(path, _)| Finding::in_file(path, "no document names it: quote it or delete it"))
        .collect()
}

/// Finds pages of docs that are missing from the site's summary.
pub(crate) fn summary(tree: &Tree) -> Vec<Finding> {
    const SUMMARY: &str = "docs/SUMMARY.md";
    let Some(text) = tree.text(SUMMARY) else {
        return vec![Finding::in_file(SUMMARY, "is missing: the site is made from it")];
    };
    let lines = prose(text).flat_map(|(index, line)| targets(line).map(move |to| (index, to)));
    let mut findings = Vec::new();
    let mut listed = Vec::new();
    for (index, target) in lines {
        match resolve(SUMMARY, target) {
            Some((page, None)) if page.ends_with(".md") && !listed.contains(&page) => {
                listed.push(page)
            }
            _ => findings.push(Finding::at(SUMMARY, index, format!("`{target}` is no new page"))),
        }
    }
    let pages = tree.texts(".md").map(|(path, _)| path).filter(|path| path.starts_with("docs/"));
    let left = pages.filter(|page| *page != SUMMARY && !listed.iter().any(|known| known == page));
    findings.extend(left.map(|page| Finding::in_file(page, format!("{SUMMARY} does not list it"))));
    findings
}

/// Returns the fault of a link, if any; an anchor must be a heading of the page.
fn link_fault(tree: &Tree, from: &str, target: &str) -> Option<&'static str> {
    if is_elsewhere(target) {
        return None;
    }
    let Some((path, anchor)) = resolve(from, target).filter(|(path, _)| tree.has(path)) else {
        return Some("no such file");
    };
    let anchor = anchor?;
    let text = tree.text(&path).filter(|_| path.ends_with(".md"))?;
    let has_it = anchors(text).iter().any(|known| known == anchor);
    (!has_it).then_some("no such heading")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changelog_must_be_there() {
        assert_eq!(changelog(&Tree::from_files(&[])).len(), 1);
        assert_eq!(changelog(&Tree::from_files(&[("CHANGELOG.md", "# Changes\n")])).len(), 1);
        assert!(changelog(&Tree::from_files(&[("CHANGELOG.md", "## Unreleased\n")])).is_empty());
    }

    #[test]
    fn a_file_above_the_bound_is_found() {
        let large = "x".repeat(FILE_LEN_MAX + 1);
        let tree = Tree::from_files(&[("a.bin", &large), ("b.bin", &large[1..])]);
        let found = sizes(&tree);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "a.bin");
    }

    #[test]
    fn whitespace_at_the_end_is_found() {
        let tree =
            Tree::from_files(&[("a.md", "one \ntwo\n\tthree\t\nfour\r\n"), ("a.golden", "one \n")]);
        let lines: Vec<usize> = trailing_whitespace(&tree).iter().map(|f| f.line).collect();
        assert_eq!(lines, [1, 3, 4]);
    }

    #[test]
    fn results_that_no_document_names_are_found() {
        let tree = Tree::from_files(&[
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
            [h](../docs/ \"title\") [i](b.md#other) [j](x.sh#1)\n# Here";
        let other = "## Part\n";
        let tree = Tree::from_files(&[
            ("docs/a.md", text),
            ("docs/b.md", ""),
            ("docs/x.sh", ""),
            ("x.md", other),
        ]);
        let found: Vec<String> = links(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/a.md:2: links to `c.md`: no such file",
                "docs/a.md:2: links to `../../x.md`: no such file",
                "docs/a.md:6: links to `b.md#other`: no such heading"
            ]
        );
    }

    #[test]
    fn pages_that_the_site_does_not_list_are_found() {
        let summary = "# Summary\n[All](../README.md)\n- [A](a.md)\n  - [B](adr/b.md)\n- [A](a.md)\n\
            - [C](a.md#part)\n";
        let tree = Tree::from_files(&[
            ("docs/SUMMARY.md", summary),
            ("README.md", ""),
            ("docs/a.md", ""),
            ("docs/adr/b.md", ""),
            ("docs/c.md", ""),
            ("testing/d.md", ""),
        ]);
        let found: Vec<String> = super::summary(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/SUMMARY.md:5: `a.md` is no new page",
                "docs/SUMMARY.md:6: `a.md#part` is no new page",
                "docs/c.md: docs/SUMMARY.md does not list it"
            ]
        );
        assert_eq!(super::summary(&Tree::from_files(&[])).len(), 1);
    }
}
