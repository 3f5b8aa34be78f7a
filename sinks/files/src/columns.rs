//! Events as a table: a column for each field of [`Record`].

use scurry_ship::Record;
use scurry_tables::{Cell, table};
use std::collections::BTreeMap;

table! {
    /// Events. docs/events.md has the meaning of the fields.
    pub EVENTS, event_cells, row: Record, "events", "An event. Columns that it does not have are null.";
    "id" Text required "Position of the event in its store, the same each time when it is read." => Cell::text(&row.id);
    "store" Text required "The store, 16 hexadecimal digits." => Cell::text(&row.store);
    "time" Time optional "Time of the commit. Null for `missed`." => Cell::of(Some(row.time_ms).filter(|&time| time != 0), Cell::Time);
    "event" Text required "Name of the event." => Cell::text(&row.event);
    "account" Text optional "Account id; null for an event of the whole store." => Cell::of(Some(row.account.as_str()).filter(|id| !id.is_empty()), Cell::text);
    "version" Int optional "Version of the account after the commit." => Cell::of(row.version, Cell::number);
    "identities" Json optional "Identities of the account by their kinds, an object of JSON." => identities(&row.identities);
    "transaction" Text optional "Transaction id." => Cell::of(row.transaction.as_deref(), Cell::text);
    "session" Text optional "Session id." => Cell::of(row.session.as_deref(), Cell::text);
    "request" Int optional "Request number." => Cell::of(row.request, Cell::number);
    "data" Bytes optional "DATA of the session: opaque bytes of its client." => Cell::of(row.data.as_deref(), |data| Cell::Bytes(data.into()));
    "item" Text optional "Key of the item." => Cell::of(row.item.as_deref(), Cell::text);
    "item_no" Int optional "Place of the item in its session, from 0." => Cell::of(row.item_no, Cell::number);
    "bucket" Text optional "Name of the bucket." => Cell::of(row.bucket.as_deref(), Cell::text);
    "bucket_no" Int optional "Number of the bucket, never reused in the account." => Cell::of(row.bucket_no, Cell::number);
    "unit" Text optional "Unit of the amounts." => Cell::of(row.unit.as_deref(), Cell::text);
    "amount" Int optional "Amount of a movement, of a limit, or of use that could not be debited." => Cell::of(row.amount, Cell::Int);
    "change" Int optional "Amount added to available." => Cell::of(row.change, Cell::Int);
    "held_change" Int optional "Amount added to held." => Cell::of(row.held_change, Cell::Int);
    "available" Int optional "Available after the commit." => Cell::of(row.available, Cell::Int);
    "held" Int optional "Held after the commit." => Cell::of(row.held, Cell::Int);
    "requested" Int optional "Amount that was asked for and denied." => Cell::of(row.requested, Cell::Int);
    "code" Text optional "Result of a denial." => Cell::of(row.code.as_deref(), Cell::text);
    "cause" Text optional "Cause of a denial." => Cell::of(row.cause.as_deref(), Cell::text);
    "allowed_at" Time optional "Time at which a limit allows what it denied." => Cell::of(row.allowed_at, Cell::Time);
    "used" Int optional "Reported use, or what a limit has used." => Cell::of(row.used, Cell::Int);
    "uncollected" Int optional "Part of reported use that could not be debited." => Cell::of(row.uncollected, Cell::Int);
    "status" Text optional "Status of the account." => Cell::of(row.status.as_deref(), Cell::text);
    "kind" Text optional "Kind of an identity." => Cell::of(row.kind.as_deref(), Cell::text);
    "value" Text optional "Value of an identity; empty where it is removed." => Cell::of(row.value.as_deref(), Cell::text);
    "priority" Int optional "Priority of a bucket." => Cell::of(row.priority, Cell::Int);
    "valid_from" Time optional "Begin of a bucket's validity." => Cell::of(row.valid_from, Cell::Time);
    "valid_to" Time optional "End of a bucket's validity. Null for no end." => Cell::of(row.valid_to, Cell::Time);
    "floor" Int optional "Lowest amount of a bucket." => Cell::of(row.floor, Cell::Int);
    "items" Text optional "Keys of the items that a bucket is for, with spaces between; empty for all." => Cell::of(row.items.as_deref(), Cell::text);
    "counter" Text optional "Name of a counter." => Cell::of(row.counter.as_deref(), Cell::text);
    "count" Int optional "Value of a counter." => Cell::of(row.count, Cell::Int);
    "limit" Text optional "Name of a limit." => Cell::of(row.limit.as_deref(), Cell::text);
    "percent" Int optional "Percentage of a limit that was reached: 80 or 100." => Cell::of(row.percent, Cell::number);
    "threshold" Int optional "Threshold that available has crossed." => Cell::of(row.threshold, Cell::Int);
    "from" Text optional "First position that was missed." => Cell::of(row.from.as_deref(), Cell::text);
    "to" Text optional "Position after those that were missed." => Cell::of(row.to.as_deref(), Cell::text);
    "left_out" Int optional "Denials of the same command that have no event." => Cell::of(row.left_out, Cell::number);
    "mark" Int optional "Mark of a bucket." => Cell::of(row.mark, Cell::Int);
}

fn identities(identities: &BTreeMap<String, String>) -> Cell<'_> {
    let json = |identities| {
        serde_json::to_string(identities).expect("a map of texts has no fault of JSON")
    };
    Cell::of(Some(identities).filter(|all| !all.is_empty()), |all| Cell::Text(json(all).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_record_has_a_column() {
        let shown = format!("{:#?}", Record::default());
        let field = |line: &str| {
            let line = line.strip_prefix("    ").filter(|line| !line.starts_with(' '))?;
            let name = line.split_once(':')?.0.to_owned();
            Some(if name == "time_ms" { "time".to_owned() } else { name })
        };
        let mut fields: Vec<String> = shown.lines().filter_map(field).collect();
        let mut columns: Vec<&str> = EVENTS.columns.iter().map(|column| column.name).collect();
        assert!(fields.len() > 40, "{fields:?}");
        fields.sort_unstable();
        columns.sort_unstable();
        assert_eq!(fields, columns, "add a line to the table of columns");
    }
}
