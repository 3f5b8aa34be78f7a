//! Every seeded bug says which test catches it, and finds the place that it changes.

use super::Finding;
use super::tree::Tree;

/// One file per mutant.
const DIR: &str = "testing/mutants/";

/// Each mutant names at least one test, and a place that stands once in its file. The gate seeds a part of
/// them, so one whose place has changed would be noticed some commits later.
pub(crate) fn caught(tree: &Tree) -> Vec<Finding> {
    let mut mutants = tree.texts(".toml").filter(|(path, _)| path.starts_with(DIR)).peekable();
    if mutants.peek().is_none() {
        return vec![Finding::in_file(DIR, "holds no mutant: seed known bugs")];
    }
    mutants.filter_map(|(path, text)| Some(Finding::in_file(path, fault(tree, text)?))).collect()
}

fn fault(tree: &Tree, text: &str) -> Option<String> {
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
    if !named {
        return Some("names no test in `caught_by`".to_owned());
    }
    let string = |key| table.get(key).and_then(toml::Value::as_str);
    let (Some(file), Some(find)) = (string("file"), string("find")) else {
        return Some("has no `file` with a place to `find`".to_owned());
    };
    let count = tree.text(file).map_or(0, |text| text.matches(find).count());
    (count != 1).then(|| format!("`find` stands {count} times in {file}, and not once"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that a mutant of this file has beside its test.
    const PLACE: &str = "file = \"a.rs\"\nfind = \"if\"\n";

    fn faults(mutant: &str) -> usize {
        let files = [("testing/mutants/a.toml", mutant), ("a.rs", "if x { y }\nx + x\n")];
        caught(&Tree::of(&files)).len()
    }

    #[test]
    fn a_named_test_passes() {
        for test in ["caught_by = \"scripts\"\n", "caught_by = [\"model\", \"scripts\"]\n"] {
            assert_eq!(faults(&format!("{test}{PLACE}")), 0, "{test}");
        }
    }

    #[test]
    fn a_mutant_without_a_test_is_found() {
        for text in ["", "caught_by = \" \"", "caught_by = []", "caught_by = [1]", "caught_by ="] {
            assert_eq!(faults(&format!("{text}\n{PLACE}")), 1, "{text}");
        }
    }

    #[test]
    fn a_mutant_without_its_place_is_found() {
        for (file, find) in [("b.rs", "if"), ("a.rs", "else"), ("a.rs", "x")] {
            let text = format!("caught_by = \"a\"\nfile = \"{file}\"\nfind = \"{find}\"\n");
            assert_eq!(faults(&text), 1, "{text}");
        }
        assert_eq!(faults("caught_by = \"a\"\n"), 1);
    }

    #[test]
    fn a_suite_without_mutants_is_found() {
        assert_eq!(caught(&Tree::of(&[])).len(), 1);
    }
}
