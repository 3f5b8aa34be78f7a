//! A reply as people read it, in the shape that redis-cli gives it.

use crate::server_address::error_text;
use scurry_cluster_client::redis::Value;
use std::fmt::Write;

/// Lines, the last with its end.
pub(super) fn show(reply: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, reply, 0);
    out
}

/// `indent` is where the value begins within its line.
fn write_value(out: &mut String, value: &Value, indent: usize) {
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Nil => writeln!(out, "(nil)"),
        Value::Int(number) => writeln!(out, "(integer) {number}"),
        Value::BigNumber(digits) => writeln!(out, "(integer) {}", digits.escape_ascii()),
        Value::Double(number) => writeln!(out, "(double) {number}"),
        Value::Boolean(is) => writeln!(out, "({is})"),
        Value::Okay => writeln!(out, "OK"),
        Value::SimpleString(text) => writeln!(out, "{text}"),
        Value::BulkString(bytes) => writeln!(out, "\"{}\"", bytes.escape_ascii()),
        // Long texts for people: INFO, CLIENT LIST.
        Value::VerbatimString { text, .. } => writeln!(out, "{}", text.trim_end()),
        Value::ServerError(error) => writeln!(out, "(error) {}", error_text(error)),
        Value::Array(values) | Value::Set(values) | Value::Push { data: values, .. } => {
            return write_list(out, values, indent);
        }
        Value::Map(pairs) => return write_map(out, pairs, indent),
        Value::Attribute { data, .. } => return write_value(out, data, indent),
        other => writeln!(out, "{other:?}"),
    };
}

fn write_list(out: &mut String, values: &[Value], indent: usize) {
    if values.is_empty() {
        out.push_str("(empty array)\n");
    }
    for (number, value) in (1..).zip(values) {
        let mark = format!("{number:>width$}) ", width = width(values.len()));
        begin(out, &mark, number, indent);
        write_value(out, value, indent + mark.len());
    }
}

fn write_map(out: &mut String, pairs: &[(Value, Value)], indent: usize) {
    if pairs.is_empty() {
        out.push_str("(empty map)\n");
    }
    for (number, (name, value)) in (1..).zip(pairs) {
        let mark = format!("{number:>width$}# ", width = width(pairs.len()));
        begin(out, &mark, number, indent);
        out.push_str(show(name).trim_end());
        out.push_str(" => ");
        if matches!(value, Value::Array(values) | Value::Set(values) if !values.is_empty())
            || matches!(value, Value::Map(pairs) if !pairs.is_empty())
        {
            let inner = indent + mark.len();
            let _ = write!(out, "\n{:inner$}", "");
            write_value(out, value, inner);
        } else {
            write_value(out, value, 0);
        }
    }
}

/// The first of a list goes on in the line of the list itself.
fn begin(out: &mut String, mark: &str, number: usize, indent: usize) {
    if number > 1 {
        let _ = write!(out, "{:indent$}", "");
    }
    out.push_str(mark);
}

fn width(count: usize) -> usize {
    count.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_shown_as_redis_cli_shows_them() {
        let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let list = |values: &[Value]| Value::Array(values.to_vec());
        assert_eq!(show(&Value::Okay), "OK\n");
        assert_eq!(show(&Value::Nil), "(nil)\n");
        assert_eq!(show(&Value::Int(-7)), "(integer) -7\n");
        assert_eq!(show(&bulk("a\r\n\"")), "\"a\\r\\n\\\"\"\n");
        assert_eq!(show(&list(&[])), "(empty array)\n");
        let items = list(&[Value::Int(1), list(&[bulk("a"), Value::Nil])]);
        assert_eq!(show(&items), "1) (integer) 1\n2) 1) \"a\"\n   2) (nil)\n");
        let ten: Vec<Value> = (0..10).map(Value::Int).collect();
        assert!(show(&list(&ten)).starts_with(" 1) (integer) 0\n 2) (integer) 1\n"));
        let map = Value::Map(vec![(bulk("ok"), Value::Int(1)), (bulk("of"), items)]);
        assert_eq!(
            show(&map),
            "1# \"ok\" => (integer) 1\n2# \"of\" => \n   1) (integer) 1\n   2) 1) \"a\"\n      2) (nil)\n"
        );
    }
}
