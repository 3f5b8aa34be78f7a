//! Rows of a table of events, as the records that they were written from.

use anyhow::{Context, Result};
use scurry_ledger::Time;
use scurry_service::{Event, EventCommit, EventField, EventId};
use scurry_ship::Record;
use scurry_tables::{Cell, NamedCells};
use std::collections::BTreeMap;

/// Returns the event of a row of [`scurry_sink_files::EVENTS`]. Columns of later versions are skipped.
pub(crate) fn record_of_row(row: NamedCells) -> Result<Record> {
    let (mut id, mut store, mut name) = (String::new(), String::new(), String::new());
    let (mut account, mut time, mut fields) = (String::new(), None, Vec::new());
    for (column, cell) in row {
        match (column.as_str(), cell) {
            ("id", Cell::Text(text)) => id = text.into_owned(),
            ("store", Cell::Text(text)) => store = text.into_owned(),
            ("event", Cell::Text(text)) => name = text.into_owned(),
            ("account", Cell::Text(text)) => account = text.into_owned(),
            ("time", Cell::Time(ms)) => time = Some(Time(ms)),
            ("identities", Cell::Text(text)) => {
                let all: BTreeMap<String, String> =
                    serde_json::from_str(&text).context("its identities are no object of JSON")?;
                fields.extend(all.into_iter().map(|(kind, value)| {
                    (
                        format!("identity.{kind}").into(),
                        EventField::Bytes(value.into_bytes().into()),
                    )
                }));
            }
            ("count", Cell::Int(number)) => {
                fields.push(("value".into(), EventField::Number(number)))
            }
            (_, Cell::Text(text)) => {
                fields.push((
                    column.into(),
                    EventField::Bytes(text.into_owned().into_bytes().into()),
                ));
            }
            (_, Cell::Bytes(bytes)) => fields.push((column.into(), EventField::Bytes(bytes))),
            (_, Cell::Int(number) | Cell::Time(number)) => {
                fields.push((column.into(), EventField::Number(number)));
            }
            (_, Cell::Null | Cell::Wide(_) | Cell::Bool(_)) => {}
        }
    }
    let id =
        EventId::parse(id.as_bytes()).with_context(|| format!("{id:?} is no id of an event"))?;
    let commit = time.map(|time| EventCommit { time, account: account.into_bytes().into() });
    Ok(Record::of_event(&store, Event { id, commit, name: name.into(), fields }))
}
