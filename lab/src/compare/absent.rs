//! Published systems that have no row of a target: a row each that says why.

use anyhow::{Context, Result};

use crate::report::published_systems;
use crate::row::Row;
use crate::scenario::Scenario;
use crate::target::Target;

const NO_PACKAGE: &str =
    "no package registry of the lab has it: measure it with its own tools and compare the rows";
/// Published systems that no target stands for, and why.
const ABSENT: &[(&str, &str)] = &[
    (
        "Aerospike",
        "no package registry of the lab has it: two-phase measures one that runs, by --address",
    ),
    ("NCache", NO_PACKAGE),
    ("Volt Active Data", "its licence asks for a key: measure it with voltdb-charglt"),
    ("the course's own store", "its source is not published: scurry-http has the same requests"),
];

/// A row for each published system of the scenario that none of the rows is of.
///
/// # Errors
/// When nothing says why.
pub(super) fn rows(scenario: &Scenario, measured: &[Row]) -> Result<Vec<Row>> {
    let systems = published_systems(scenario)?;
    let missing = systems.iter().filter(|system| !measured.iter().any(|row| is_of(row, system)));
    missing.map(|system| row(system, measured)).collect()
}

fn row(system: &str, measured: &[Row]) -> Result<Row> {
    let why = why(system).with_context(|| format!("nothing says why {system} is not measured"))?;
    let like = measured.first().cloned().unwrap_or_default();
    Ok(Row {
        scenario: like.scenario,
        step: like.step,
        target: system.to_owned(),
        durability: "unknown".to_owned(),
        audit: format!("not measured here: {why}"),
        not_measured: Some(why.to_owned()),
        load: like.load,
        host: like.host,
        stand: like.stand,
        ..Row::default()
    })
}

fn why(system: &str) -> Option<&'static str> {
    let named = ABSENT.iter().find(|(name, _)| *name == system).map(|(_, why)| *why);
    let is_target = || Target::ALL.iter().any(|target| is_product(target.name(), system));
    named.or_else(|| {
        is_target().then_some("none of its targets was asked for: compare --full has it")
    })
}

/// The row is of a target of this system.
fn is_of(row: &Row, system: &str) -> bool {
    is_product(&row.target, system)
}

/// "Tarantool 1.9" is of the product of `tarantool+lua`, and "MySQL NDB Cluster" of that of `ndb`.
fn is_product(target: &str, system: &str) -> bool {
    let product = target.split(['+', ':', ' ']).next().unwrap_or_default();
    system.split(' ').any(|word| word.to_lowercase() == product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_system_has_a_target_or_a_reason() {
        let mut seen = 0;
        for scenario in Scenario::all().unwrap() {
            for system in published_systems(&scenario).unwrap() {
                assert!(why(&system).is_some(), "{}: {system}", scenario.name);
                seen += 1;
            }
            // A published table is of somebody.
            assert!(
                scenario.published.is_empty() == published_systems(&scenario).unwrap().is_empty()
            );
        }
        assert!(seen > 10, "{seen}");
    }

    #[test]
    fn what_no_row_is_of_gets_one() {
        let charglt = Scenario::built_in("charglt").unwrap();
        let found = rows(&charglt, &[]).unwrap();
        assert_eq!(found[0].target, "Volt Active Data");
        assert!(found[0].not_measured.as_ref().unwrap().contains("licence"));
        let moaf = Scenario::built_in("moaf-scur").unwrap();
        let redis = Row { target: "redis+lua:always".to_owned(), ..Row::default() };
        let found = rows(&moaf, &[redis]).unwrap();
        let names: Vec<&str> = found.iter().map(|row| row.target.as_str()).collect();
        assert!(names.contains(&"Aerospike") && names.contains(&"Tarantool 1.9"), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("Redis")), "{names:?}");
    }
}
