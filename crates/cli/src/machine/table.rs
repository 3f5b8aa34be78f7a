//! Tables for people.

/// Prints lines of cells below each other, columns as wide as they have to be.
pub(crate) fn print_table<const COLUMNS: usize>(lines: &[[String; COLUMNS]]) {
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
    });
    for line in lines {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
