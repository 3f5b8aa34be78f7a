//! Checks a built site as a browser would see it: every link leads to an existing file and anchor, nothing is loaded
//! from other servers, and the search finds every page.

use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Page of mdBook for servers that find nothing: its links begin at the server's root.
const NOT_FOUND: &str = "404.html";

/// Files of a site by path.
pub(crate) struct Site {
    files: BTreeMap<String, Vec<u8>>,
}

impl Site {
    pub(crate) fn load(dir: &Path) -> Result<Site> {
        let mut files = BTreeMap::new();
        let mut left: Vec<PathBuf> = vec![dir.to_owned()];
        while let Some(next) = left.pop() {
            for entry in std::fs::read_dir(&next)? {
                let path = entry?.path();
                if path.is_dir() {
                    left.push(path);
                } else {
                    let name = path.strip_prefix(dir)?.to_string_lossy().into_owned();
                    files.insert(name, std::fs::read(path)?);
                }
            }
        }
        Ok(Site { files })
    }

    pub(crate) fn pages(&self) -> usize {
        self.texts(".html").filter(|(path, _)| is_page(path)).count()
    }

    pub(crate) fn kilobytes(&self) -> usize {
        self.files.values().map(Vec::len).sum::<usize>() / 1000
    }

    /// Returns all faults, one line each.
    pub(crate) fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        if self.pages() < 2 {
            findings.push("there are no pages".to_owned());
        }
        for (path, text) in self.texts(".html").filter(|(path, _)| is_page(path)) {
            for link in links(text) {
                if let Some(why) = self.link_fault(path, link) {
                    findings.push(format!("{path}: {}: {why}", link.to));
                }
            }
        }
        for (path, text) in self.texts(".css") {
            let urls = text.split("url(").skip(1).map(|rest| rest.trim_start_matches(['"', '\'']));
            if text.contains("@import") || urls.into_iter().any(is_foreign) {
                findings.push(format!("{path}: asks another server for something"));
            }
        }
        match self.search() {
            Ok(found) => findings.extend(self.unknown_to(&found)),
            Err(error) => findings.push(format!("the search: {error:#}")),
        }
        findings
    }

    fn texts(&self, suffix: &str) -> impl Iterator<Item = (&str, &str)> {
        let files = self.files.iter().filter(move |(path, _)| path.ends_with(suffix));
        files.filter_map(|(path, bytes)| Some((path.as_str(), std::str::from_utf8(bytes).ok()?)))
    }

    fn link_fault(&self, from: &str, link: Link<'_>) -> Option<&'static str> {
        if is_foreign(link.to) {
            return link.is_asked_for.then_some("is asked of another server");
        }
        if link.to.starts_with("mailto:") || link.to.starts_with("data:") {
            return None;
        }
        let (path, anchor) = crate::markdown::resolve(from, link.to)?;
        let Some(bytes) = self.files.get(&path) else {
            return Some("leads nowhere");
        };
        let anchor = anchor.filter(|anchor| !anchor.is_empty() && path.ends_with(".html"))?;
        let text = std::str::from_utf8(bytes).ok()?;
        (!text.contains(&format!("id=\"{anchor}\""))).then_some("leads to no place of the page")
    }

    /// Returns the pages that the search finds by the words of their titles.
    fn search(&self) -> Result<BTreeSet<String>> {
        let (_, text) = self
            .texts(".js")
            .find(|(path, _)| path.starts_with("searchindex"))
            .context("no index")?;
        let text = text.split_once("JSON.parse('").context("the index is no JSON")?.1;
        let text = text.rsplit_once("')").context("the index does not end")?.0;
        let text = text.replace("\\'", "'").replace("\\\\", "\\");
        let index: serde_json::Value = serde_json::from_str(&text).context("the index")?;
        let urls = index["doc_urls"].as_array().context("the index has no pages")?;
        let root = &index["index"]["index"]["body"]["root"];
        let at = WORD.chars().fold(root, |node, letter| &node[letter.to_string()]);
        let found = at["docs"].as_object().map_or(0, serde_json::Map::len);
        ensure!(found > 0, "`{WORD}` is found nowhere");
        let pages = urls.iter().filter_map(|url| url.as_str()?.split('#').next());
        Ok(pages.map(str::to_owned).collect())
    }

    /// Returns the pages that no search finds.
    fn unknown_to(&self, found: &BTreeSet<String>) -> Vec<String> {
        let pages = self.texts(".html").map(|(path, _)| path).filter(|path| is_page(path));
        // Raw results may be HTML pages, and are not part of the search.
        let pages =
            pages.filter(|path| !found.contains(*path) && !path.starts_with("docs/results/"));
        pages.map(|path| format!("{path}: the search does not know it")).collect()
    }
}

