//! An event as a record with typed fields, the same in JSON, Protobuf and tables.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use scurry_service::{Event, EventField, EventId};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use time::{Date, Month, OffsetDateTime, Time};

/// An event. docs/events.md has the meaning of the fields; those without a value are left out of JSON. Amounts are minor
/// units.
#[derive(Clone, PartialEq, Serialize, Deserialize, prost::Message)]
#[serde(default)]
pub struct Record {
    /// Position of the event in its store, the same each time when it is read.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The store, 16 hexadecimal digits.
    #[prost(string, tag = "2")]
    pub store: String,
    /// Time of the commit, ms since 1970 UTC. In JSON `time`, a date of RFC 3339. 0 for `missed`.
    #[prost(int64, tag = "3")]
    #[serde(rename = "time", serialize_with = "as_date", deserialize_with = "of_date")]
    #[serde(skip_serializing_if = "is_zero")]
    pub time_ms: i64,
    /// Name of the event.
    #[prost(string, tag = "4")]
    pub event: String,
    /// Account id; empty for an event of the whole store.
    #[prost(string, tag = "5")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub account: String,
    /// Version of the account after the commit.
    #[prost(uint64, optional, tag = "6")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Identities of the account by their kinds.
    #[prost(btree_map = "string, string", tag = "7")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub identities: BTreeMap<String, String>,
    /// Transaction id.
    #[prost(string, optional, tag = "8")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    /// Session id.
    #[prost(string, optional, tag = "9")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Request number.
    #[prost(uint32, optional, tag = "10")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u32>,
    /// DATA of the session: opaque bytes of its client. In JSON base64.
    #[prost(bytes = "vec", optional, tag = "11")]
    #[serde(serialize_with = "as_base64", deserialize_with = "of_base64")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Vec<u8>>,
    /// Key of the item.
    #[prost(string, optional, tag = "12")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// Place of the item in its session, from 0.
    #[prost(uint32, optional, tag = "13")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_no: Option<u32>,
    /// Name of the bucket.
    #[prost(string, optional, tag = "14")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// Number of the bucket, never reused in the account.
    #[prost(uint32, optional, tag = "15")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket_no: Option<u32>,
    /// Unit of the amounts.
    #[prost(string, optional, tag = "16")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Amount of a movement, of a limit, or of use that could not be debited.
    #[prost(int64, optional, tag = "17")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// Amount added to available.
    #[prost(int64, optional, tag = "18")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<i64>,
    /// Amount added to held.
    #[prost(int64, optional, tag = "19")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_change: Option<i64>,
    /// Available after the commit.
    #[prost(int64, optional, tag = "20")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<i64>,
    /// Held after the commit.
    #[prost(int64, optional, tag = "21")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<i64>,
    /// Amount that was asked for and denied.
    #[prost(int64, optional, tag = "22")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested: Option<i64>,
    /// Result of a denial.
    #[prost(string, optional, tag = "23")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Cause of a denial.
    #[prost(string, optional, tag = "24")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Time at which a limit allows what it denied, ms since 1970 UTC.
    #[prost(int64, optional, tag = "25")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_at: Option<i64>,
    /// Reported use, or what a limit has used.
    #[prost(int64, optional, tag = "26")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<i64>,
    /// Part of reported use that could not be debited.
    #[prost(int64, optional, tag = "27")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncollected: Option<i64>,
    /// Status of the account.
    #[prost(string, optional, tag = "28")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Kind of an identity.
    #[prost(string, optional, tag = "29")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Value of an identity; empty where it is removed.
    #[prost(string, optional, tag = "30")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Priority of a bucket.
    #[prost(int64, optional, tag = "31")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// Begin of a bucket's validity, ms since 1970 UTC.
    #[prost(int64, optional, tag = "32")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<i64>,
    /// End of a bucket's validity, ms since 1970 UTC. None for no end.
    #[prost(int64, optional, tag = "33")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<i64>,
    /// Lowest amount of a bucket.
    #[prost(int64, optional, tag = "34")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<i64>,
    /// Keys of the items that a bucket is for, with spaces between; empty for all.
    #[prost(string, optional, tag = "35")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
    /// Name of a counter.
    #[prost(string, optional, tag = "36")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Value of a counter.
    #[prost(int64, optional, tag = "37")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// Name of a limit.
    #[prost(string, optional, tag = "38")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Percentage of a limit that was reached: 80 or 100.
    #[prost(uint32, optional, tag = "39")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
    /// Threshold that available has crossed.
    #[prost(int64, optional, tag = "40")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<i64>,
    /// First position that was missed.
    #[prost(string, optional, tag = "41")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Position after those that were missed.
    #[prost(string, optional, tag = "42")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Denials of the same command that have no event.
    #[prost(uint32, optional, tag = "43")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u32>,
    /// Mark of a bucket.
    #[prost(int64, optional, tag = "44")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<i64>,
}

