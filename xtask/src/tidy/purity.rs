//! The pure crates stay pure: no `std`, no unsafe code, no clock, no float, no hash order.

use super::Finding;
use super::source::words;
use super::tree::Tree;

/// Crates that every host embeds.
const PURE: &[&str] = &["crates/ledger", "crates/codec"];

const ATTRIBUTES: &[&str] = &["#![no_std]", "#![forbid(unsafe_code)]"];

/// Names that bring in time, randomness, rounding or an unstable order.
const IMPURE: &[(&str, &str)] = &[
    ("f32", "amounts are integers"),
    ("f64", "amounts are integers"),
    ("HashMap", "its order is not part of the state"),
    ("HashSet", "its order is not part of the state"),
    ("RandomState", "randomness is an argument"),
    ("Instant", "time is an argument"),
    ("SystemTime", "time is an argument"),
    ("std", "the crate is no_std; use core or alloc"),
];

/// Checks the attributes at the crate's root, and the names in its code without unit tests.
pub(crate) fn pure_crates(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for dir in PURE {
        let root = format!("{dir}/src/lib.rs");
        let text = tree.text(&root).unwrap_or_default();
        for attribute in ATTRIBUTES {
            if !text.lines().any(|line| line.trim() == *attribute) {
                findings.push(Finding::in_file(&root, format!("lacks `{attribute}`")));
            }
        }
    }
    let is_pure = |path: &str| {
        PURE.iter().any(|dir| path.starts_with(&format!("{dir}/src/")))
            && !path.ends_with("/tests.rs")
    };
    for (path, source) in tree.sources().filter(|(path, _)| is_pure(path)) {
        for (index, line) in source.code_without_tests().iter().enumerate() {
            for (name, why) in IMPURE {
                if words(line).any(|word| word == *name) {
                    findings.push(Finding::at(path, index, format!("`{name}`: {why}")));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "//! Why.\n#![no_std]\n#![forbid(unsafe_code)]\n";

    fn found(ledger: &str, file: &str) -> Vec<String> {
        let tree = Tree::from_files(&[
            ("crates/ledger/src/lib.rs", ledger),
            ("crates/ledger/src/a.rs", file),
            ("crates/codec/src/lib.rs", ROOT),
            ("crates/engine/src/lib.rs", "use std::collections::HashMap;"),
        ]);
        pure_crates(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn pure_code_passes_and_its_unit_tests_may_use_std() {
        let file = "// f64 in words\nfn a() -> i64 { 1 }\n#[cfg(test)]\nmod tests { use std::fs; }";
        assert!(found(ROOT, file).is_empty());
    }

    #[test]
    fn a_missing_attribute_is_found() {
        assert_eq!(
            found("//! Why.\n// #![no_std]\n#![forbid(unsafe_code)]\n", ""),
            ["lacks `#![no_std]`"]
        );
        assert_eq!(found("//! Why.\n#![no_std]\n", ""), ["lacks `#![forbid(unsafe_code)]`"]);
    }

    #[test]
    fn every_impure_name_is_found() {
        for (name, _) in IMPURE {
            let what = found(ROOT, &format!("fn a() -> {name} {{ b() }}"));
            assert_eq!(what.len(), 1, "{name}: {what:?}");
            assert!(what[0].starts_with(&format!("`{name}`")));
        }
    }
}
