//! The content of a store as tables, for other tools: what `scurry export --parquet` and `--csv` write.

mod account_scan;
mod accounts;
mod balances;
mod from_backup;
mod from_store;
mod sessions;
mod totals;
mod transactions;
mod writer;

pub(crate) use account_scan::AccountScan;
pub(crate) use from_backup::export_backup;
pub(crate) use from_store::export_store;

use scurry_ledger::{Identity, Time};
use scurry_tables::{Cell, Table, text_of};

/// All tables, in the order of the documents.
pub(crate) const TABLES: [&Table; 12] = [
    &accounts::ACCOUNTS,
    &accounts::IDENTITIES,
    &balances::BUCKETS,
    &sessions::SESSIONS,
    &sessions::ITEMS,
    &sessions::HOLDS,
    &balances::LIMITS,
    &balances::COUNTERS,
    &transactions::TRANSACTIONS,
    &transactions::DEBITS,
    &accounts::UNITS,
    &totals::TOTALS,
];

fn time<'a>(time: Time) -> Cell<'a> {
    Cell::Time(time.0)
}

fn shown<'a>(value: impl ToString) -> Cell<'a> {
    Cell::Text(value.to_string().into())
}

/// Returns identities as an object of JSON.
fn json_of<'a>(identities: &[Identity]) -> Cell<'a> {
    let pairs = identities.iter().map(|identity| {
        let value = text_of(identity.value.as_bytes()).into_owned();
        (identity.kind.as_str().to_owned(), serde_json::Value::String(value))
    });
    let object: serde_json::Map<_, _> = pairs.collect();
    shown(serde_json::Value::Object(object))
}

#[cfg(test)]
mod tests {
    use super::TABLES;

    #[test]
    fn the_document_has_the_tables_and_their_columns() {
        let document = include_str!("../../../docs/analytics.md");
        let (_, document) = document.split_once("\n### ").expect("the tables come last");
        let section = |table: &&super::Table| {
            format!("{}\n\n{}\n\n{}", table.name, table.about, table.markdown())
        };
        let sections: Vec<String> = TABLES.iter().map(section).collect();
        assert_eq!(document, sections.join("\n### "), "docs/analytics.md has other tables");
    }
}
