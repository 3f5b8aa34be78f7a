//! A text table with aligned columns.

/// Rows of cells under headings. The first columns hold text, the rest numbers.
#[derive(Debug)]
pub(crate) struct Grid {
    rows: Vec<Vec<String>>,
    left: Vec<bool>,
}

impl Grid {
    /// Creates a table with these headings; a leading `<` aligns the column to the left.
    pub(crate) fn new(headings: &[&str]) -> Grid {
        let left = headings.iter().map(|heading| heading.starts_with('<')).collect();
        let names = headings.iter().map(|heading| heading.trim_start_matches('<').to_owned());
        Grid { rows: vec![names.collect()], left }
    }

    pub(crate) fn push(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.left.len());
        self.rows.push(cells);
    }

    pub(crate) fn render(&self) -> String {
        let width = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.left.len()).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, width), left) in row.iter().zip(&widths).zip(&self.left) {
                let cell =
                    if *left { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
                line.push_str(&cell);
                line.push_str("  ");
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// Formats a whole number with separated thousands.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut grid = Grid::new(&["<name", "ops/s"]);
        grid.push(vec!["a".into(), grouped(1_234_567.4)]);
        grid.push(vec!["longer".into(), grouped(12.0)]);
        assert_eq!(grid.render(), "name        ops/s\na       1 234 567\nlonger         12\n");
    }
}
