//! Every seeded bug says which test catches it.

use super::Finding;
use super::tree::Tree;

/// One file per mutant.
const DIR: &str = "testing/mutants/";

/// Each mutant names at least one test.
pub(crate) fn caught(tree: &Tree) -> Vec<Finding> {
    let mut mutants = tree.texts(".toml").filter(|(path, _)| path.starts_with(DIR)).peekable();
    if mutants.peek().is_none() {
        return vec![Finding::in_file(DIR, "holds no mutant: seed known bugs")];
    }
    mutants.filter_map(|(path, text)| Some(Finding::in_file(path, fault(text)?))).collect()
}

fn fault(text: &str) -> Option<String> {
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return Some(format!("is not TOML: {}", error.message())),
    };
    let named = match table.get("caught_by") {
        Some(toml::Value::String(test)) => !test.trim().is_empty(),
        Some(toml::Value::Array(tests)) => {
            !tests.is_empty()
                && tests
                    .iter()
                    .all(|test| test.as_str().is_some_and(|name| !name.trim().is_empty()))
        }
        _ => false,
    };
    (!named).then(|| "names no test in `caught_by`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_test_passes() {
        let tree = Tree::of(&[
            ("testing/mutants/a.toml", "caught_by = \"scripts\""),
            ("testing/mutants/b.toml", "caught_by = [\"model\", \"scripts\"]"),
            ("lab/scenarios/kv.toml", ""),
        ]);
        assert!(caught(&tree).is_empty());
    }

    #[test]
    fn a_mutant_without_a_test_is_found() {
        for text in ["", "caught_by = \" \"", "caught_by = []", "caught_by = [1]", "caught_by ="] {
            assert_eq!(caught(&Tree::of(&[("testing/mutants/a.toml", text)])).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_suite_without_mutants_is_found() {
        assert_eq!(caught(&Tree::of(&[])).len(), 1);
    }
}
