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

/// How many doc comments of a crate may still open with a pronoun; a crate that is not here has none.
const OPENINGS_MAX: &[(&str, usize)] = &[("crates/server", 192), ("lab", 225)];

/// How far a number of doc comments may stand above the count, so that not every change lowers it.
const SLACK: usize = 20;

/// How many types of the product may still have a name of one meaning; one that is not here has one.
const TYPES_MAX: &[(&str, usize)] = &[("Batch", 2), ("Door", 3), ("Place", 3)];

/// Doc comments that open with a pronoun, crate by crate.
pub(crate) fn openings(tree: &Tree) -> Vec<Finding> {
    openings_beyond(tree, OPENINGS_MAX)
}

/// Types of the product whose name has one meaning in the glossary.
pub(crate) fn type_names(tree: &Tree) -> Vec<Finding> {
    types_beyond(tree, TYPES_MAX)
}

fn openings_beyond(tree: &Tree, allowed: &[(&str, usize)]) -> Vec<Finding> {
    let dirs: Vec<&str> = tree.crate_dirs().collect();
    let mut counts: BTreeMap<&str, Vec<Finding>> = BTreeMap::new();
    for (path, text) in tree.texts(".rs") {
        let inside =
            |dir: &&&str| path.strip_prefix(**dir).is_some_and(|rest| rest.starts_with('/'));
        let Some(dir) = dirs.iter().filter(inside).max_by_key(|dir| dir.len()) else { continue };
        let found = pronouns(text).map(|(index, word)| {
            Finding::at(path, index, format!("a doc comment opens with `{word}`: open with a noun"))
        });
        counts.entry(dir).or_default().extend(found);
    }
    let mut findings = Vec::new();
    for (dir, found) in &counts {
        let most = allowed_for(allowed, dir, 0);
        match found.len() {
            // A crate that is done shows each place: whoever wrote the line is still there.
            count if count > most && most == 0 => findings.extend_from_slice(found),
            count if count > most || count + SLACK < most => findings.push(Finding::in_file(
                dir,
                format!(
                    "{count} doc comments open with a pronoun, {most} are written down{}",
                    cure(count, most)
                ),
            )),
            _ => {}
        }
    }
    findings.extend(idle(allowed, |dir| counts.contains_key(dir)));
    findings
}

fn types_beyond(tree: &Tree, allowed: &[(&str, usize)]) -> Vec<Finding> {
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
        let most = allowed_for(allowed, name, 1);
        let count = found.len();
        if count == 0 {
            findings.push(Finding::in_file(
                GLOSSARY,
                format!("names the type `{name}`, which is not there"),
            ));
        } else if count != most {
            let list = found.join(", ");
            let what = format!(
                "`{name}` has one meaning: {count} types have the name, {most} may{}: {list}",
                cure(count, most)
            );
            findings.push(Finding::in_file(GLOSSARY, what));
        }
    }
    findings.extend(idle(allowed, |name| places.contains_key(name)));
    findings
}

fn allowed_for(allowed: &[(&str, usize)], name: &str, otherwise: usize) -> usize {
    allowed.iter().find(|(of, _)| *of == name).map_or(otherwise, |(_, most)| *most)
}

/// Entries of a list that stand for nothing.
fn idle(allowed: &[(&str, usize)], is_there: impl Fn(&str) -> bool) -> Vec<Finding> {
    let gone = allowed.iter().filter(|(name, _)| !is_there(name));
    gone.map(|(name, _)| Finding::in_file(name, "is not there: take it from the list")).collect()
}

fn cure(count: usize, most: usize) -> &'static str {
    if count < most { ": lower the number in xtask/src/tidy/words.rs" } else { "" }
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
    fn openings_are_counted_by_crate_and_the_numbers_only_fall() {
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "/// It.\n\n/// Those that."),
            ("crates/ab/Cargo.toml", ""),
            ("crates/ab/src/lib.rs", "/// A noun."),
        ]);
        assert!(openings_beyond(&tree, &[("crates/a", 2)]).is_empty());
        assert!(openings_beyond(&tree, &[("crates/a", 2 + SLACK)]).is_empty());
        assert_eq!(openings_beyond(&tree, &[]).len(), 2, "each place of a crate that is done");
        assert_eq!(
            whats(&openings_beyond(&tree, &[("crates/a", 1)])),
            ["2 doc comments open with a pronoun, 1 are written down"]
        );
        assert_eq!(
            whats(&openings_beyond(&tree, &[("crates/a", 23), ("crates/gone", 1)])),
            [
                "2 doc comments open with a pronoun, 23 are written down: lower the number in xtask/src/tidy/words.rs",
                "is not there: take it from the list"
            ]
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
        assert!(types_beyond(&tree, &[("Door", 2)]).is_empty());
        assert_eq!(
            whats(&types_beyond(&tree, &[])),
            [
                "`Door` has one meaning: 2 types have the name, 1 may: crates/a/src/lib.rs:1, crates/b/src/lib.rs:1"
            ]
        );
        assert!(whats(&types_beyond(&tree, &[("Door", 3)]))[0].contains("lower the number"));
        assert_eq!(types_beyond(&tree, &[("Door", 2), ("Gone", 2)]).len(), 1);
        let without = Tree::of(&files[..1]);
        assert_eq!(
            whats(&types_beyond(&without, &[])),
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
