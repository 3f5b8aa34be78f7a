//! The answer of a report: rows, totals and what is missing, as a table for people, JSON or CSV.

use super::period::time_text;
use crate::terminal_escape::escaped;
use clap::ValueEnum;
use scurry_ledger::Zone;
use serde_json::{Map, Value as Json, json};

/// Form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Columns for people
    Table,
    /// One object, with rows, totals and what is missing
    Json,
    /// The rows; totals and what is missing go to stderr
    Csv,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// None.
    Nothing,
    /// A name, an id or a word.
    Text(String),
    /// An amount in minor units, or a count.
    Number(i128),
    /// A moment, ms since 1970 UTC.
    Time(i64),
    /// True or false.
    Bool(bool),
}

/// Rows with named columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    /// Names of the columns.
    pub(crate) columns: Vec<&'static str>,
    /// Rows, with a value for each column.
    pub(crate) rows: Vec<Vec<Value>>,
}

/// The answer of a report.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// What it is about: names and values, such as the store and the period.
    pub(crate) about: Vec<(&'static str, Value)>,
    /// The rows.
    pub(crate) rows: Rows,
    /// Sums over all rows, also those that `--top` leaves out.
    pub(crate) totals: Rows,
    /// Number of rows that are left out.
    pub(crate) left_out: usize,
    /// What the answer lacks, in words. Empty if it is complete.
    pub(crate) missing: Vec<String>,
    /// Zone in which times are shown.
    pub(crate) zone: Zone,
}

impl Value {
    /// Returns a text, or nothing.
    pub(crate) fn of_text(text: Option<impl Into<String>>) -> Value {
        text.map_or(Value::Nothing, |text| Value::Text(text.into()))
    }

    /// Returns a number, or nothing.
    pub(crate) fn of_number(number: Option<impl Into<i128>>) -> Value {
        number.map_or(Value::Nothing, |number| Value::Number(number.into()))
    }

    /// Returns a moment, or nothing.
    pub(crate) fn of_time(time: Option<i64>) -> Value {
        time.map_or(Value::Nothing, Value::Time)
    }

    fn text(&self, zone: Zone) -> String {
        match self {
            Value::Nothing => String::new(),
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Time(time) => time_text(zone, *time),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
        }
    }

    fn json(&self, zone: Zone) -> Json {
        match self {
            Value::Nothing => Json::Null,
            // A number beyond 64 bits is a text: many readers of JSON would round it.
            Value::Number(number) => {
                i64::try_from(*number).map_or(json!(number.to_string()), Json::from)
            }
            Value::Bool(bool) => Json::Bool(*bool),
            Value::Text(_) | Value::Time(_) => Json::String(self.text(zone)),
        }
    }
}

