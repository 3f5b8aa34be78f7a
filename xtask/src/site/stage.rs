//! The input of mdBook: the listed pages and the files that they link to, at the same paths as in the repository, so
//! that links need no change. One thing differs: a README becomes the index of its directory.

use crate::markdown::{is_elsewhere, prose, resolve, targets};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;

const SUMMARY: &str = "docs/SUMMARY.md";
const SETTINGS: &str = "docs/book.toml";

/// Fills a directory from the repository.
pub(crate) fn fill(root: &Path, work: &Path) -> Result<()> {
    let read = |path: &str| {
        std::fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
    };
    let src = work.join("src");
    write(&work.join("book.toml"), read(SETTINGS)?.as_bytes())?;
    let summary = read(SUMMARY)?;
    write(&src.join("SUMMARY.md"), from_root(&summary).as_bytes())?;
    let mut linked = BTreeSet::new();
    for page in files(SUMMARY, &summary) {
        let text = read(&page)?;
        linked.extend(files(&page, &text).filter(|path| !path.ends_with(".md")));
        write(&src.join(indexed(&page)), with_indexes(&text).as_bytes())?;
    }
    for path in linked.iter().filter(|path| root.join(path).is_file()) {
        write(&src.join(path), &std::fs::read(root.join(path))?)?;
    }
    Ok(())
}

/// Adds the pages of commands below the page that names all of them; `pages` has a line `FILE TITLE` for each.
pub(crate) fn add_commands(work: &Path, pages: &str) -> Result<()> {
    let path = work.join("src/SUMMARY.md");
    let summary = std::fs::read_to_string(&path).context("cannot read the summary")?;
    write(&path, with_commands(&summary, pages)?.as_bytes())
}

fn with_commands(summary: &str, pages: &str) -> Result<String> {
    const INDEX: &str = "- [Commands](docs/commands.md)\n";
    let (before, after) = summary.split_once(INDEX).context("the summary lists no commands")?;
    let pages = pages.lines().filter_map(|line| line.split_once(' '));
    let lines = pages.map(|(file, title)| format!("  - [{title}](docs/commands/{file})\n"));
    Ok(format!("{before}{INDEX}{}{after}", lines.collect::<String>()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    std::fs::create_dir_all(path.parent().with_context(cannot)?).with_context(cannot)?;
    std::fs::write(path, bytes).with_context(cannot)
}

/// Returns the files of the repository that a page links to.
fn files<'a>(page: &'a str, text: &'a str) -> impl Iterator<Item = String> + 'a {
    let targets = prose(text).flat_map(|(_, line)| targets(line));
    targets
        .filter(|target| !is_elsewhere(target) && !target.starts_with('#'))
        .filter_map(move |target| Some(resolve(page, target)?.0))
}

/// Returns the summary with links relative to the root of the repository.
fn from_root(summary: &str) -> String {
    relinked(summary, |target| {
        resolve(SUMMARY, target).map_or(target.to_owned(), |(path, _)| indexed(&path))
    })
}

/// Redirects links to READMEs to the index pages that replace them.
fn with_indexes(text: &str) -> String {
    relinked(text, |target| match (is_elsewhere(target), target.split_once('#')) {
        (true, _) => target.to_owned(),
        (_, Some((path, anchor))) => format!("{}#{anchor}", indexed(path)),
        (_, None) => indexed(target),
    })
}

/// Replaces the link targets in the prose of a text.
fn relinked(text: &str, change: impl Fn(&str) -> String) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (index, line) in prose(text) {
        for target in targets(line) {
            let changed = change(target);
            lines[index] = lines[index].replace(&format!("]({target}"), &format!("]({changed}"));
        }
    }
    lines.join("\n") + "\n"
}

fn indexed(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(dir) if dir.is_empty() || dir.ends_with('/') => format!("{dir}index.md"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_moves_to_the_root() {
        let summary = "[All](../README.md)\n- [A](a.md)\n  - [B](adr/README.md)\n";
        let moved = "[All](index.md)\n- [A](docs/a.md)\n  - [B](docs/adr/index.md)\n";
        assert_eq!(from_root(summary), moved);
    }

    #[test]
    fn commands_are_listed_below_their_index() {
        let summary = "- [Commands](docs/commands.md)\n- [Events](docs/events.md)\n";
        let wanted = "- [Commands](docs/commands.md)\n  - [A B](docs/commands/a.md)\n\
            - [Events](docs/events.md)\n";
        assert_eq!(with_commands(summary, "a.md A B\n").unwrap(), wanted);
        assert!(with_commands("- [Events](docs/events.md)\n", "a.md A\n").is_err());
    }

    #[test]
    fn links_to_readmes_lead_to_indexes() {
        let page = "[a](../README.md#run), [b](README.md), [c](https://x.org/README.md)\n\
            ```\n[d](README.md)\n```\n[e](MYREADME.md)\n";
        let changed = "[a](../index.md#run), [b](index.md), [c](https://x.org/README.md)\n\
            ```\n[d](README.md)\n```\n[e](MYREADME.md)\n";
        assert_eq!(with_indexes(page), changed);
    }

    #[test]
    fn files_are_named_from_the_root() {
        let text = "[a](results/x.json) [b](#part) [c](https://x.org) ![d](../LICENSE)";
        let found: Vec<String> = files("docs/a.md", text).collect();
        assert_eq!(found, ["docs/results/x.json", "LICENSE"]);
    }
}
