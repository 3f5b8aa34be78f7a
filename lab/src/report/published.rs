//! Figures that others published for the same workload. They are printed beside the measured rows and are never part of
//! a ratio: other hardware, other years.

use std::fmt::Write;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::grid::{Grid, grouped};
use crate::scenario::Scenario;

const PUBLISHED: &str = include_str!("../../published.toml");

#[derive(Debug, Deserialize)]
struct Tables {
    table: Vec<Table>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    id: String,
    source: String,
    hardware: String,
    /// Scenario that reproduces the figures; other scenarios may also name the table.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares it with the scenarios"))]
    scenario: String,
    note: Option<String>,
    /// System of all rows, where no column names it.
    #[serde(default)]
    system: String,
    columns: Vec<String>,
    rows: Vec<Vec<toml::Value>>,
}

/// Returns the published tables that a scenario names; empty when it names none.
fn tables(scenario: &Scenario) -> Result<Vec<Table>> {
    let tables: Tables = toml::from_str(PUBLISHED).context("reading the published figures")?;
    let is_named = |table: &Table| scenario.published.contains(&table.id);
    Ok(tables.table.into_iter().filter(is_named).collect())
}

/// Renders the tables of a scenario as text.
pub(crate) fn render(scenario: &Scenario) -> Result<String> {
    let mut out = String::new();
    for table in &tables(scenario)? {
        let system =
            if table.system.is_empty() { String::new() } else { format!("{}, ", table.system) };
        writeln!(out, "\npublished, other hardware, never in a ratio: {system}{}", table.source)?;
        writeln!(out, "{}", table.hardware)?;
        let headings: Vec<String> = table
            .columns
            .iter()
            .enumerate()
            .map(
                |(index, name)| {
                    if table.is_text(index) { format!("<{name}") } else { name.clone() }
                },
            )
            .collect();
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let mut grid = Grid::new(&headings);
        table.cells().for_each(|row| grid.push(row));
        out.push_str(&grid.render());
        if let Some(note) = &table.note {
            writeln!(out, "{note}")?;
        }
    }
    Ok(out)
}

impl Table {
    /// Returns the rows as text.
    fn cells(&self) -> impl Iterator<Item = Vec<String>> {
        self.rows.iter().map(|row| row.iter().map(cell).collect())
    }

    /// Reports whether a column contains text.
    fn is_text(&self, column: usize) -> bool {
        self.rows.iter().any(|row| row.get(column).is_some_and(toml::Value::is_str))
    }
}

fn cell(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => grouped(*number as f64),
        toml::Value::Float(number) if *number >= 1_000.0 => grouped(*number),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_published_tables_are_printed_and_labelled() {
        let text = render(&Scenario::built_in("moaf-scur").unwrap()).unwrap();
        assert_eq!(text.matches("published, other hardware, never in a ratio").count(), 2);
        assert!(text.contains("Redis 4.0.8"), "{text}");
        assert!(text.contains("505 894"), "{text}");
        assert_eq!(render(&Scenario::built_in("kv").unwrap()).unwrap(), "");
    }

    #[test]
    fn each_table_is_named_by_the_scenario_that_it_is_of() {
        let tables: Tables = toml::from_str(PUBLISHED).unwrap();
        let scenarios = Scenario::all().unwrap();
        for table in &tables.table {
            let Some(scenario) = scenarios.iter().find(|one| one.name == table.scenario) else {
                panic!("{} is of no scenario", table.id)
            };
            assert!(scenario.published.contains(&table.id), "{}", table.id);
        }
        for id in scenarios.iter().flat_map(|scenario| &scenario.published) {
            assert!(tables.table.iter().any(|table| table.id == *id), "{id}");
        }
    }

    #[test]
    fn every_row_has_a_cell_per_column() {
        let tables: Tables = toml::from_str(PUBLISHED).unwrap();
        for table in tables.table {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        }
    }
}
