//! Numbers as documents write them, and tables of Markdown.

/// Formats 1234567.8 as 1,234,568.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats microseconds with a unit and three digits.
pub(super) fn duration(us: f64) -> String {
    match us {
        us if us < 999.5 => format!("{us:.0} us"),
        us if us < 9_995.0 => format!("{:.2} ms", us / 1e3),
        us if us < 99_950.0 => format!("{:.1} ms", us / 1e3),
        us if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// Formats a ratio: below 1 in percent, else in times.
pub(super) fn multiple(value: f64) -> String {
    match value {
        value if value < 0.99 => format!("{:.0} %", 100.0 * value),
        value if value < 1.0 => format!("{:.1} %", 100.0 * value),
        value if value < 9.995 => format!("{value:.2} times"),
        value => format!("{value:.1} times"),
    }
}

/// Returns the median; the lower of two middle values, as the laboratory does.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

/// Returns the minimum and the maximum.
pub(super) fn range(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Markdown table.
pub(super) struct Table {
    text: String,
}

impl Table {
    pub(super) fn new(headings: &[&str]) -> Table {
        let mut table = Table { text: String::new() };
        table.push(headings);
        table.text.push_str(&format!("|{}\n", "---|".repeat(headings.len())));
        table
    }

    pub(super) fn push(&mut self, cells: &[impl AsRef<str>]) {
        let cells = cells.iter().map(|cell| match cell.as_ref() {
            "" => " |".to_owned(),
            text => format!(" {text} |"),
        });
        self.text.push_str(&format!("|{}\n", cells.collect::<String>()));
    }

    pub(super) fn render(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_count() {
        assert_eq!([999.6, 1_234_567.8, 12.0].map(grouped), ["1,000", "1,234,568", "12"]);
        let found = [641.2, 2_940.0, 61_400.0, 121_000.0, 17_700_000.0].map(duration);
        assert_eq!(found, ["641 us", "2.94 ms", "61.4 ms", "121 ms", "17.7 s"]);
        let found = [0.64, 0.997, 5.614, 21.0].map(multiple);
        assert_eq!(found, ["64 %", "99.7 %", "5.61 times", "21.0 times"]);
        assert_eq!(median(&[3.0, 1.0, 2.0, 4.0]), Some(2.0));
    }

    #[test]
    fn a_table_is_one_of_markdown() {
        let mut table = Table::new(&["a", ""]);
        table.push(&["1", ""]);
        assert_eq!(table.render(), "| a | |\n|---|---|\n| 1 | |\n");
    }
}
