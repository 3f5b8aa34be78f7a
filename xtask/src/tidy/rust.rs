//! Rules for every Rust file.

use super::Finding;
use super::source::{Source, words};
use super::tree::Tree;

/// Directories where `unsafe` is allowed: the module, because it is called through the server's C API, and the two RDMA
/// crates.
const UNSAFE_DIRS: &[&str] =
    &["crates/valkey-module/", "transports/rdma/sys/", "transports/rdma/verbs/"];

/// Words that are banned from code, and what to do instead.
const BANNED: &[(&str, &str)] = &[
    ("#[ignore", "a test runs or is deleted"),
    ("should_panic", "assert on the value that says what went wrong"),
    ("thread::sleep", "wait for the event, or pass the time as an argument"),
    ("todo!", "write it, or refuse with a message"),
    ("unimplemented!", "write it, or refuse with a message"),
    ("dbg!", "use tracing, or nothing"),
    ("#[allow(", "use #[expect(.., reason = \"..\")]"),
    ("#![allow(", "use #![expect(.., reason = \"..\")]"),
];

/// Comment that allows a line, with a reason after it in parentheses.
const EXCUSE: &str = "tidy: allow (";

/// Finds files that do not begin with `//!`, which says why a file exists.
pub(crate) fn opening(tree: &Tree) -> Vec<Finding> {
    let silent = |text: &str| !text.lines().next().is_some_and(|line| line.starts_with("//! "));
    tree.texts(".rs")
        .filter(|(_, text)| silent(text))
        .map(|(path, _)| {
            Finding::in_file(path, "does not open with `//!`: say why the file exists")
        })
        .collect()
}

/// Finds banned words.
pub(crate) fn banned(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.sources() {
        for (index, line) in source.code.iter().enumerate() {
            for (word, cure) in BANNED {
                if stands_in(line, word) && !excused(&source, index) {
                    findings.push(Finding::at(path, index, format!("`{word}`: {cure}")));
                }
            }
        }
    }
    findings
}

/// Finds `unsafe` outside of the allowed directories, or without a safety comment.
pub(crate) fn unsafe_code(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.sources() {
        for (index, line) in source.code.iter().enumerate() {
            if !is_unsafe(line) {
                continue;
            }
            if !UNSAFE_DIRS.iter().any(|dir| path.starts_with(dir)) {
                findings.push(Finding::at(path, index, "`unsafe` does not belong in this crate"));
            } else if !argued(&source, index) {
                findings.push(Finding::at(
                    path,
                    index,
                    "`unsafe` without a `SAFETY:` comment above",
                ));
            }
        }
    }
    findings
}

/// Finds allowed directories without any `unsafe`: a list that is too long would permit it unnoticed.
pub(crate) fn unsafe_places(tree: &Tree) -> Vec<Finding> {
    let has_some = |dir: &str| {
        let mut sources = tree.sources().filter(|(path, _)| path.starts_with(dir));
        sources.any(|(_, source)| source.code.iter().any(|line| is_unsafe(line)))
    };
    let idle = UNSAFE_DIRS.iter().filter(|dir| !has_some(dir));
    idle.map(|dir| Finding::in_file(dir, "has no `unsafe`: take it from the list")).collect()
}

fn is_unsafe(line: &str) -> bool {
    words(line).any(|word| word == "unsafe")
}

/// Reports whether the pattern occurs and is not part of a longer name.
fn stands_in(line: &str, pattern: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(pattern).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !(pattern.starts_with(is_name) && before.is_some_and(is_name))
    })
}

fn excused(source: &Source, index: usize) -> bool {
    source.comments[index]
        .split_once(EXCUSE)
        .is_some_and(|(_, reason)| reason.find(')').is_some_and(|len| len > 3))
}

/// Reports whether a comment on the line, or above its statement, has the safety argument.
fn argued(source: &Source, index: usize) -> bool {
    let argues = |at: usize| {
        source.comments[at].contains("SAFETY:") || source.comments[at].contains("# Safety")
    };
    if argues(index) {
        return true;
    }
    for above in (0..index).rev() {
        let code = source.code[above].trim();
        let ends_statement = code.ends_with([';', '{', '}', ',']) && !code.starts_with("#[");
        if ends_statement || (code.is_empty() && source.comments[above].trim().is_empty()) {
            return false;
        }
        if argues(above) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_file_without_an_opening_is_found() {
        let tree = Tree::from_files(&[
            ("a.rs", "//! Why.\nfn a() {}"),
            ("b.rs", "// not a doc\n//! Why."),
            ("c.rs", "//!\n"),
            ("d.rs", ""),
        ]);
        let found: Vec<String> = opening(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["b.rs", "c.rs", "d.rs"]);
    }

    #[test]
    fn every_banned_word_is_found() {
        for (word, _) in BANNED {
            let tree = Tree::from_files(&[("a.rs", &format!("//! Why.\n{word}"))]);
            assert_eq!(lines(&banned(&tree)), [2], "{word}");
        }
    }

    #[test]
    fn a_reason_excuses_and_an_empty_one_does_not() {
        let good = "std::thread::sleep(x); // tidy: allow (the loader paces itself)";
        let bad = "std::thread::sleep(x); // tidy: allow ()";
        let quoted = "\"todo!\"; // todo!\nmy_todo!();";
        let tree = Tree::from_files(&[("a.rs", good), ("b.rs", bad), ("c.rs", quoted)]);
        let found = banned(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].path, "b.rs");
    }

    #[test]
    fn unsafe_outside_its_crates_is_found() {
        let text = "// SAFETY: none.\nunsafe { f() }";
        let tree = Tree::from_files(&[
            ("crates/engine/src/a.rs", text),
            ("crates/server/src/a.rs", text),
            ("crates/valkey-module/src/a.rs", text),
            ("lab/src/a.rs", text),
            ("transports/rdma/proto/src/a.rs", text),
            ("transports/rdma/sys/src/a.rs", text),
            ("transports/rdma/verbs/src/a.rs", text),
        ]);
        let found: Vec<String> =
            unsafe_code(&tree).into_iter().map(|finding| finding.path).collect();
        let expected = [
            "crates/engine/src/a.rs",
            "crates/server/src/a.rs",
            "lab/src/a.rs",
            "transports/rdma/proto/src/a.rs",
        ];
        assert_eq!(found, expected);
        assert!(unsafe_places(&tree).is_empty());
    }

    #[test]
    fn a_place_without_unsafe_is_found() {
        let text = "// unsafe in words\nfn a() {}";
        let tree = Tree::from_files(&[("transports/rdma/verbs/src/a.rs", text)]);
        let found: Vec<String> = unsafe_places(&tree).into_iter().map(|f| f.path).collect();
        assert_eq!(found, UNSAFE_DIRS);
    }

    #[test]
    fn unsafe_without_an_argument_is_found() {
        let text = "#![forbid(unsafe_code)]\n\
            // SAFETY: the pointer is ours.\n\
            #[inline]\n\
            let a =\n\
            unsafe { f() };\n\
            unsafe { g() };\n\
            /// # Safety\n\
            /// The caller holds the lock.\n\
            unsafe fn h() {\n\
            unsafe { i() }\n\
            // SAFETY: far away.\n\
            \n\
            unsafe { j() }";
        let tree = Tree::from_files(&[("transports/rdma/verbs/src/a.rs", text)]);
        assert_eq!(lines(&unsafe_code(&tree)), [6, 10, 13]);
    }
}
