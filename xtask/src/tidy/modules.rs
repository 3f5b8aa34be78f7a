//! The modules of a crate and the names that each uses of the others, resolved from the files as a compiler would:
//! `crate::`, `super::` and `self::` paths anywhere, names that a `use` imports, and re-exported names. Unit tests are
//! left out.

use super::source::Source;
use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// Path of a module from the root of its crate; that of the root is empty.
pub(crate) type Path = Vec<String>;

/// Most re-exports that are followed for a name; no chain is longer, but circles exist.
const HOPS_MAX: usize = 16;

/// Modules of one crate.
pub(crate) struct Modules {
    files: BTreeMap<Path, File>,
}

/// Place where one module names another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) from: Path,
    pub(crate) to: Path,
    /// File that contains it.
    pub(crate) file: String,
    /// Line, from 0.
    pub(crate) index: usize,
}

/// One file: one module, including the modules inside it.
#[derive(Default)]
struct File {
    path: String,
    /// Child modules with their own files.
    children: Vec<String>,
    /// Names that it declares.
    items: BTreeSet<String>,
    uses: Vec<Use>,
    /// Paths in its code, each with its line from 0.
    paths: Vec<(Path, usize)>,
}

/// One name that a `use` imports; `*` stands for all names of a module.
struct Use {
    name: String,
    path: Path,
    index: usize,
}

impl Modules {
    /// Reads the modules below a root such as `crates/server/src/lib.rs`; none when that file is missing.
    pub(crate) fn read(tree: &Tree, root: &str) -> Modules {
        let dir = root.rsplit_once('/').map_or("", |(dir, _)| dir);
        let mut files = BTreeMap::new();
        let mut left = vec![(Path::new(), root.to_owned())];
        while let Some((module, path)) = left.pop() {
            let Some(text) = tree.text(&path) else { continue };
            let file = File::read(path, &Source::new(text).code_without_tests());
            for child in &file.children {
                let own = [module.as_slice(), std::slice::from_ref(child)].concat();
                let stem = format!("{dir}/{}", own.join("/"));
                // A child module is a file of its name, or `mod.rs` in a directory of its name.
                let flat = format!("{stem}.rs");
                let path = if tree.text(&flat).is_some() { flat } else { format!("{stem}/mod.rs") };
                left.push((own, path));
            }
            files.insert(module, file);
        }
        Modules { files }
    }

    /// Returns the uses of names between the modules.
    pub(crate) fn references(&self) -> Vec<Reference> {
        let mut references = Vec::new();
        for (from, file) in &self.files {
            let uses = file.uses.iter().map(|found| (&found.path, found.index));
            let paths = file.paths.iter().map(|(path, index)| (path, *index));
            for (path, index) in uses.chain(paths) {
                let to = self.resolve(from, path, HOPS_MAX);
                references.push(Reference {
                    from: from.clone(),
                    to,
                    file: file.path.clone(),
                    index,
                });
            }
        }
        references
    }

    /// Finds glob imports of a module that contains the importing one, because they hide which names are used.
    pub(crate) fn globs_of_ancestors(&self) -> impl Iterator<Item = (&str, usize)> {
        self.files.iter().flat_map(move |(from, file)| {
            let globs = file.uses.iter().filter(|found| found.name == "*");
            let upward = globs.filter(move |found| {
                let ours = matches!(found.path[0].as_str(), "crate" | "super");
                let to = self.resolve(from, &found.path[..found.path.len() - 1], HOPS_MAX);
                ours && from.starts_with(&to)
            });
            upward.map(|found| (file.path.as_str(), found.index))
        })
    }

    /// Returns the module that a path in `from` leads to; `from` itself for a path outside of the crate.
    fn resolve(&self, from: &[String], path: &[String], hops: usize) -> Path {
        let mut at = from.to_vec();
        let mut rest = path;
        while let Some((name, behind)) = rest.split_first() {
            let Some(file) = self.files.get(&at) else { break };
            match name.as_str() {
                "crate" => at.clear(),
                "super" => drop(at.pop()),
                "self" | "*" => {}
                _ if file.children.contains(name) => at.push(name.clone()),
                _ if file.items.contains(name) || hops == 0 => return at,
                _ => return self.handed_on(&at, rest, hops - 1),
            }
            rest = behind;
        }
        at
    }

