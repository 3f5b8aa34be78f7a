//! The report on stdout: the measured table, what its figures mean, and the published rows.

mod grid;
mod measured;
mod published;

use anyhow::Result;

pub(crate) use grid::{Grid, grouped};
pub(crate) use measured::{duration, render as measured_table};
pub(crate) use published::render as published_text;

use crate::row::Report;
use crate::scenario::Scenario;

/// Renders the whole report as text.
///
/// # Errors
/// When the shipped published figures are broken, which a test excludes.
pub fn render(scenario: &Scenario, report: &Report) -> Result<String> {
    let measured = measured::render(&report.rows);
    let published = published::render(scenario)?;
    Ok(format!("\n{measured}{published}"))
}
