//! Reads results that this release of the lab or an older one wrote; fields that the older one did not write are empty.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::row::Report;

/// Reads the rows of a file that `scurry-lab run` or `compare` wrote.
///
/// # Errors
/// When the file cannot be read, or has other contents.
pub fn read(path: &Path) -> Result<Report> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("reading {}", path.display()))?;
    parse(&text).with_context(|| format!("reading {}", path.display()))
}

fn parse(text: &str) -> Result<Report> {
    let value: Value = serde_json::from_str(text).context("it is no JSON")?;
    let rows = value.get("rows").and_then(Value::as_array).map(Vec::as_slice);
    let is_run = |row: &Value| row.get("scenario").is_some() && row.get("target").is_some();
    ensure!(
        rows.is_some_and(|rows| rows.iter().all(is_run)),
        "it has no rows of targets: give what `scurry-lab run` or `compare` wrote with --json"
    );
    serde_json::from_value(value).context("its rows have another shape")
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
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_row_without_newer_fields_is_read() {
        let report = parse(r#"{"rows":[{"scenario":"kv","target":"echo","door":null}]}"#).unwrap();
        assert_eq!(report.rows[0].target, "echo");
        assert_eq!(report.rows[0].figures.business_ops_per_s, None);
    }
}