    /// Resolves a path that begins with a name that `at` imports or re-exports.
    fn handed_on(&self, at: &Path, path: &[String], hops: usize) -> Path {
        let Some(file) = self.files.get(at) else { return at.clone() };
        if let Some(found) = file.uses.iter().find(|found| found.name == path[0]) {
            return self.resolve(at, &[&found.path, &path[1..]].concat(), hops);
        }
        // The name may come from a glob import.
        for found in file.uses.iter().filter(|found| found.name == "*") {
            let all_of = self.resolve(at, &found.path, hops);
            let declares = |file: &File| file.items.contains(&path[0]);
            if all_of != *at && self.files.get(&all_of).is_some_and(declares) {
                return self.resolve(&all_of, path, hops);
            }
        }
        at.clone()
    }
}

/// Token of code, with its line from 0.
type Token = (String, usize);

impl File {
    fn read(path: String, code: &[String]) -> File {
        let tokens = tokens(code);
        let word = |at: usize| tokens.get(at).map_or("", |(text, _)| text.as_str());
        let mut file = File { path, ..File::default() };
        // Current depth of braces, and the depths at which inline modules of this file began.
        let (mut depth, mut inner) = (0usize, Vec::new());
        let mut at = 0;
        while at < tokens.len() {
            let index = tokens[at].1;
            match word(at) {
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    inner.pop_if(|began| *began == depth);
                }
                "mod" if word(at + 2) == ";" => file.children.push(word(at + 1).to_owned()),
                "mod" if word(at + 2) == "{" => inner.push(depth),
                "use" => {
                    let mut found = Vec::new();
                    let end = use_tree(&tokens, at + 1, &[], &mut found);
                    file.uses.extend(found.into_iter().map(|(name, path)| Use {
                        name,
                        path: outward(path, inner.len()),
                        index,
                    }));
                    at = end;
                    continue;
                }
                "struct" | "enum" | "fn" | "const" | "static" | "type" | "trait"
                    if is_name(word(at + 1)) =>
                {
                    file.items.insert(word(at + 1).to_owned());
                }
                first if is_name(first) && word(at + 1) == "::" => {
                    // A path after `::` continues another one, and a path after `in` belongs to a visibility.
                    let begins = at == 0 || !matches!(word(at - 1), "::" | "in");
                    let mut path = vec![first.to_owned()];
                    while word(at + 1) == "::" && is_name(word(at + 2)) {
                        path.push(word(at + 2).to_owned());
                        at += 2;
                    }
                    if begins {
                        file.paths.push((outward(path, inner.len()), index));
                    }
                }
                _ => {}
            }
            at += 1;
        }
        file
    }
}

/// Converts a path in an inline module at this depth to one relative to the file.
fn outward(mut path: Path, depth: usize) -> Path {
    let supers = path.iter().take_while(|name| *name == "super").count();
    path.drain(..supers.min(depth));
    path
}

