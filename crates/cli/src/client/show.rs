//! Formats a reply for people as redis-cli does, with the names of its values where they are known.

use super::shape::Shape;
use crate::server_address::error_text;
use crate::terminal_escape::escaped;
use scurry_cluster_client::redis::Value;
use std::fmt::Write;

/// Returns the reply as lines, including the last line break.
pub(super) fn show(reply: &Value) -> String {
    show_as(reply, &Shape::Unknown)
}

fn show_as(reply: &Value, shape: &Shape) -> String {
    let mut out = String::new();
    write_value(&mut out, reply, shape, 0);
    out
}

/// Formats the reply to a command. Reports for people (INFO, CLIENT LIST) keep their lines; any other string is escaped
/// and shown on one line.
pub(super) fn answer<'w>(
    mut words: impl Iterator<Item = &'w [u8]>,
    reply: &Value,
    shape: &Shape,
) -> String {
    let mut next = || words.next().unwrap_or_default().to_ascii_uppercase();
    let is_report = match &*next() {
        b"INFO" => true,
        b"CLIENT" => matches!(&*next(), b"LIST" | b"INFO"),
        b"CLUSTER" => matches!(&*next(), b"INFO" | b"NODES"),
        _ => false,
    };
    match reply {
        Value::BulkString(text) if is_report => report(text),
        reply => show_as(reply, shape),
    }
}

/// Formats a value that arrived unasked, marked as such if the protocol marks it.
pub(super) fn unasked(value: &Value) -> String {
    let Value::Push { kind, data } = value else { return show(value) };
    let mut leaves = Vec::new();
    data.iter().for_each(|value| flatten(value, &mut leaves));
    format!("-> {}: {}\n", escaped(&kind.to_string()), leaves.join(", "))
}

fn flatten(value: &Value, leaves: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| flatten(value, leaves)),
        value => leaves.push(show(value).trim_end().to_owned()),
    }
}

/// Formats a text with its lines kept. Control characters are escaped all the same.
fn report(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.trim_end().lines().map(|line| escaped(line) + "\n").collect()
}

/// Appends a value. `indent` is the column at which it begins.
fn write_value(out: &mut String, value: &Value, shape: &Shape, indent: usize) {
    if let Some(pairs) = shape.pairs(value) {
        return write_map(out, &pairs, shape, indent);
    }
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Nil => writeln!(out, "(nil)"),
        Value::Int(number) => writeln!(out, "(integer) {number}"),
        Value::BigNumber(digits) => writeln!(out, "(integer) {}", digits.escape_ascii()),
        Value::Double(number) => writeln!(out, "(double) {number}"),
        Value::Boolean(is) => writeln!(out, "({is})"),
        Value::Okay => writeln!(out, "OK"),
        Value::SimpleString(text) => writeln!(out, "{}", escaped(text)),
        Value::BulkString(bytes) => writeln!(out, "\"{}\"", bytes.escape_ascii()),
        // Long texts for people: INFO, CLIENT LIST.
        Value::VerbatimString { text, .. } => {
            out.push_str(&report(text.as_bytes()));
            return;
        }
        Value::ServerError(error) => writeln!(out, "(error) {}", error_text(error)),
        Value::Array(values) | Value::Set(values) | Value::Push { data: values, .. } => {
            return write_list(out, values, shape, indent);
        }
        Value::Attribute { data, .. } => return write_value(out, data, shape, indent),
        other => writeln!(out, "{}", escaped(&format!("{other:?}"))),
    };
}

fn write_list(out: &mut String, values: &[Value], shape: &Shape, indent: usize) {
    if values.is_empty() {
        out.push_str("(empty array)\n");
    }
    for (number, value) in (1..).zip(values) {
        let (name, inner) = shape.element(number - 1);
        let gap = if name.is_empty() { "" } else { ": " };
        let mark = format!("{number:>width$}) {name}{gap}", width = width(values.len()));
        begin(out, &mark, number, indent);
        write_value(out, value, inner, indent + mark.len());
    }
}

fn write_map(out: &mut String, pairs: &[(&Value, &Value)], shape: &Shape, indent: usize) {
    if pairs.is_empty() {
        out.push_str("(empty map)\n");
    }
    for (number, (name, value)) in (1..).zip(pairs) {
        let mark = format!("{number:>width$}# ", width = width(pairs.len()));
        begin(out, &mark, number, indent);
        out.push_str(show(name).trim_end());
        out.push_str(" => ");
        let inner = shape.entry(name);
        if is_within_lines(value) {
            let indent = indent + mark.len();
            let _ = write!(out, "\n{:indent$}", "");
            write_value(out, value, inner, indent);
        } else {
            write_value(out, value, inner, 0);
        }
    }
}

