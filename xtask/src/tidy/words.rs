//! Words: a doc comment opens with a noun, and a name that the glossary gives one meaning is one type.
//!
//! Both rules came late, so both have lists of what is still to be mended. The lists can only shrink:
//! more is a finding, and so is a list that allows much more than there is.

use super::Finding;
use super::source::words;
use super::tree::Tree;
use std::collections::BTreeMap;

const GLOSSARY: &str = "docs/glossary.md";

/// Heading of the table in the glossary whose first column names types of one meaning.
const TYPES_HEADING: &str = "## Names of types";

const PRONOUNS: &[&str] = &[
    "It", "Its", "Our", "That", "Their", "Them", "These", "They", "This", "Those", "We", "What",
    "Whatever", "Which", "Who", "Whoever", "Whose",
];

/// Words behind `One` that make a pronoun of it: `One that waits`, but not `One frame`.
const RELATIVES: &[&str] = &["that", "which", "who", "whose"];

/// Doc comments that open with a pronoun.
pub(crate) fn openings(tree: &Tree) -> Vec<Finding> {
    let found = |(path, text)| {
        pronouns(text).map(move |(index, word)| {
            Finding::at(path, index, format!("a doc comment opens with `{word}`: open with a noun"))
        })
    };
    tree.texts(".rs").flat_map(found).collect()
}

/// Types of the product whose name has one meaning in the glossary.
pub(crate) fn type_names(tree: &Tree) -> Vec<Finding> {
    let names = names_of_types(tree.text(GLOSSARY).unwrap_or_default());
    let mut places: BTreeMap<&str, Vec<String>> =
        names.iter().map(|name| (*name, Vec::new())).collect();
    let product = |path: &str| path.starts_with("crates/") && path.contains("/src/");
    for (path, source) in tree.sources().filter(|(path, _)| product(path)) {
        for (index, line) in source.code_without_tests().iter().enumerate() {
            if let Some(found) = defined(line).and_then(|name| places.get_mut(name)) {
                found.push(format!("{path}:{}", index + 1));
            }
        }
    }
    let mut findings = Vec::new();
    for (name, found) in &places {
        let what = match found.len() {
            0 => format!("names the type `{name}`, which is not there"),
            1 => continue,
            count => format!(
                "`{name}` has one meaning: {count} types have the name: {}",
                found.join(", ")
            ),
        };
        findings.push(Finding::in_file(GLOSSARY, what));
    }
    findings
}

/// Lines that begin a doc comment with a pronoun, from 0, and the pronoun.
fn pronouns(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_comment = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let comment = line.trim_start().strip_prefix("///");
        let begins = comment.is_some() && !in_comment;
        in_comment = comment.is_some();
        let mut rest = comment.filter(|_| begins)?.split_whitespace();
        let first = rest.next()?.trim_end_matches(|c: char| !c.is_alphanumeric());
        let relative = first == "One" && rest.next().is_some_and(|word| RELATIVES.contains(&word));
        (relative || PRONOUNS.contains(&first)).then_some((index, first))
    })
}

/// The type that a line of code at the outermost level defines.
fn defined(line: &str) -> Option<&str> {
    let mut parts = words(line);
    let outermost = !line.starts_with(char::is_whitespace);
    let kind = parts.find(|word| !matches!(*word, "pub" | "crate" | "super"))?;
    let is_type = matches!(kind, "struct" | "enum" | "trait" | "type" | "union");
    parts.next().filter(|_| outermost && is_type)
}

/// The names in backquotes in the first column of the glossary's table of types.
fn names_of_types(glossary: &str) -> Vec<&str> {
    let behind = glossary.split(TYPES_HEADING).nth(1).unwrap_or_default();
    let table = behind.split("\n## ").next().unwrap_or_default();
    table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::*;

    fn whats(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.what.as_str()).collect()
    }

    #[test]
    fn pronouns_are_found_at_the_beginning_of_a_comment_alone() {
        let text = "/// It waits.\nfn a() {}\n/// A door.\n/// It waits.\nfn b() {}\n    /// One that waits.\n\
            /// One frame.\n\n/// One frame.\n\n/// What: it is.\n// It waits.\n//! It waits.\n/// Itself.";
        let found: Vec<_> = pronouns(text).collect();
        assert_eq!(found, [(0, "It"), (5, "One"), (10, "What")]);
    }

    #[test]
    fn each_opening_is_found_where_it_is() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "/// A noun.\n\n/// Those that."),
            ("lab/src/lib.rs", "/// It."),
        ]);
        assert_eq!(
            whats(&openings(&tree)),
            ["Those", "It"]
                .map(|word| format!("a doc comment opens with `{word}`: open with a noun"))
        );
    }

    #[test]
    fn a_name_of_one_meaning_is_one_type_of_the_product() {
        let glossary = "# G\n| `Other` | x |\n## Names of types\n\n| type | x |\n|---|---|\n| `Door` | x |\n## End\n| `Last` | x |";
        let files = [
            (GLOSSARY, glossary),
            (
                "crates/a/src/lib.rs",
                "pub(crate) struct Door {\n}\nimpl T for U {\n    type Door = V;\n}",
            ),
            ("crates/b/src/lib.rs", "enum Door<'a> {}\n#[cfg(test)]\nmod tests {\nstruct Door;\n}"),
            ("crates/b/tests/all.rs", "struct Door;"),
            ("lab/src/lib.rs", "struct Door;"),
        ];
        let tree = Tree::of(&files);
        assert_eq!(
            whats(&type_names(&tree)),
            [
                "`Door` has one meaning: 2 types have the name: crates/a/src/lib.rs:1, crates/b/src/lib.rs:1"
            ]
        );
        assert!(type_names(&Tree::of(&files[..2])).is_empty());
        assert_eq!(
            whats(&type_names(&Tree::of(&files[..1]))),
            ["names the type `Door`, which is not there"]
        );
    }

    #[test]
    fn types_are_read_from_lines_of_code() {
        let of = |line| defined(&Source::new(line).code[0]).map(str::to_owned);
        assert_eq!(of("pub(crate) type Door<'a> = (A, B);").as_deref(), Some("Door"));
        assert_eq!(of("pub trait Door: Send {").as_deref(), Some("Door"));
        assert_eq!(of("fn door() -> Door {"), None);
        assert_eq!(of("    struct Door;"), None);
    }
}
