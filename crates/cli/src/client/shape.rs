//! Shape of a reply, read from the text of the command table. With it a person sees a name before each value, and a
//! script learns whether anything was denied.

use scurry_cluster_client::redis::Value;
use scurry_ledger::{Code, CodeKind};
use scurry_resp::parse_integer;
use scurry_resp::table::find;

/// Names of a value's elements, at any depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    #[default]
    Unknown,
    /// Array of named values. A name is empty if the table gives none.
    Fields(Vec<(&'static str, Shape)>),
    /// Map. RESP2 sends it as an array of alternating names and values.
    Map(Vec<(&'static str, Shape)>),
    /// Array of values that have the same shape.
    Rows(Box<Shape>),
    /// Array of values with one shape each and without names.
    Each(Vec<Shape>),
}

static UNKNOWN: Shape = Shape::Unknown;

impl Shape {
    /// Returns the shape of the reply to a command.
    pub(super) fn from_words(words: &[&[u8]]) -> Shape {
        let Some(spec) = words.first().and_then(|name| find(name)) else { return Shape::Unknown };
        let sub = words.get(1).and_then(|name| spec.subcommand(name));
        let shape = read(sub.unwrap_or(spec).reply);
        match shape {
            Shape::Fields(fields) if spec.has_dynamic_keys => {
                Shape::Fields(with_links(fields, words))
            }
            shape => shape,
        }
    }

    /// Returns the name and the shape of an element of an array.
    pub(super) fn element(&self, index: usize) -> (&'static str, &Shape) {
        let found = match self {
            Shape::Fields(fields) => fields.get(index).map(|(name, shape)| (*name, shape)),
            Shape::Rows(row) => Some(("", &**row)),
            Shape::Each(shapes) => shapes.get(index).map(|shape| ("", shape)),
            Shape::Map(_) | Shape::Unknown => None,
        };
        found.unwrap_or(("", &UNKNOWN))
    }

    /// Returns the shape of the value that a map has under a name.
    pub(super) fn entry(&self, name: &Value) -> &Shape {
        let Shape::Map(entries) = self else { return &UNKNOWN };
        let found = entries.iter().find(|(known, _)| text(name) == Some(known.as_bytes()));
        found.map_or(&UNKNOWN, |(_, shape)| shape)
    }

    /// Returns the pairs of a map, in RESP2 as well. None if the value is not a map.
    pub(super) fn pairs<'v>(&self, value: &'v Value) -> Option<Vec<(&'v Value, &'v Value)>> {
        match (self, value) {
            (_, Value::Map(pairs)) => {
                Some(pairs.iter().map(|(name, value)| (name, value)).collect())
            }
            (Shape::Map(_), Value::Array(flat)) if flat.len().is_multiple_of(2) => {
                Some(flat.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect())
            }
            _ => None,
        }
    }

    /// Reports whether the reply contains a denial, of a command or of an item.
    pub(super) fn is_denied(&self, reply: &Value) -> bool {
        self.has(reply, &|name, value| name == "code" && is_denial(value))
    }

    /// Reports whether the reply says that the account has no bucket of a unit.
    pub(super) fn lacks_bucket(&self, reply: &Value) -> bool {
        self.has(reply, &|name, value| name == "cause" && text(value) == Some(b"no_bucket"))
    }

    /// Reports whether a named value at any depth satisfies `is`.
    fn has(&self, value: &Value, is: &dyn Fn(&str, &Value) -> bool) -> bool {
        if let Some(pairs) = self.pairs(value) {
            return pairs.iter().any(|(name, value)| self.entry(name).has(value, is));
        }
        let Value::Array(values) = value else { return false };
        values.iter().enumerate().any(|(index, value)| {
            let (name, shape) = self.element(index);
            is(name, value) || shape.has(value, is)
        })
    }
}

fn text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::SimpleString(text) => Some(text.as_bytes()),
        Value::BulkString(bytes) => Some(bytes),
        _ => None,
    }
}

fn is_denial(value: &Value) -> bool {
    let denials = Code::ALL.iter().filter(|code| code.kind() == CodeKind::Denial);
    denials.into_iter().any(|code| text(value) == Some(code.name().as_bytes()))
}

/// Replaces the shape of a chain's replies by the shapes of its commands.
fn with_links(fields: Vec<(&'static str, Shape)>, words: &[&[u8]]) -> Vec<(&'static str, Shape)> {
    let replies = || Shape::Each(links(words).iter().map(Link::shape).collect());
    let each = |(name, shape)| (name, if name == "replies" { replies() } else { shape });
    fields.into_iter().map(each).collect()
}

/// One command of a chain.
pub(super) struct Link<'w> {
    pub(super) account: &'w [u8],
    name: &'w [u8],
}

