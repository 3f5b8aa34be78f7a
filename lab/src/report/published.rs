//! Figures that others published for the same workload. They stand beside the measured rows and
//! are never part of a ratio: other hardware, other years.

use std::fmt::Write;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::grid::{Grid, grouped};

const PUBLISHED: &str = include_str!("../../published.toml");

#[derive(Debug, Deserialize)]
struct Tables {
    table: Vec<Table>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Table {
    pub(crate) source: String,
    pub(crate) hardware: String,
    pub(crate) scenario: String,
    pub(crate) columns: Vec<String>,
    rows: Vec<Vec<toml::Value>>,
}

/// The published tables of a scenario; nothing when there are none.
pub(crate) fn tables(scenario: &str) -> Result<Vec<Table>> {
    let tables: Tables = toml::from_str(PUBLISHED).context("reading the published figures")?;
    Ok(tables.table.into_iter().filter(|table| table.scenario == scenario).collect())
}

/// They as text.
pub(crate) fn render(scenario: &str) -> Result<String> {
    let mut out = String::new();
    for table in &tables(scenario)? {
        writeln!(out, "\npublished, other hardware, never in a ratio: {}", table.source)?;
        writeln!(out, "{}", table.hardware)?;
        let headings: Vec<String> = table
            .columns
            .iter()
            .enumerate()
            .map(
                |(index, name)| {
                    if is_text(table, index) { format!("<{name}") } else { name.clone() }
                },
            )
            .collect();
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let mut grid = Grid::new(&headings);
        for row in &table.rows {
            grid.push(row.iter().map(cell).collect());
        }
        out.push_str(&grid.render());
    }
    Ok(out)
}

impl Table {
    /// The rows as text, each cell with whether its column is one of text.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Vec<(String, bool)>> {
        let cells = |row: &Vec<toml::Value>| {
            row.iter().enumerate().map(|(at, value)| (cell(value), is_text(self, at))).collect()
        };
        self.rows.iter().map(cells)
    }
}

fn is_text(table: &Table, column: usize) -> bool {
    table.rows.iter().any(|row| row.get(column).is_some_and(toml::Value::is_str))
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
        let text = render("moaf-scur").unwrap();
        assert_eq!(text.matches("published, other hardware, never in a ratio").count(), 2);
        assert!(text.contains("Redis 4.0.8"), "{text}");
        assert!(text.contains("505 894"), "{text}");
        assert_eq!(render("kv").unwrap(), "");
    }

    #[test]
    fn every_row_has_a_cell_per_column() {
        let tables: Tables = toml::from_str(PUBLISHED).unwrap();
        for table in tables.table {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        }
    }
}
