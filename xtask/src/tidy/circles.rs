//! No circles: the modules of a crate use each other in one direction.
//!
//! A module is a file. Among sibling modules a use is an arrow from one to the other, and the arrows must form no
//! circle. A use by or of a nested module counts for the sibling that contains it, and the same rule holds inside each
//! module: `core::turns` that uses `crate::connection` is an arrow from `core` to `connection`. A module and the
//! modules within it are one unit, as they are to the compiler, which lets the inner ones see the private items of the
//! outer one: uses between them are no arrows. To prevent circles that this would hide, a use counts for the module
//! that declares the name and not for a re-export, and a module must not glob-import a module that contains it.

use super::Finding;
use super::modules::{Modules, Path, Reference};
use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Arrows between sibling modules: the first use of each.
type Arrows<'r> = BTreeMap<&'r str, BTreeMap<&'r str, &'r Reference>>;

/// Finds circles in any crate.
pub(crate) fn circles(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for dir in tree.crate_dirs() {
        for root in ["lib.rs", "main.rs"] {
            let modules = Modules::read(tree, &format!("{dir}/src/{root}"));
            for (path, index) in modules.globs_of_ancestors() {
                let what = "brings in all names of a module that it stands within: name them";
                findings.push(Finding::at(path, index, what));
            }
            let references = modules.references();
            for (level, arrows) in by_level(&references) {
                let place = [&[format!("{dir}/src")], level].concat().join("/");
                let strongly_connected = strongly_connected(&arrows);
                findings.extend(
                    strongly_connected.iter().map(|circle| finding(&arrows, circle, &place)),
                );
            }
        }
    }
    findings
}

/// Groups the arrows by the directory of their modules.
fn by_level(references: &[Reference]) -> BTreeMap<&[String], Arrows<'_>> {
    let mut levels: BTreeMap<&[String], Arrows<'_>> = BTreeMap::new();
    for reference in references {
        let (from, to): (&Path, &Path) = (&reference.from, &reference.to);
        // The arrow belongs to the level at which the two paths part.
        let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if let (Some(own), Some(other)) = (from.get(shared), to.get(shared)) {
            let arrows = levels.entry(&from[..shared]).or_default();
            arrows.entry(own).or_default().entry(other).or_insert(reference);
        }
    }
    levels
}

/// Returns sets of modules that all reach each other (strongly connected), sorted.
fn strongly_connected<'r>(arrows: &Arrows<'r>) -> Vec<BTreeSet<&'r str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|from| (*from, way(arrows, from, |_| false).1)).collect();
    let mut strongly_connected: Vec<BTreeSet<&str>> = Vec::new();
    for (from, reached) in &reach {
        let back = |to: &&&str| reach.get(**to).is_some_and(|back| back.contains(from));
        let knot: BTreeSet<&str> = reached.iter().filter(back).copied().collect();
        // A module that reaches itself is in a circle; record each circle once.
        if reached.contains(from) && !strongly_connected.contains(&knot) {
            strongly_connected.push(knot);
        }
    }
    strongly_connected
}

/// Returns the shortest path along arrows from a module to any module that satisfies `is_end`, and all modules that
/// were visited.
fn way<'r>(
    arrows: &Arrows<'r>,
    from: &str,
    is_end: impl Fn(&str) -> bool,
) -> (Vec<&'r Reference>, BTreeSet<&'r str>) {
    let mut passed = BTreeSet::new();
    let mut queue: VecDeque<(&str, Vec<&Reference>)> = VecDeque::from([(from, Vec::new())]);
    while let Some((at, steps)) = queue.pop_front() {
        for (to, reference) in arrows.get(at).into_iter().flatten() {
            if !passed.insert(*to) {
                continue;
            }
            let steps = [steps.as_slice(), &[*reference]].concat();
            if is_end(to) {
                return (steps, passed);
            }
            queue.push_back((to, steps));
        }
    }
    (Vec::new(), passed)
}

fn finding(arrows: &Arrows<'_>, circle: &BTreeSet<&str>, place: &str) -> Finding {
    let ways = circle.iter().map(|from| way(arrows, from, |to| to == *from).0);
    let shortest = ways.min_by_key(Vec::len).unwrap_or_default();
    let steps: Vec<String> = shortest
        .iter()
        .map(|step| format!("{}:{} uses `{}`", step.file, step.index + 1, step.to.join("::")))
        .collect();
    let names: Vec<&str> = circle.iter().copied().collect();
    let what = format!(
        "{} modules of {place} are in one circle ({}); the shortest: {}",
        names.len(),
        names.join(", "),
        steps.join(", ")
    );
    match shortest.first() {
        Some(first) => Finding::at(&first.file, first.index, what),
        None => Finding::in_file(place, what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIR: &str = "crates/engine/src";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![("crates/engine/Cargo.toml".to_owned(), "")];
        all.extend(files.iter().map(|(path, text)| (format!("{DIR}/{path}"), *text)));
        let all: Vec<(&str, &str)> = all.iter().map(|(path, text)| (&**path, *text)).collect();
        circles(&Tree::from_files(&all)).iter().map(Finding::to_string).collect()
    }

    const CIRCLE: [(&str, &str); 4] = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;"),
        ("a.rs", "//! Why.\nuse crate::b;\nuse crate::d;"),
        ("b.rs", "fn f() { super::c::g() }"),
        ("c.rs", "use crate::a::A;"),
    ];

    #[test]
    fn a_circle_is_found_with_its_modules_and_uses() {
        let expected = format!(
            "{DIR}/a.rs:2: 3 modules of {DIR} are in one circle (a, b, c); the shortest: {DIR}/a.rs:2 uses `b`, \
             {DIR}/b.rs:1 uses `c`, {DIR}/c.rs:1 uses `a`"
        );
        assert_eq!(found(&CIRCLE), [expected]);
    }

    #[test]
    fn one_direction_passes() {
        let files = [CIRCLE[0], CIRCLE[1], CIRCLE[2], ("c.rs", "use std::a::A;")];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn what_stands_within_a_module_counts_as_that_module() {
        let files = [
            ("lib.rs", "mod a;\nmod b;"),
            ("a.rs", "mod inner;"),
            ("a/inner.rs", "use crate::b;\nuse super::Own;"),
            ("b.rs", "use crate::a;"),
        ];
        let found = found(&files);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("(a, b)"), "{found:?}");
    }

    #[test]
    fn the_inside_of_a_module_has_the_same_rule_and_is_one_unit_with_it() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b;\nmod c;\npub use c::C;\nstruct Own;\nfn f() { b::g() }"),
            ("a/b.rs", "use super::C;\nuse super::Own;"),
            ("a/c.rs", "use super::b;\npub struct C;"),
        ];
        let names = found(&files);
        assert_eq!(names.len(), 1);
        assert!(names[0].contains(&format!("2 modules of {DIR}/a are in one circle (b, c)")));
        let files = [files[0], files[1], ("a/b.rs", "use super::Own;"), files[3]];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn all_names_of_a_module_around_are_not_brought_in() {
        let files = [("lib.rs", "mod a;"), ("a.rs", "mod b;"), ("a/b.rs", "use super::*;")];
        assert_eq!(found(&files).len(), 1);
        let files = [files[0], files[1], ("a/b.rs", "#[cfg(test)]\nmod tests { use super::*; }")];
        assert!(found(&files).is_empty());
    }
}
