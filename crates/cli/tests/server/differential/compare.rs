//! Compares replies byte for byte, except for values that depend on a clock, on an unspecified order, or on how a
//! server stores its values.

/// How the two replies to a command are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Byte for byte.
    Exact,
    /// Integers of the same sign with at most this difference: each server used its own clock.
    Near(i64),
    /// Reply of SCAN: the same keys in any order.
    AnyOrder,
    /// Reply of KEYS: the same keys in any order.
    Keys,
    /// Positive integers: each server counts its own bytes.
    Size,
    /// Encoding: Valkey remembers how a value was made, our server looks only at the value.
    Encoding,
    /// Reference count: Valkey shares small integers.
    References,
}

/// Reports whether Valkey's error about an unknown command is ours plus a suggestion: (did you mean GET?).
fn has_advice(theirs: &[u8], ours: &[u8]) -> bool {
    let words =
        theirs.strip_suffix(b"\r\n").filter(|words| words.starts_with(b"-ERR unknown command '"));
    let advice = words.and_then(|words| ours.strip_prefix(words));
    advice.is_some_and(|advice| advice.starts_with(b"(") && advice.ends_with(b")\r\n"))
}

/// Reports whether the replies are the same under this comparison.
pub(crate) fn same(check: Check, theirs: &[u8], ours: &[u8]) -> bool {
    if theirs == ours || has_advice(theirs, ours) {
        return true;
    }
    match check {
        Check::Exact => false,
        Check::Near(distance) => match (integer(theirs), integer(ours)) {
            (Some(theirs), Some(ours)) => {
                theirs >= 0 && ours >= 0 && theirs.abs_diff(ours) <= distance.unsigned_abs()
            }
            _ => false,
        },
        Check::AnyOrder => sorted(theirs).is_some_and(|theirs| Some(theirs) == sorted(ours)),
        Check::Keys => keys(theirs).is_some_and(|theirs| Some(theirs) == keys(ours)),
        Check::Size => {
            matches!((integer(theirs), integer(ours)), (Some(1..), Some(1..)))
        }
        Check::Encoding => {
            theirs == b"$3\r\nraw\r\n"
                && [&b"$3\r\nint\r\n"[..], b"$6\r\nembstr\r\n"].contains(&ours)
        }
        Check::References => theirs == b":2147483647\r\n" && ours == b":1\r\n",
    }
}

fn integer(reply: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(reply).ok()?;
    text.strip_prefix(':')?.strip_suffix("\r\n")?.parse().ok()
}

/// Returns the cursor and the sorted keys of a SCAN.
fn sorted(reply: &[u8]) -> Option<Vec<&[u8]>> {
    let (cursor, rest) = bulk(reply.strip_prefix(b"*2\r\n")?)?;
    let mut keys = keys(rest)?;
    keys.push(cursor);
    Some(keys)
}

/// Returns the head and the sorted elements of an array of keys.
fn keys(reply: &[u8]) -> Option<Vec<&[u8]>> {
    let end = reply.iter().position(|&byte| byte == b'\n')? + 1;
    let (head, mut rest) = reply.split_at(end);
    let mut keys = Vec::new();
    while !rest.is_empty() {
        let (key, after) = bulk(rest)?;
        keys.push(key);
        rest = after;
    }
    keys.sort_unstable();
    keys.push(head);
    Some(keys)
}

/// Splits off the first bulk string.
fn bulk(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = bytes.strip_prefix(b"$")?;
    let end = rest.iter().position(|&byte| byte == b'\r')?;
    let len: usize = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    let value = rest.get(end + 2..end + 2 + len)?;
    Some((value, rest.get(end + 2 + len + 2..)?))
}

#[test]
fn what_differs_is_seen() {
    let scan = |keys: &str| format!("*2\r\n$1\r\n0\r\n*2\r\n{keys}");
    let (ab, ba) = (scan("$1\r\na\r\n$1\r\nb\r\n"), scan("$1\r\nb\r\n$1\r\na\r\n"));
    assert!(same(Check::AnyOrder, ab.as_bytes(), ba.as_bytes()));
    assert!(!same(Check::Exact, ab.as_bytes(), ba.as_bytes()));
    let aa = scan("$1\r\na\r\n$1\r\na\r\n");
    assert!(!same(Check::AnyOrder, ab.as_bytes(), aa.as_bytes()));
    let keys = |keys: &str| format!("*2\r\n{keys}");
    let (ab, ba) = (keys("$1\r\na\r\n$1\r\nb\r\n"), keys("$1\r\nb\r\n$1\r\na\r\n"));
    let aa = keys("$1\r\na\r\n$1\r\na\r\n");
    assert!(same(Check::Keys, ab.as_bytes(), ba.as_bytes()));
    assert!(!same(Check::Keys, ab.as_bytes(), aa.as_bytes()));
    assert!(same(Check::Near(5), b":100\r\n", b":105\r\n"));
    assert!(!same(Check::Near(5), b":100\r\n", b":106\r\n"));
    assert!(!same(Check::Near(5), b":-1\r\n", b":0\r\n"));
    assert!(!same(Check::Size, b":0\r\n", b":1\r\n"));
    assert!(!same(Check::Encoding, b"$3\r\nint\r\n", b"$3\r\nraw\r\n"));
}