impl Record {
    /// Returns the record of an event of a store. Fields that this version does not know are left out.
    pub fn of_event(store: &str, event: Event<'static>) -> Record {
        let Event { id, commit, name, fields } = event;
        let mut record = Record {
            id: id.to_string(),
            store: store.to_owned(),
            event: name.into_owned(),
            ..Record::default()
        };
        if let Some(commit) = commit {
            record.time_ms = commit.time.0;
            record.account = text(commit.account.into_owned());
        }
        if let EventId::Missed { from, to } = id {
            (record.from, record.to) = (Some(from.to_string()), Some(to.to_string()));
        }
        for (name, value) in fields {
            match value {
                EventField::Bytes(bytes) => record.set_bytes(&name, bytes.into_owned()),
                EventField::Number(number) => record.set_number(&name, number),
                EventField::Nothing => {}
            }
        }
        record
    }

    fn set_bytes(&mut self, name: &str, bytes: Vec<u8>) {
        if name == "data" {
            self.data = Some(bytes);
            return;
        }
        if let Some(kind) = name.strip_prefix("identity.") {
            self.identities.insert(kind.to_owned(), text(bytes));
            return;
        }
        let field = match name {
            "transaction" => &mut self.transaction,
            "session" => &mut self.session,
            "item" => &mut self.item,
            "bucket" => &mut self.bucket,
            "unit" => &mut self.unit,
            "code" => &mut self.code,
            "cause" => &mut self.cause,
            "status" => &mut self.status,
            "kind" => &mut self.kind,
            "value" => &mut self.value,
            "items" => &mut self.items,
            "counter" => &mut self.counter,
            "limit" => &mut self.limit,
            _ => return,
        };
        *field = Some(text(bytes));
    }

    fn set_number(&mut self, name: &str, number: i64) {
        let field = match name {
            "amount" => &mut self.amount,
            "change" => &mut self.change,
            "held_change" => &mut self.held_change,
            "available" => &mut self.available,
            "held" => &mut self.held,
            "requested" => &mut self.requested,
            "allowed_at" => &mut self.allowed_at,
            "used" => &mut self.used,
            "uncollected" => &mut self.uncollected,
            "priority" => &mut self.priority,
            "valid_from" => &mut self.valid_from,
            "valid_to" => &mut self.valid_to,
            "floor" => &mut self.floor,
            "mark" => &mut self.mark,
            "value" => &mut self.count,
            "threshold" => &mut self.threshold,
            "item" => return self.item = Some(number.to_string()),
            "version" => return self.version = u64::try_from(number).ok(),
            "request" => return self.request = u32::try_from(number).ok(),
            "item_no" => return self.item_no = u32::try_from(number).ok(),
            "bucket_no" => return self.bucket_no = u32::try_from(number).ok(),
            "left_out" => return self.left_out = u32::try_from(number).ok(),
            "percent" => return self.percent = u32::try_from(number).ok(),
            _ => return,
        };
        *field = Some(number);
    }
}

/// Returns an id as text. Bytes that are not UTF-8 are shown as `\xNN`.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let mut text = String::new();
        for chunk in error.as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
        }
        text
    })
}

/// Returns a time, ms since 1970 UTC, as a date of RFC 3339 with milliseconds.
pub fn date(time_ms: i64) -> String {
    let known = OffsetDateTime::from_unix_timestamp(time_ms.div_euclid(1_000)).ok();
    let Some((date, year)) = known.and_then(|date| Some((date, u32::try_from(date.year()).ok()?)))
    else {
        // After the year 9999, which the ledger's clock allows.
        return time_ms.to_string();
    };
    // Each event has a date, and `format!` is slow for so many numbers.
    let mut text = *b"0000-00-00T00:00:00.000Z";
    let mut write = |end: usize, digits: usize, mut number: u32| {
        for place in (end - digits..end).rev() {
            text[place] = b'0' + (number % 10) as u8;
            number /= 10;
        }
    };
    write(4, 4, year);
    write(7, 2, u32::from(u8::from(date.month())));
    write(10, 2, u32::from(date.day()));
    write(13, 2, u32::from(date.hour()));
    write(16, 2, u32::from(date.minute()));
    write(19, 2, u32::from(date.second()));
    write(23, 3, u32::try_from(time_ms.rem_euclid(1_000)).unwrap_or(0));
    str::from_utf8(&text).expect("digits are UTF-8").to_owned()
}

/// Returns the time, ms since 1970 UTC, of a date that [`date`] wrote. None for any other text.
pub fn time_of(date_text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| date_text.get(range)?.parse::<u16>().ok();
    let small = |range| u8::try_from(number(range)?).ok();
    let of_calendar = || {
        let month = Month::try_from(small(5..7)?).ok()?;
        let day = Date::from_calendar_date(number(0..4)?.into(), month, small(8..10)?).ok()?;
        let time =
            Time::from_hms_milli(small(11..13)?, small(14..16)?, small(17..19)?, number(20..23)?);
        let nanos = day.with_time(time.ok()?).assume_utc().unix_timestamp_nanos();
        i64::try_from(nanos / 1_000_000).ok()
    };
    let time_ms = of_calendar().or_else(|| date_text.parse().ok())?;
    (date(time_ms) == date_text).then_some(time_ms)
}

