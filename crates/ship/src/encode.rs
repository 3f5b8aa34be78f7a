//! Records as bytes.

use crate::Record;
use prost::{DecodeError, Message};

/// The form of a record's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An object of JSON on one line; docs/formats/events.schema.json.
    Json,
    /// A message of Protobuf; docs/formats/events.proto.
    Protobuf,
}

/// Replaces the content of `out` by a record in this form.
pub fn encode(record: &Record, form: Form, out: &mut Vec<u8>) {
    out.clear();
    match form {
        Form::Json => serde_json::to_writer(out, record).expect("a record has no fault of JSON"),
        Form::Protobuf => record.encode(out).expect("a vector takes everything"),
    }
}

/// Reads a record of Protobuf.
pub fn decode(message: &[u8]) -> Result<Record, DecodeError> {
    Record::decode(message)
}
