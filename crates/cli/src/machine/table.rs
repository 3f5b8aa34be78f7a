//! Tables printed for people.

use crate::terminal_escape::escaped;

/// Prints lines of cells as a table whose columns are as wide as their longest cell.
pub(crate) fn print_table<const COLUMNS: usize>(lines: &[[String; COLUMNS]]) {
    // Cells contain text that servers send, so it is escaped for the terminal.
    let lines: Vec<[String; COLUMNS]> =
        lines.iter().map(|line| std::array::from_fn(|at| escaped(&line[at]))).collect();
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
    });
    for line in &lines {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
