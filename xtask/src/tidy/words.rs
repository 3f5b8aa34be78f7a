//! Checks that a name to which the glossary gives one meaning is one type.

use super::Finding;
use super::source::words;
use super::tree::Tree;
use std::collections::BTreeMap;

const GLOSSARY: &str = "docs/glossary.md";

/// Heading of the glossary's table; the first column names types with one meaning.
const TYPES_HEADING: &str = "## Names of types";

/// Finds names of that table that the product does not define exactly once.
pub(crate) fn type_names(tree: &Tree) -> Vec<Finding> {
    let names = names_of_types(tree.text(GLOSSARY).unwrap_or_default());
    let mut places: BTreeMap<&str, Vec<String>> =
        names.iter().map(|name| (*name, Vec::new())).collect();
    let product = |path: &str| Tree::in_product(path) && path.contains("/src/");
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

/// Returns the type that a line of code at the outermost level defines.
fn defined(line: &str) -> Option<&str> {
    let mut parts = words(line);
    let outermost = !line.starts_with(char::is_whitespace);
    let kind = parts.find(|word| !matches!(*word, "pub" | "crate" | "super"))?;
    let is_type = matches!(kind, "struct" | "enum" | "trait" | "type" | "union");
    parts.next().filter(|_| outermost && is_type)
}

/// Returns the names in backquotes in the first column of the glossary's table of types.
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
        let tree = Tree::from_files(&files);
        assert_eq!(
            whats(&type_names(&tree)),
            [
                "`Door` has one meaning: 2 types have the name: crates/a/src/lib.rs:1, crates/b/src/lib.rs:1"
            ]
        );
        assert!(type_names(&Tree::from_files(&files[..2])).is_empty());
        assert_eq!(
            whats(&type_names(&Tree::from_files(&files[..1]))),
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