/// Returns bytes as base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn as_date<S: Serializer>(time_ms: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&date(*time_ms))
}

fn as_base64<S: Serializer>(data: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&base64(data.as_deref().unwrap_or_default()))
}

fn of_date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let text = String::deserialize(deserializer)?;
    time_of(&text).ok_or_else(|| D::Error::custom(format!("{text:?} is no date of an event")))
}

fn of_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map(Some).map_err(D::Error::custom)
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Form, encode};
    use prost::Message;
    use scurry_ledger::Time;
    use scurry_service::{EventCommit, Position};

    fn debited() -> Event<'static> {
        let at = Position { generation: 1, thread: 0, sequence: 7, index: 2 };
        Event {
            id: EventId::At(at),
            commit: Some(EventCommit {
                time: Time(1_795_298_403_119),
                account: b"al\xffice"[..].into(),
            }),
            name: "debited".into(),
            fields: vec![
                ("transaction".into(), EventField::Bytes(b"t1"[..].into())),
                ("item".into(), EventField::Number(100)),
                ("amount".into(), EventField::Number(-5)),
                ("valid_to".into(), EventField::Nothing),
                ("data".into(), EventField::Bytes(vec![0, 255].into())),
                ("identity.msisdn".into(), EventField::Bytes(b"49123"[..].into())),
                ("of a later version".into(), EventField::Number(1)),
            ],
        }
    }

    #[test]
    fn json_has_the_fields_that_an_event_has() {
        let record = Record::of_event("00c0ffee00c0ffee", debited());
        let mut out = Vec::new();
        encode(&record, Form::Json, &mut out);
        assert_eq!(
            str::from_utf8(&out).expect("JSON"),
            r#"{"id":"1.0:7-2","store":"00c0ffee00c0ffee","time":"2026-11-21T22:00:03.119Z","event":"debited","account":"al\\xffice","identities":{"msisdn":"49123"},"transaction":"t1","data":"AP8=","item":"100","amount":-5}"#
        );
        let read = |line: &str| serde_json::from_str::<Record>(line);
        encode(&record, Form::Json, &mut out);
        assert_eq!(read(str::from_utf8(&out).expect("JSON")).expect("a record"), record);
        // A field of a later version is skipped, and a date that is none is refused.
        assert!(read(r#"{"id":"1.0:7","later":[1]}"#).is_ok());
        assert!(read(r#"{"id":"1.0:7","time":"2026-02-30T00:00:00.000Z"}"#).is_err());
    }

    #[test]
    fn dates_are_read_back() {
        for time_ms in [-1, 0, 951_782_400_000, 1_795_298_403_119, 253_402_300_799_999, i64::MAX] {
            assert_eq!(time_of(&date(time_ms)), Some(time_ms), "{}", date(time_ms));
        }
        for other in ["", "2026-11-21", "2026-11-21T22:00:03Z", "2026-11-21 22:00:03.119Z", "05"] {
            assert_eq!(time_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_date_has_all_its_digits() {
        for (time_ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_007, "2000-02-29T00:00:00.007Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "253402300800000"),
            (i64::MAX, "9223372036854775807"),
        ] {
            assert_eq!(date(time_ms), expected);
        }
    }

    #[test]
    fn protobuf_has_the_same() {
        let record = Record::of_event("00c0ffee00c0ffee", debited());
        let mut out = Vec::new();
        encode(&record, Form::Protobuf, &mut out);
        assert_eq!(Record::decode(&*out).expect("a message"), record);
    }

    #[test]
    fn both_schemas_have_every_field() {
        let own = include_str!("record.rs");
        let (own, _) = own.split_once("impl Record").expect("the type comes first");
        let proto = include_str!("../../../docs/formats/events.proto");
        let schema = include_str!("../../../docs/formats/events.schema.json");
        let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
        let mut tag = "";
        let mut count = 0;
        for line in own.lines().map(str::trim) {
            if let Some((_, rest)) = line.split_once("tag = \"") {
                tag = rest.split('"').next().expect("a number");
            }
            let Some((name, _)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(": "))
            else {
                continue;
            };
            count += 1;
            let of_proto = format!(" {name} = {tag};");
            assert!(proto.contains(&of_proto), "events.proto lacks{of_proto}");
            let of_json = if name == "time_ms" { "time" } else { name };
            assert!(schema["properties"][of_json].is_object(), "the JSON schema lacks {of_json}");
        }
        assert_eq!(count, schema["properties"].as_object().expect("an object").len());
        assert_eq!(count, proto.matches(" = ").count() - 1, "the syntax is the other one");
    }
}
