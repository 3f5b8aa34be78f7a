//! Which mutants a change touches, and which of them come first.

use crate::mutant::{Catcher, Mutant, Part};
use crate::scratch::stdout;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Before the files of a commit in git's list.
const COMMIT: &str = "commit:";

/// Packages, and beginnings of tests in them, that `make test` leaves to `make test-all`; so it leaves the
/// mutants that these catch.
const LEFT: [(&str, &str); 3] =
    [("scurry-lab", ""), ("scurry-cluster-test", ""), ("scurry-cli", "console::")];

/// Packages whose tests want the server's program, which takes longer to build than most mutants take to catch: they
/// come last.
const SLOW: [&str; 5] =
    ["scurry-cli", "scurry-valkey-module", "scurry-conformance", "scurry-crash", "scurry-replicas"];

/// Mutants that a change touches.
pub(crate) struct Touched<'a> {
    /// In the order in which they are seeded.
    pub(crate) groups: Vec<Vec<&'a Mutant>>,
    /// How many mutants there are, those included that are in no group.
    pub(crate) count: usize,
}

/// The files that differ from the commits at which the parts were seeded last.
pub(crate) struct Change {
    /// The commit that has changed a file last: 0 stands for the working tree, 1 for the newest.
    ages: BTreeMap<String, usize>,
    /// The changed files of each part that has been seeded; in any other part each file has changed.
    parts: Vec<(Part, BTreeSet<String>)>,
    head: String,
}

impl Change {
    /// The working tree against the commits of these parts.
    pub(crate) fn since(root: &Path, seeded: &[(Part, String)]) -> Result<Change> {
        let git = |words: &[&str]| stdout(Command::new("git").current_dir(root).args(words));
        let differ = |from: &str| git(&["diff", "--no-ext-diff", "--name-only", from]);
        let head = git(&["rev-parse", "HEAD"])?;
        let new = git(&["ls-files", "--others", "--exclude-standard"])?;
        let format = format!("--format={COMMIT}%H");
        let commits = git(&["log", "--no-ext-diff", "--name-only", &format])?;
        let list = format!("{}\n{new}\n{commits}", differ("HEAD")?);
        let mut parts = Vec::new();
        for (part, from) in seeded {
            parts.push((*part, lines(&format!("{}\n{new}", differ(from)?))));
        }
        Ok(Change::read(head, &list, parts))
    }

    fn read(head: String, list: &str, parts: Vec<(Part, BTreeSet<String>)>) -> Change {
        let (mut ages, mut age) = (BTreeMap::new(), 0);
        for line in list.lines().filter(|line| !line.is_empty()) {
            if line.starts_with(COMMIT) {
                age += 1;
            } else {
                ages.entry(line.to_owned()).or_insert(age);
            }
        }
        Change { ages, parts, head }
    }

    /// Of these mutants those that the change touches: the file that they change, their own, or the test
    /// that must catch them. Those that are built soon come first, of these the newest change; of one change each
    /// commit has another order.
    /// Of mutants that follow each other, those that one test target catches are a group.
    pub(crate) fn touched<'a>(&self, mutants: &'a [Mutant]) -> Touched<'a> {
        let mut groups: BTreeMap<(bool, usize, u64, &str, &str), Vec<&Mutant>> = BTreeMap::new();
        let mut count = 0;
        for mutant in mutants {
            let Some(age) = self.age(mutant) else { continue };
            count += 1;
            let Catcher { package, target, test } = &mutant.caught_by;
            if !LEFT.iter().any(|(left, begin)| package == left && test.starts_with(begin)) {
                let turn = hash(&format!("{} {package} {target}", self.head));
                let is_slow = SLOW.contains(&package.as_str());
                groups.entry((is_slow, age, turn, package, target)).or_default().push(mutant);
            }
        }
        let mut groups: Vec<Vec<&Mutant>> = groups.into_values().collect();
        for group in &mut groups {
            group.sort_by_key(|mutant| hash(&format!("{} {}", self.head, mutant.name)));
        }
        Touched { groups, count }
    }

    fn age(&self, mutant: &Mutant) -> Option<usize> {
        let tests = mutant.caught_by.files();
        let is_of = |file: &str| {
            file == mutant.file
                || file.strip_prefix("testing/mutants/") == Some(&mutant.own_file)
                || tests.iter().any(|test| file.ends_with(test))
        };
        let part = self.parts.iter().find(|(part, _)| part.holds(mutant));
        let has_changed = |file: &String| part.is_none_or(|(_, files)| files.contains(file));
        let touching = self.ages.iter().filter(|(file, _)| is_of(file) && has_changed(file));
        touching.map(|(_, &age)| age).min()
    }
}

fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(str::to_owned).collect()
}

