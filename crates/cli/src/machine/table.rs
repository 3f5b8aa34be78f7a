//! Tables for people.

use crate::shown::escaped;

/// Prints lines of cells below each other, columns as wide as they have to be.
pub(crate) fn print_table<const COLUMNS: usize>(lines: &[[String; COLUMNS]]) {
    // Cells are what servers say of themselves.
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