impl Link<'_> {
    fn shape(&self) -> Shape {
        let name = self.name.to_ascii_uppercase();
        let short = name.strip_prefix(b"SCUR.").unwrap_or(&name);
        Shape::from_words(&[&[b"SCUR.".as_slice(), short].concat()])
    }
}

/// Returns the commands of SCUR.CHAIN, up to the first without a valid number of words.
pub(super) fn links<'w>(words: &[&'w [u8]]) -> Vec<Link<'w>> {
    let mut links = Vec::new();
    let mut rest = words.get(1..).unwrap_or_default();
    while let [account, count, command @ ..] = rest {
        let count = parse_integer(count).and_then(|count| usize::try_from(count).ok());
        let (Some(count @ 1..), Some(name)) = (count, command.first()) else { break };
        links.push(Link { account, name });
        rest = command.get(count..).unwrap_or_default();
    }
    links
}

/// Reads a shape from the text of the table.
fn read(reply: &'static str) -> Shape {
    let (head, rows) = reply.split_once('\n').unwrap_or((reply, ""));
    if !head.starts_with("the same map as GET") {
        return line(head, rows);
    }
    let (inner, rows) = rows.split_once('\n').unwrap_or((rows, ""));
    let mut shape = Shape::from_words(&[b"SCUR.GET"]);
    if let Shape::Map(entries) = &mut shape {
        entries.push(("session", line(inner.trim_start(), rows)));
    }
    shape
}

/// Reads the shape that a line describes. The following lines describe the names in it.
fn line(text: &'static str, rows: &'static str) -> Shape {
    if let Some(row) = text.strip_prefix("array of ") {
        let row = line(row, rows);
        return if row == Shape::Unknown { row } else { Shape::Rows(Box::new(row)) };
    }
    if let Some(names) = text.strip_prefix("map of: ") {
        return Shape::Map(named(names, "", rows));
    }
    let Some(inner) = in_brackets(text) else { return Shape::Unknown };
    if inner == "field, value, ..." {
        return Shape::Map(Vec::new());
    }
    let behind = &text[inner.len() + 2..];
    // The text gives two arrays, and the longer one begins like the shorter one.
    if let Some((_, longer)) = behind.strip_prefix("; with ").and_then(|with| with.split_once(' '))
    {
        return line(longer, rows);
    }
    let mut fields = named(inner, behind, rows);
    if behind.starts_with(", and cause and allowed_at where") {
        fields.extend([("cause", Shape::Unknown), ("allowed_at", Shape::Unknown)]);
    }
    Shape::Fields(fields)
}

/// Returns the names of a list with their shapes, which follow on the same line or on separate lines.
fn named(
    names: &'static str,
    behind: &'static str,
    rows: &'static str,
) -> Vec<(&'static str, Shape)> {
    let known = pieces(names).into_iter().filter(|piece| *piece != "...");
    let shaped = known.map(|piece| {
        if piece.starts_with('[') {
            return ("", line(piece, ""));
        }
        let name = piece.split(" (").next().unwrap_or(piece);
        (name, row(name, behind, rows))
    });
    shaped.collect()
}

fn row(name: &str, behind: &'static str, rows: &'static str) -> Shape {
    let of = |text: &'static str, mark: &str| text.strip_prefix(name)?.strip_prefix(mark);
    if let Some(text) = behind.strip_prefix(", ").and_then(|text| of(text, " = ")) {
        return line(text, "");
    }
    let mut rest = rows;
    while !rest.is_empty() {
        let (first, next) = rest.split_once('\n').unwrap_or((rest, ""));
        if let Some(text) = of(first.trim_start(), ": ") {
            return with_one_more(line(text, next), next);
        }
        rest = next;
    }
    Shape::Unknown
}

/// Adds the element that some rows have in addition, as the next line says.
fn with_one_more(rows: Shape, next: &'static str) -> Shape {
    let said = next.lines().next().and_then(|said| said.trim_start().split_once(" has one more: "));
    match (rows, said) {
        (Shape::Rows(mut row), Some((whose, more))) => {
            if let Shape::Fields(fields) = &mut *row {
                fields.push((whose.rsplit(' ').next().unwrap_or_default(), line(more, "")));
            }
            Shape::Rows(row)
        }
        (rows, _) => rows,
    }
}

/// Returns the text inside the brackets at the start.
fn in_brackets(text: &'static str) -> Option<&'static str> {
    let mut depth = 0_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return text.get(1..at);
        }
    }
    None
}