/// FNV-1a: the same on every machine.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(name: &str, file: &str, caught_by: [&str; 3]) -> Mutant {
        let [package, target, test] = caught_by.map(str::to_owned);
        Mutant {
            name: name.to_owned(),
            own_file: format!("{name}.toml"),
            number: 1,
            description: String::new(),
            file: file.to_owned(),
            find: String::new(),
            replace: String::new(),
            caught_by: Catcher { package, target, test },
        }
    }

    fn mutants() -> Vec<Mutant> {
        vec![
            mutant("old", "crates/a/src/old.rs", ["a", "rules", "b::c"]),
            mutant("new", "crates/a/src/new.rs", ["a", "rules", "b::c"]),
            mutant("newer", "crates/a/src/newer.rs", ["a", "keys", "c"]),
            mutant("tested", "crates/a/src/same.rs", ["a", "server", "store::full::x"]),
            mutant("reworded", "crates/a/src/same.rs", ["a", "rules", "b::c"]),
            mutant("same", "crates/a/src/same.rs", ["a", "rules", "b::c"]),
        ]
    }

    fn names(head: &str, list: &str) -> Vec<Vec<String>> {
        names_since(head, list, vec![])
    }

    fn names_since(
        head: &str,
        list: &str,
        parts: Vec<(Part, BTreeSet<String>)>,
    ) -> Vec<Vec<String>> {
        let (mutants, change) = (mutants(), Change::read(head.to_owned(), list, parts));
        let name = |mutant: &&Mutant| mutant.name.clone();
        let touched = change.touched(&mutants).groups;
        touched.iter().map(|group| group.iter().map(name).collect()).collect()
    }

    #[test]
    fn the_newest_change_comes_first_and_what_has_not_changed_is_left_out() {
        let list = "crates/a/src/newer.rs\n\ncommit:2\n\ncrates/a/src/new.rs\ncrates/a/src/newer.rs\n\
                    commit:1\n\ncrates/a/src/old.rs\ncrates/a/src/new.rs\nREADME.md\n";
        assert_eq!(names("2", list), [["newer"], ["new"], ["old"]]);
    }

    #[test]
    fn a_mutant_is_touched_by_its_own_file_and_by_its_test() {
        let own = "testing/mutants/reworded.toml\n";
        assert_eq!(names("1", own), [["reworded"]]);
        assert_eq!(names("1", "crates/a/tests/server/store/full.rs\n"), [["tested"]]);
        assert_eq!(names("1", "crates/a/tests/rules/c.rs\n"), Vec::<Vec<String>>::new());
        let both = names("1", "crates/a/tests/rules/b.rs\n");
        assert_eq!(both.concat().len(), 4, "{both:?}");
    }

    #[test]
    fn a_part_that_was_seeded_is_touched_by_what_has_changed_since() {
        let list = "commit:2\ncrates/a/src/new.rs\ncommit:1\ncrates/a/src/old.rs\n";
        let parts = |part: &str, changed| vec![(part.parse().unwrap(), lines(changed))];
        let of = |part, changed| names_since("2", list, parts(part, changed));
        assert_eq!(of("1/8", "crates/a/src/old.rs"), [["old"]]);
        assert_eq!(of("1/8", ""), Vec::<Vec<String>>::new());
        assert_eq!(of("2/8", ""), [["new"], ["old"]], "another part was seeded");
    }

    #[test]
    fn what_tests_of_the_long_gate_catch_is_counted_and_left_to_it() {
        let left = [
            mutant("a", "lab/src/a.rs", ["scurry-lab", "report", "c"]),
            mutant("b", "lab/src/a.rs", ["scurry-cli", "http", "console::c"]),
            mutant("c", "lab/src/a.rs", ["scurry-cli", "http", "store::c"]),
        ];
        let change = Change::read("1".to_owned(), "lab/src/a.rs", vec![]);
        let Touched { groups, count } = change.touched(&left);
        let names: Vec<&str> = groups.concat().iter().map(|mutant| mutant.name.as_str()).collect();
        assert_eq!((names, count), (vec!["c"], 3));
    }

    #[test]
    fn what_is_built_soon_comes_first_though_its_change_is_older() {
        let mutants = [
            mutant("server", "crates/a/src/new.rs", ["scurry-cli", "server", "c"]),
            mutant("rule", "crates/a/src/old.rs", ["scurry-ledger", "rules", "c"]),
        ];
        let list = "crates/a/src/new.rs\n\ncommit:1\n\ncrates/a/src/old.rs\n";
        let groups = Change::read("1".to_owned(), list, vec![]).touched(&mutants).groups;
        let names: Vec<&str> = groups.concat().iter().map(|mutant| mutant.name.as_str()).collect();
        assert_eq!(names, ["rule", "server"]);
    }

    #[test]
    fn one_commit_has_one_order_and_another_has_another() {
        let list = "crates/a/src/same.rs\ncrates/a/src/old.rs\ncrates/a/src/newer.rs\n";
        assert_eq!(names("1", list), names("1", list));
        assert!((2..20).any(|head| names(&head.to_string(), list) != names("1", list)));
    }
}
