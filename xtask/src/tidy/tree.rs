//! The files of the repository in memory: tracked files, and new ones that git does not ignore.

use super::source::Source;
use crate::host::Host;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::io::ErrorKind;

/// File contents by path relative to the root, with `/`.
#[derive(Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, Vec<u8>>,
}

impl Tree {
    /// Reads every file that git does not ignore.
    pub(crate) fn load(host: &Host) -> Result<Tree> {
        let list = host.git_output(&[
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
        ])?;
        let mut files = BTreeMap::new();
        for path in list.split('\0').filter(|path| !path.is_empty()) {
            match std::fs::read(host.root.join(path)) {
                Ok(bytes) => drop(files.insert(path.to_owned(), bytes)),
                // The file was deleted, and the deletion is not committed yet.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
            }
        }
        Ok(Tree { files })
    }

    /// Creates a tree for tests.
    #[cfg(test)]
    pub(crate) fn from_files(files: &[(&str, &str)]) -> Tree {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), text.as_bytes().to_vec());
        Tree { files: files.iter().map(owned).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn sizes(&self) -> impl Iterator<Item = (&str, usize)> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.len()))
    }

    /// Returns the text of a file; None when it is missing or not text.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(self.files.get(path)?).ok()
    }

    /// Returns the text files with a path that ends with `suffix`.
    pub(crate) fn texts(&self, suffix: &str) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(suffix))
            .filter_map(|(path, bytes)| Some((path.as_str(), std::str::from_utf8(bytes).ok()?)))
    }

    /// Returns the Rust files, split into code and comments.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, Source)> {
        self.texts(".rs").map(|(path, text)| (path, Source::new(text)))
    }

    /// Reports whether a file exists, or a directory with a file in it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self
                .files
                .range(inside.clone()..)
                .next()
                .is_some_and(|(next, _)| next.starts_with(&inside))
    }

    /// Reports whether a path is within the product: the main road, the doors, and the transports beside TCP.
    pub(crate) fn in_product(path: &str) -> bool {
        ["crates/", "doors/", "transports/"].iter().any(|dir| path.starts_with(dir))
    }

    /// Returns the directories of the workspace's crates, such as `crates/ledger` and `lab`.
    pub(crate) fn crate_dirs(&self) -> impl Iterator<Item = &str> {
        self.files.keys().filter_map(|path| path.strip_suffix("/Cargo.toml")).filter(|dir| {
            let parts: Vec<&str> = dir.split('/').collect();
            matches!(
                parts[..],
                ["crates" | "doors" | "testing", _] | ["transports", _, _] | ["lab" | "xtask"]
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_exist_where_files_do() {
        let tree = Tree::from_files(&[("crates/ledger/Cargo.toml", ""), ("crates-old", "")]);
        assert!(tree.has("crates") && tree.has("crates/ledger/") && tree.has("crates-old"));
        assert!(!tree.has("crates/led") && !tree.has("crates/ledger/src"));
    }

    #[test]
    fn crates_are_found_by_their_manifest() {
        let tree = Tree::from_files(&[
            ("Cargo.toml", ""),
            ("crates/ledger/Cargo.toml", ""),
            ("crates/ledger/fuzz/Cargo.toml", ""),
            ("doors/json/Cargo.toml", ""),
            ("lab/Cargo.toml", ""),
            ("lab/jvm/Cargo.toml", ""),
            ("testing/model/Cargo.toml", ""),
            ("transports/rdma/proto/Cargo.toml", ""),
        ]);
        let dirs: Vec<&str> = tree.crate_dirs().collect();
        assert_eq!(
            dirs,
            ["crates/ledger", "doors/json", "lab", "testing/model", "transports/rdma/proto"]
        );
    }
}