/// Reports whether a value contains others, each shown on its own line.
fn is_within_lines(value: &Value) -> bool {
    match value {
        Value::Array(values) | Value::Set(values) => !values.is_empty(),
        Value::Map(pairs) => !pairs.is_empty(),
        _ => false,
    }
}

/// Begins an element. The first one stays on the line of the list itself.
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
    fn reports_keep_their_lines_and_values_do_not() {
        let text = b"# Stats\r\na:1\r\n\x1b[2Jb:\xff\r\n".to_vec();
        let said =
            |line: &str, reply| answer(line.split(' ').map(str::as_bytes), reply, &Shape::Unknown);
        let bulk = Value::BulkString(text.clone());
        for line in ["info", "CLIENT list", "CLUSTER NODES x"] {
            assert_eq!(said(line, &bulk), "# Stats\na:1\n\\x1b[2Jb:\u{fffd}\n", "{line}");
        }
        for line in ["GET info", "CLIENT ID", "CLIENT"] {
            assert_eq!(said(line, &bulk), format!("\"{}\"\n", text.escape_ascii()), "{line}");
        }
        assert_eq!(said("INFO", &Value::Nil), "(nil)\n");
        let format = scurry_cluster_client::redis::VerbatimFormat::Text;
        let verbatim = Value::VerbatimString { format, text: "a\r\nb\x1b\r\n".to_owned() };
        assert_eq!(said("LOLWUT", &verbatim), "a\nb\\x1b\n");
    }

    #[test]
    fn nothing_of_a_reply_is_obeyed_by_a_terminal() {
        let hostile = b"-ERR a\x1b[2J\r\n+\x1bb\r\n!8\r\nERR \x1b[mc\r\n%1\r\n+\x1bd\r\n+\x07\r\n";
        let mut parser = scurry_cluster_client::redis::Parser::new();
        let mut rest = &hostile[..];
        for expected in [
            "(error) ERR a\\x1b[2J\n",
            "\\x1bb\n",
            "(error) ERR \\x1b[mc\n",
            "1# \\x1bd => \\x07\n",
        ] {
            let reply = parser.parse_value(&mut rest).expect("a reply");
            assert_eq!(show(&reply), expected);
        }
    }

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

    #[test]
    fn values_have_their_names_where_they_are_known() {
        let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let list = |values: &[Value]| Value::Array(values.to_vec());
        let shown = |line: &str, reply: &Value| {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            answer(words.iter().copied(), reply, &Shape::from_words(&words))
        };
        let item = list(&[Value::Int(7), Value::Okay, Value::Int(5), Value::Int(0), Value::Int(0)]);
        let reply = list(&[Value::Okay, Value::Int(0), Value::Int(1), list(&[item])]);
        assert_eq!(
            shown("SCUR.RESERVE a s 0", &reply),
            "1) code: OK\n2) replayed: (integer) 0\n3) version: (integer) 1\n\
             4) items: 1) 1) key: (integer) 7\n\
             \u{20}            2) code: OK\n\
             \u{20}            3) granted: (integer) 5\n\
             \u{20}            4) final: (integer) 0\n\
             \u{20}            5) uncollected: (integer) 0\n"
        );
        // RESP2 and RESP3 give the same text.
        let units = list(&[list(&[bulk("c"), Value::Int(5)])]);
        let expected = "1# \"accounts\" => (integer) 1\n2# \"units\" => \n   \
                        1) 1) unit: \"c\"\n      2) available: (integer) 5\n";
        let flat = [bulk("accounts"), Value::Int(1), bulk("units"), units.clone()];
        assert_eq!(shown("SCUR.TOTALS", &list(&flat)), expected);
        let map = vec![(bulk("accounts"), Value::Int(1)), (bulk("units"), units)];
        assert_eq!(shown("SCUR.TOTALS", &Value::Map(map)), expected);
        // A reply that does not match the table is still shown.
        assert_eq!(shown("SCUR.TOTALS", &list(&flat[..1])), "1) \"accounts\"\n");
        assert_eq!(shown("SCUR.DEBIT a", &Value::Nil), "(nil)\n");
    }
}
