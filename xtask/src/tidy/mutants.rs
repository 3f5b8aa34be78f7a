//! Checks that every seeded bug names the test that catches it, and that the place it changes exists.

use super::Finding;
use super::tree::Tree;

/// Directory with one file per mutant.
const DIR: &str = "testing/mutants/";

/// Most hand-written mutants. cargo-mutants generates the others for changed lines.
const MUTANTS_MAX: usize = 270;

/// Checks that each mutant names an existing test, and a place that occurs once in its file. Only the long gate runs
/// the mutants, so without this check a changed place would be noticed many commits later.
pub(crate) fn caught(tree: &Tree) -> Vec<Finding> {
    let mutants = tree.texts(".toml").filter(|(path, _)| path.starts_with(DIR));
    let mutants: Vec<(&str, &str)> = mutants.collect();
    if !(1..=MUTANTS_MAX).contains(&mutants.len()) {
        let why = format!("holds {} mutants: from 1 to {MUTANTS_MAX} are kept", mutants.len());
        return vec![Finding::in_file(DIR, why)];
    }
    let fault = |(path, text)| Some(Finding::in_file(path, fault(tree, text)?));
    mutants.into_iter().filter_map(fault).collect()
}

fn fault(tree: &Tree, text: &str) -> Option<String> {
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return Some(format!("is not TOML: {}", error.message())),
    };
    let string = |key| table.get(key).and_then(toml::Value::as_str);
    let words: Vec<&str> = string("caught_by").unwrap_or_default().split(' ').collect();
    let [package, _target, test] = words[..] else {
        return Some("does not name package, test target and test in `caught_by`".to_owned());
    };
    if !has_test(tree, package, test) {
        return Some(format!("names a test that {package} does not have: {test}"));
    }
    let (Some(file), Some(find)) = (string("file"), string("find")) else {
        return Some("has no `file` with a place to `find`".to_owned());
    };
    let count = tree.text(file).map_or(0, |text| text.matches(find).count());
    (count != 1).then(|| format!("`find` occurs {count} times in {file}, and not once"))
}

/// Reports whether a file of the package has a function with the test's name; its module is only checked when it runs.
fn has_test(tree: &Tree, package: &str, test: &str) -> bool {
    let is_named = format!("name = \"{package}\"\n");
    let mut manifests = tree.texts("Cargo.toml").filter(|(_, text)| text.contains(&is_named));
    let Some((manifest, _)) = manifests.next() else { return false };
    let directory = manifest.trim_end_matches("Cargo.toml");
    let function = format!("fn {}(", test.rsplit("::").next().unwrap_or(test));
    tree.texts(".rs").any(|(path, text)| path.starts_with(directory) && text.contains(&function))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a mutant of `a.rs`, without its test.
    const PLACE: &str = "file = \"a.rs\"\nfind = \"if\"\n";
    const TEST: &str = "caught_by = \"a rules b::c\"\n";

    fn faults(mutant: &str) -> usize {
        let files = [
            ("testing/mutants/1-a.toml", mutant),
            ("a.rs", "if x { y }\nx + x\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/a/tests/rules/b.rs", "#[test]\nfn c() {}\n"),
        ];
        caught(&Tree::from_files(&files)).len()
    }

    #[test]
    fn a_test_that_is_there_passes() {
        assert_eq!(faults(&format!("{TEST}{PLACE}")), 0);
    }

    #[test]
    fn a_mutant_without_a_test_is_found() {
        for text in
            ["", "caught_by = \" \"", "caught_by = [1]", "caught_by =", "caught_by = \"a c\""]
        {
            assert_eq!(faults(&format!("{text}\n{PLACE}")), 1, "{text}");
        }
        for test in ["a rules b::d", "b rules b::c"] {
            assert_eq!(faults(&format!("caught_by = \"{test}\"\n{PLACE}")), 1, "{test}");
        }
    }

    #[test]
    fn a_mutant_without_its_place_is_found() {
        for (file, find) in [("b.rs", "if"), ("a.rs", "else"), ("a.rs", "x")] {
            let text = format!("{TEST}file = \"{file}\"\nfind = \"{find}\"\n");
            assert_eq!(faults(&text), 1, "{text}");
        }
        assert_eq!(faults(TEST), 1);
    }

    #[test]
    fn a_suite_without_mutants_or_with_too_many_is_found() {
        assert_eq!(caught(&Tree::from_files(&[])).len(), 1);
        let names: Vec<String> =
            (0..=MUTANTS_MAX).map(|number| format!("{DIR}{number}-a.toml")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        assert_eq!(caught(&Tree::from_files(&files)).len(), 1);
    }
}
