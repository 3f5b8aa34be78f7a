//! Replies of RESP as JSON. Integers become strings, since many JSON parsers keep only 53 bits and amounts have 64.

use redis::Value;
use serde_json::{Map, Value as Json, json};

/// Returns a value of a map, or of a flat array of names and values.
pub(crate) fn field<'a>(reply: &'a Value, name: &str) -> Option<&'a Value> {
    pairs(reply).find(|(key, _)| text(key) == name).map(|(_, value)| value)
}

/// Returns a map, or a flat array of names and values, as an object.
pub(crate) fn fields(reply: &Value) -> Map<String, Json> {
    pairs(reply).map(|(name, value)| (text(name), json(value))).collect()
}

fn pairs(reply: &Value) -> Box<dyn Iterator<Item = (&Value, &Value)> + '_> {
    match reply {
        Value::Map(pairs) => Box::new(pairs.iter().map(|(name, value)| (name, value))),
        Value::Array(flat) => Box::new(flat.chunks_exact(2).map(|pair| (&pair[0], &pair[1]))),
        _ => Box::new(std::iter::empty()),
    }
}

/// Returns a row as an object with these field names, in order.
pub(crate) fn named(row: &Value, names: &[&str]) -> Json {
    let Value::Array(values) = row else { return json(row) };
    let named = names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), json(value)));
    Json::Object(named.collect())
}

/// Returns a string or an integer as text; empty for any other value.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        Value::VerbatimString { text, .. } => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Okay => "OK".to_owned(),
        _ => String::new(),
    }
}

fn json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Boolean(is_so) => json!(is_so),
        Value::Double(number) => json!(number),
        Value::Array(values) | Value::Set(values) => values.iter().map(json).collect(),
        Value::Map(_) => Json::Object(fields(value)),
        other => Json::String(text(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_keep_their_digits_and_rows_get_names() {
        let row = Value::Array(vec![Value::Int(i64::MAX), Value::Nil]);
        let shown = named(&row, &["amount", "valid_to"]);
        assert_eq!(shown, json!({"amount": "9223372036854775807", "valid_to": null}));
        let flat = Value::Array(vec![
            Value::SimpleString("next".to_owned()),
            Value::BulkString(b"1.0:3".to_vec()),
        ]);
        assert_eq!(field(&flat, "next").map(text).as_deref(), Some("1.0:3"));
        assert_eq!(Json::Object(fields(&flat)), json!({"next": "1.0:3"}));
    }
}
