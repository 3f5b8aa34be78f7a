//! Reading what the lab wrote, of this release or an older one: fields that an older one did not
//! write are empty.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::ladder::Ladder;
use crate::row::Report;

/// One file of results.
#[derive(Clone, Debug)]
pub enum Results {
    /// Of `scurry-lab run` and `compare`.
    Rows(Report),
    /// Of `scurry-lab ladder`.
    Ladder(Ladder),
}

impl Results {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is neither.
    pub fn read(path: &Path) -> Result<Results> {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("reading {}", path.display()))?;
        Results::parse(&text).with_context(|| format!("reading {}", path.display()))
    }

    /// Reads the rows of a file.
    ///
    /// # Errors
    /// As [`Results::read`], and when it holds a ladder.
    pub fn read_rows(path: &Path) -> Result<Report> {
        match Results::read(path)? {
            Results::Rows(report) => Ok(report),
            Results::Ladder(_) => bail!(
                "{} is a ladder: give a file that `scurry-lab run --json` wrote",
                path.display()
            ),
        }
    }

    fn parse(text: &str) -> Result<Results> {
        let value: Value = serde_json::from_str(text).context("it is no JSON")?;
        if value.get("rungs").is_some() {
            let ladder = serde_json::from_value(value).context("its rungs have another shape")?;
            return Ok(Results::Ladder(ladder));
        }
        let rows = value.get("rows").and_then(Value::as_array).map(Vec::as_slice);
        let is_run = |row: &Value| row.get("scenario").is_some() && row.get("target").is_some();
        if !rows.is_some_and(|rows| rows.iter().all(is_run)) {
            bail!(
                "it has no rows of targets: give what `scurry-lab run`, `compare` or `ladder` wrote \
                 with --json"
            );
        }
        let report = serde_json::from_value(value).context("its rows have another shape")?;
        Ok(Results::Rows(report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_refused_in_words() {
        for (text, expected) in [
            ("{", "no JSON"),
            ("{}", "no rows of targets"),
            (r#"{"rows":[{"kind":"keys"}]}"#, "no rows of targets"),
            (r#"{"rows":[{"scenario":"kv","target":7}]}"#, "another shape"),
        ] {
            let error = format!("{:#}", Results::parse(text).unwrap_err());
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_row_without_newer_fields_is_read() {
        let Results::Rows(report) =
            Results::parse(r#"{"rows":[{"scenario":"kv","target":"echo","door":null}]}"#).unwrap()
        else {
            panic!("rows");
        };
        assert_eq!(report.rows[0].target, "echo");
        assert_eq!(report.rows[0].figures.business_ops_per_s, None);
    }
}