/// Word of this project's pages that the stemmer leaves unchanged.
const WORD: &str = "refund";

fn is_page(path: &str) -> bool {
    ![NOT_FOUND, "toc.html"].contains(&path)
}

/// Reports whether a target is on another server.
fn is_foreign(to: &str) -> bool {
    ["http:", "https:", "//"].iter().any(|begin| to.starts_with(begin))
}

/// Target of an attribute of a page.
#[derive(Clone, Copy)]
struct Link<'a> {
    to: &'a str,
    /// True when a browser loads it to show the page, false for links that a reader follows.
    is_asked_for: bool,
}

/// Returns the links of a page. mdBook writes attributes with double quotes, and `<` in text as an entity.
fn links(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    for tag in text.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default()) {
        for attribute in [" href=\"", " src=\""] {
            let values = tag.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
            links.extend(values.map(|to| Link { to, is_asked_for: !tag.starts_with("a ") }));
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = "window.search = Object.assign(window.search, JSON.parse('{\"doc_urls\":\
        [\"index.html#a\",\"docs/b.html#it\\'s\"],\"index\":{\"index\":{\"body\":{\"root\":{\"r\":{\"e\":\
        {\"f\":{\"u\":{\"n\":{\"d\":{\"docs\":{\"1\":{}}}}}}}}}}}}}'));";

    fn findings(change: impl Fn(&mut BTreeMap<String, Vec<u8>>)) -> Vec<String> {
        let page = "<a href=\"../index.html#a\">x</a><a href=\"https://x.org/\">y</a><a href=\"c.json\">z</a>";
        let mut files = BTreeMap::from([
            ("index.html".to_owned(), b"<h1 id=\"a\"><a href=\"#a\">A</a></h1>".to_vec()),
            ("docs/b.html".to_owned(), page.into()),
            ("docs/c.json".to_owned(), Vec::new()),
            ("searchindex-1.js".to_owned(), INDEX.into()),
        ]);
        change(&mut files);
        Site { files }.findings()
    }

    #[test]
    fn a_site_that_is_whole_has_no_findings() {
        assert_eq!(findings(|_| {}), Vec::<String>::new());
    }

    #[test]
    fn what_leads_nowhere_is_found() {
        let found = findings(|files| drop(files.remove("docs/c.json")));
        assert_eq!(found, ["docs/b.html: c.json: leads nowhere"]);
        let found = findings(|files| drop(files.insert("index.html".into(), b"<h1>".to_vec())));
        assert_eq!(found, ["docs/b.html: ../index.html#a: leads to no place of the page"]);
    }

    #[test]
    fn what_is_asked_of_others_is_found() {
        for page in ["<script src=\"https://x.org/a.js\">", "<link rel=\"x\" href=\"//x.org/a\">"] {
            let found = findings(|files| drop(files.insert("index.html".into(), page.into())));
            assert!(
                found.iter().any(|line| line.ends_with("is asked of another server")),
                "{page}"
            );
        }
        let style = "a { b: url('https://x.org/c') }";
        let found = findings(|files| drop(files.insert("a.css".into(), style.into())));
        assert_eq!(found, ["a.css: asks another server for something"]);
    }

    #[test]
    fn a_search_that_finds_nothing_is_found() {
        let found = findings(|files| drop(files.remove("searchindex-1.js")));
        assert_eq!(found, ["the search: no index"]);
        let found = findings(|files| {
            files.insert("searchindex-1.js".into(), INDEX.replace("\"d\"", "\"x\"").into());
        });
        assert_eq!(found, ["the search: `refund` is found nowhere"]);
        let found = findings(|files| {
            files.insert("searchindex-1.js".into(), INDEX.replace("docs/b", "docs/a").into());
        });
        assert_eq!(found, ["docs/b.html: the search does not know it"]);
    }
}