/// Splits at commas that are outside of brackets.
fn pieces(text: &'static str) -> Vec<&'static str> {
    let (mut pieces, mut depth, mut begin) = (Vec::new(), 0_u32, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'(' => depth += 1,
            b']' | b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                pieces.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(text[begin..].trim());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_resp::table::all;

    fn of(line: &str) -> Shape {
        Shape::from_words(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>())
    }

    fn names(shape: &Shape) -> Vec<&'static str> {
        match shape {
            Shape::Fields(fields) | Shape::Map(fields) => {
                fields.iter().map(|(name, _)| *name).collect()
            }
            Shape::Rows(row) => names(row),
            Shape::Each(_) | Shape::Unknown => Vec::new(),
        }
    }

    fn within(shape: &Shape, name: &str) -> Shape {
        let (Shape::Fields(fields) | Shape::Map(fields)) = shape else { return Shape::Unknown };
        let found = fields.iter().find(|(known, _)| *known == name);
        found.map(|(_, shape)| shape.clone()).unwrap_or_default()
    }

    #[test]
    fn names_are_those_of_the_table() {
        assert_eq!(names(&of("scur.create a")), ["code", "version", "replayed"]);
        assert_eq!(
            names(&of("SCUR.DEBIT a t c 1")),
            ["code", "replayed", "version", "amount", "cause", "allowed_at"]
        );
        let reserved = of("SCUR.RESERVE a s 0");
        let expected = ["code", "replayed", "version", "items", "cause", "allowed_at"];
        assert_eq!(names(&reserved), expected);
        let item = ["key", "code", "granted", "final", "uncollected", "cause", "allowed_at"];
        assert_eq!(names(&within(&reserved, "items")), item);
        let bucket = names(&within(&of("SCUR.GET a"), "buckets"));
        assert_eq!(bucket[..3], ["id", "unit", "available"]);
        assert_eq!(bucket.last(), Some(&"allowance"));
        let session = within(&of("SCUR.SESSION a s"), "session");
        assert!(names(&session).contains(&"deadline"), "{session:?}");
        assert_eq!(names(&within(&session, "items"))[..3], ["key", "unit", "granted"]);
        assert_eq!(
            names(&within(&of("SCUR.LIST 0"), "accounts")),
            ["account", "status", "version"]
        );
        assert_eq!(names(&of("SCUR.AUDIT a"))[..2], ["ok", "version"]);
        assert_eq!(names(&within(&of("SCUR.WATCH 0"), "events")), ["id", ""]);
        assert_eq!(of("GET a"), Shape::Unknown);
        assert_eq!(of("NONSENSE"), Shape::Unknown);
        assert_eq!(Shape::from_words(&[]), Shape::Unknown);
    }

    #[test]
    fn every_array_of_our_own_commands_has_names() {
        for spec in all().filter(|spec| spec.name.starts_with("SCUR.")) {
            let shape = of(spec.name);
            let is_list = spec.reply.starts_with('[') || spec.reply.contains("map of:");
            assert!(!is_list || !names(&shape).is_empty(), "{}: {}", spec.name, spec.reply);
            for (name, rows) in
                spec.reply.lines().filter_map(|line| line.split_once(": array of ["))
            {
                let inner = match within(&shape, name.trim()) {
                    Shape::Unknown => within(&within(&shape, "session"), name.trim()),
                    found => found,
                };
                assert!(!names(&inner).is_empty(), "{} has no names in {rows}", spec.name);
            }
        }
    }

    #[test]
    fn a_denial_is_found_at_any_depth() {
        let word = |text: &str| Value::SimpleString(text.to_owned());
        let list = |values: &[Value]| Value::Array(values.to_vec());
        let number = Value::Int;
        let denied = "CREDIT_LIMIT_REACHED";
        let debit = of("SCUR.DEBIT a t c 1");
        let head = |code: Value| list(&[code, number(0), number(1), number(0)]);
        assert!(!debit.is_denied(&head(Value::Okay)));
        for code in Code::ALL.iter().filter(|code| code.kind() == CodeKind::Denial) {
            assert!(debit.is_denied(&head(word(code.name()))), "{code:?}");
        }
        let item = |code: Value| list(&[number(1), code, number(0), number(0), number(0)]);
        let session = |item| list(&[Value::Okay, number(0), number(1), list(&[item])]);
        let reserve = of("SCUR.RESERVE a s 0");
        assert!(reserve.is_denied(&session(item(word(denied)))), "one item");
        assert!(!reserve.is_denied(&session(item(Value::Okay))));
        let chain = of("SCUR.CHAIN a 4 debit t c 1 b 9 SCUR.RESERVE s 0 ITEM 1 c REQUESTED 5");
        let links =
            |two| list(&[Value::Okay, number(0), number(0), list(&[head(Value::Okay), two])]);
        assert!(chain.is_denied(&links(session(item(word(denied))))), "an item of a link");
        assert!(!chain.is_denied(&links(session(item(Value::Okay)))));
        // Plain values that only look like a denial.
        assert!(!of("GET a").is_denied(&word(denied)));
        assert!(!of("MGET a").is_denied(&list(&[word(denied)])));
    }
}