impl Rows {
    /// Returns rows that have these columns, and none yet.
    pub(crate) fn new(columns: &[&'static str]) -> Rows {
        Rows { columns: columns.to_vec(), rows: Vec::new() }
    }

    fn json(&self, zone: Zone) -> Json {
        let object = |row: &Vec<Value>| {
            let pairs = self.columns.iter().zip(row);
            let pairs = pairs.map(|(name, value)| ((*name).to_owned(), value.json(zone)));
            Json::Object(pairs.collect::<Map<_, _>>())
        };
        self.rows.iter().map(object).collect()
    }

    /// Returns lines with aligned columns: numbers to the right.
    fn lines(&self, zone: Zone) -> Vec<String> {
        let titles = self.columns.iter().map(|name| (*name).to_owned()).collect();
        let mut all: Vec<Vec<String>> = vec![titles];
        all.extend(
            self.rows
                .iter()
                .map(|row| row.iter().map(|value| escaped(&value.text(zone))).collect::<Vec<_>>()),
        );
        let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> =
            (0..self.columns.len()).map(|column| width(column).unwrap_or(0)).collect();
        let is_number = |column: usize| {
            let mut values = self.rows.iter().map(|row| &row[column]);
            values.any(|value| matches!(value, Value::Number(_)))
        };
        let numbers: Vec<bool> = (0..self.columns.len()).map(is_number).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().enumerate().map(|(column, text)| {
                let room = " ".repeat(widths[column] - text.chars().count());
                if numbers[column] { format!("{room}{text}") } else { format!("{text}{room}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        all.iter().map(line).collect()
    }

    fn csv(&self, zone: Zone) -> String {
        let mut text = csv_line(self.columns.iter().map(|name| (*name).to_owned()));
        for row in &self.rows {
            text += &csv_line(row.iter().map(|value| value.text(zone)));
        }
        text
    }
}

fn csv_line(cells: impl Iterator<Item = String>) -> String {
    let quoted = |cell: String| match cell.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    };
    format!("{}\r\n", cells.map(quoted).collect::<Vec<_>>().join(","))
}

impl Answer {
    /// Writes the answer to stdout, and of CSV the rest to stderr.
    pub(crate) fn print(&self, form: Form) {
        match form {
            Form::Table => print!("{}", self.table()),
            Form::Json => println!("{}", self.json()),
            Form::Csv => {
                print!("{}", self.rows.csv(self.zone));
                self.totals_lines().iter().for_each(|line| eprintln!("{line}"));
                self.words().iter().for_each(|line| eprintln!("{line}"));
            }
        }
    }

    fn table(&self) -> String {
        let about = self.about.iter().filter(|(_, value)| *value != Value::Nothing);
        let about =
            about.map(|(name, value)| format!("{name} {}", escaped(&value.text(self.zone))));
        let mut lines = vec![about.collect::<Vec<_>>().join(", "), String::new()];
        match self.rows.rows.is_empty() {
            true => lines.push("no rows".to_owned()),
            false => lines.extend(self.rows.lines(self.zone)),
        }
        lines.push(String::new());
        lines.extend(self.totals_lines());
        lines.extend(self.words());
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Returns a line for each row of the totals.
    fn totals_lines(&self) -> Vec<String> {
        let line = |row: &Vec<Value>| {
            let pairs = self.totals.columns.iter().zip(row);
            let pairs =
                pairs.map(|(name, value)| format!("{name} {}", escaped(&value.text(self.zone))));
            format!("totals: {}", pairs.collect::<Vec<_>>().join(", "))
        };
        self.totals.rows.iter().map(line).collect()
    }

    /// Returns lines about what is left out and what is missing.
    fn words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.left_out > 0 {
            lines.push(format!("{} more rows are left out: raise --top", self.left_out));
        }
        lines.extend(self.missing.iter().map(|text| format!("NOT COMPLETE: {}", escaped(text))));
        lines
    }

    fn json(&self) -> Json {
        let about = self.about.iter();
        let mut object: Map<String, Json> =
            about.map(|(name, value)| ((*name).to_owned(), value.json(self.zone))).collect();
        object.insert("complete".to_owned(), Json::Bool(self.missing.is_empty()));
        object.insert("missing".to_owned(), json!(self.missing));
        object.insert("rows".to_owned(), self.rows.json(self.zone));
        object.insert("left_out".to_owned(), json!(self.left_out));
        object.insert("totals".to_owned(), self.totals.json(self.zone));
        Json::Object(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        let row = |id: &str, number: i128| vec![Value::Text(id.to_owned()), Value::Number(number)];
        Answer {
            about: vec![("report", Value::Text("spend".to_owned())), ("to", Value::Nothing)],
            rows: Rows {
                columns: vec!["account", "spent"],
                rows: vec![row("a\x1b,\"b\"", 5), row("é", i128::from(i64::MAX) + 1)],
            },
            totals: Rows { columns: vec!["spent"], rows: vec![vec![Value::Number(7)]] },
            left_out: 3,
            missing: vec!["the log is short".to_owned()],
            zone: Zone::UTC,
        }
    }

    #[test]
    fn a_table_is_aligned_and_says_what_is_missing() {
        let expected = "report spend\n\n\
            account                  spent\n\
            a\\x1b,\"b\"                    5\n\
            é          9223372036854775808\n\n\
            totals: spent 7\n\
            3 more rows are left out: raise --top\n\
            NOT COMPLETE: the log is short\n";
        assert_eq!(answer().table(), expected);
    }

    #[test]
    fn json_and_csv_have_the_same_rows() {
        let expected = json!({
            "report": "spend", "to": null, "complete": false, "missing": ["the log is short"],
            "rows": [{"account": "a\x1b,\"b\"", "spent": 5}, {"account": "é", "spent": "9223372036854775808"}],
            "left_out": 3, "totals": [{"spent": 7}],
        });
        assert_eq!(answer().json(), expected);
        let expected = "account,spent\r\n\"a\x1b,\"\"b\"\"\",5\r\né,9223372036854775808\r\n";
        assert_eq!(answer().rows.csv(Zone::UTC), expected);
    }
}