/// Parses the tree after a `use` or after a brace in it: names and their paths. Returns the index after it.
fn use_tree(
    tokens: &[Token],
    mut at: usize,
    before: &[String],
    found: &mut Vec<(String, Path)>,
) -> usize {
    let mut path = before.to_vec();
    let word = |at: usize| tokens.get(at).map_or(";", |(text, _)| text.as_str());
    loop {
        match word(at) {
            "{" => {
                at = use_tree(tokens, at + 1, &path, found);
                while word(at) == "," {
                    at = use_tree(tokens, at + 1, &path, found);
                }
                // Continue after the closing brace.
                return at + 1;
            }
            "as" => {
                found.push((word(at + 1).to_owned(), path));
                return at + 2;
            }
            "::" => {}
            name if is_name(name) || name == "*" => path.push(name.to_owned()),
            _ => {
                // `self` stands for the path before it.
                path.pop_if(|last| *last == "self" && !before.is_empty());
                if path.len() > before.len() || path.len() == before.len() && !path.is_empty() {
                    found.push((path.last().cloned().unwrap_or_default(), path));
                }
                return at;
            }
        }
        at += 1;
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Splits code into names, `::`, and single characters.
fn tokens(code: &[String]) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (index, line) in code.iter().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let len = match first {
                _ if is_part(first) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                _ => first.len_utf8(),
            };
            tokens.push((rest[..len].to_owned(), index));
            rest = rest[len..].trim_start();
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names that modules use of others, as `module -> module`.
    fn named(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/a/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
        let modules = Modules::read(&Tree::from_files(&files), "crates/a/src/lib.rs");
        let mut named: Vec<String> = modules
            .references()
            .into_iter()
            .filter(|found| found.from != found.to)
            .map(|found| {
                format!("{} -> {}:{}", found.from.join("::"), found.to.join("::"), found.index + 1)
            })
            .collect();
        named.sort();
        named.dedup();
        named
    }

    #[test]
    fn every_way_to_name_a_module_is_seen() {
        let root = ("lib.rs", "mod b;\nmod c;\npub use c::Thing;");
        let c = ("c.rs", "pub struct Thing;\npub fn make() {}");
        for (text, expected) in [
            ("use crate::c::Thing;", "b -> c:1"),
            ("use crate::{c, other};", "b -> c:1"),
            ("use crate::{\n    c::{self, Thing as Other},\n};", "b -> c:1"),
            ("use super::c::*;", "b -> c:1"),
            ("use crate::Thing;", "b -> c:1"),
            ("use std::fs;\nfn f() { crate::c::make() }", "b -> c:2"),
            ("fn f() -> super::Thing { g::<super::c::Thing>() }", "b -> c:1"),
            ("mod inner {\n    use super::super::c::Thing;\n}", "b -> c:2"),
            ("mod inner { fn f() {} }\nuse super::c;", "b -> c:2"),
        ] {
            let found = named(&[root, ("b.rs", text), c]);
            let to_c: Vec<&String> = found.iter().filter(|line| line.contains("b -> c")).collect();
            assert_eq!(to_c, [expected], "{text}: {found:?}");
        }
    }

    #[test]
    fn what_is_no_use_of_another_module_is_not_taken_for_one() {
        let root = ("lib.rs", "mod b;\nmod c;");
        for text in [
            "// use crate::c;\nlet a = \"crate::c\";",
            "#[cfg(test)]\nmod tests {\n    use crate::c;\n}",
            "pub(in crate::c) fn f() {}",
            "use c::Foreign;\nfn f() { x.c::<u8>() }",
            "mod inner {\n    use super::c;\n}\nfn c() {}",
        ] {
            let found = named(&[root, ("b.rs", text), ("c.rs", "")]);
            assert!(found.is_empty(), "{text}: {found:?}");
        }
    }

    #[test]
    fn names_that_are_handed_on_lead_to_where_they_are_declared() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b;\nmod c;\nmod d;\nuse c::*;\npub use d::{Deep as Flat};"),
            ("a/b.rs", "use super::Wide;\nuse super::Flat;\nuse super::Own;"),
            ("a/c.rs", "pub struct Wide;"),
            ("a/d.rs", "pub use super::c::Wide as Deep;"),
        ];
        let found = named(&files);
        assert_eq!(
            found,
            [
                "a -> a::c:4",
                "a -> a::c:5",
                "a::b -> a:3",
                "a::b -> a::c:1",
                "a::b -> a::c:2",
                "a::d -> a::c:1"
            ]
        );
    }

    #[test]
    fn a_circle_of_names_ends() {
        let files = [
            ("lib.rs", "mod a;\nmod b;"),
            ("a.rs", "use crate::b::X;"),
            ("b.rs", "use crate::a::X;"),
        ];
        assert_eq!(named(&files).len(), 2);
    }
}
