//! Conditional requests with entity tags (RFC 9110 clause 13.1). The condition of a read is checked against the value
//! that was read. Conditional writes are refused. A node keeps the greater version and compares nothing else, so
//! another door could write between the check and the write, and that write would be lost. Clients could not rely on
//! such a condition.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use scurry_http::Problem;

/// Returns the status that answers a read instead of the value with this tag: 412, 304, or None for the value itself.
pub(crate) fn of_read(
    headers: &HeaderMap,
    tag: &HeaderValue,
) -> Result<Option<StatusCode>, Problem> {
    // Tags of this door are strong, so a weak tag never matches in If-Match (strong comparison).
    if names(headers, header::IF_MATCH, tag, |is_weak| !is_weak)? == Some(false) {
        return Ok(Some(StatusCode::PRECONDITION_FAILED));
    }
    let has_it = names(headers, header::IF_NONE_MATCH, tag, |_| true)? == Some(true);
    Ok(has_it.then_some(StatusCode::NOT_MODIFIED))
}

/// Refuses a write that has a condition.
pub(crate) fn of_write(headers: &HeaderMap) -> Result<(), Problem> {
    for name in [header::IF_MATCH, header::IF_NONE_MATCH, header::IF_UNMODIFIED_SINCE] {
        if headers.contains_key(&name) {
            let why = format!(
                "{name} is not honoured in a write, and nothing was written: the nodes cannot compare \
                 and write in one step, so a change made meanwhile could be lost"
            );
            return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "Not Implemented", why));
        }
    }
    Ok(())
}

/// Reports whether the header `name` lists this tag, or None when the header is missing. `counts(is_weak)` decides
/// whether a tag of that strength may match (clause 8.8.3.2).
fn names(
    headers: &HeaderMap,
    name: HeaderName,
    tag: &HeaderValue,
    counts: impl Fn(bool) -> bool,
) -> Result<Option<bool>, Problem> {
    let mut is_named = None;
    for value in headers.get_all(&name) {
        let wrong =
            || Problem::bad_request(format!("{name} is neither * nor a list of entity tags"));
        let tags = tags(value.as_bytes()).ok_or_else(wrong)?;
        let is_it = |(is_weak, other): &(bool, &[u8])| {
            *other == b"*" || *other == tag.as_bytes() && counts(*is_weak)
        };
        is_named = Some(is_named.unwrap_or(false) || tags.iter().any(is_it));
    }
    Ok(is_named)
}

/// Parses `*` or a list such as `"a", W/"b"`. Returns each tag with its quotes, and whether it is weak. None when the
/// value has another form.
fn tags(value: &[u8]) -> Option<Vec<(bool, &[u8])>> {
    let is_between = |byte: &u8| matches!(byte, b' ' | b'\t' | b',');
    let mut rest = value.trim_ascii();
    if rest == b"*" {
        return Some(vec![(false, rest)]);
    }
    let mut tags = Vec::new();
    loop {
        let begin = rest.iter().position(|byte| !is_between(byte));
        let Some(begin) = begin else { return Some(tags) };
        rest = &rest[begin..];
        let weak = rest.strip_prefix(b"W/");
        rest = weak.unwrap_or(rest);
        let inner = rest.strip_prefix(b"\"")?;
        let len = inner.iter().position(|&byte| byte == b'"')? + 2;
        tags.push((weak.is_some(), &rest[..len]));
        rest = &rest[len..];
        if rest.first().is_some_and(|byte| !is_between(byte)) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_listed_with_their_strength() {
        let two: Vec<(bool, &[u8])> = vec![(false, b"\"a,b\""), (true, b"\"\"")];
        assert_eq!(tags(b" \"a,b\" ,, W/\"\""), Some(two));
        assert_eq!(tags(b"*"), Some(vec![(false, &b"*"[..])]));
        assert_eq!(tags(b""), Some(vec![]));
        for wrong in [&b"a"[..], b"\"a", b"w/\"a\"", b"\"a\"\"b\"", b"*, \"a\"", b"W/ \"a\""] {
            assert_eq!(tags(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_read_is_judged_as_the_standard_says() {
        let tag = HeaderValue::from_static("\"7\"");
        let judge = |name: HeaderName, value: &'static str| {
            let value = HeaderValue::from_static(value);
            of_read(&HeaderMap::from_iter([(name, value)]), &tag).map_err(|_| "refused")
        };
        let not_modified = Ok(Some(StatusCode::NOT_MODIFIED));
        let failed = Ok(Some(StatusCode::PRECONDITION_FAILED));
        for (value, read, matched) in [
            ("\"7\"", not_modified, Ok(None)),
            ("\"8\", \"7\"", not_modified, Ok(None)),
            ("*", not_modified, Ok(None)),
            ("W/\"7\"", not_modified, failed),
            ("\"8\"", Ok(None), failed),
            ("", Ok(None), failed),
            ("7", Err("refused"), Err("refused")),
        ] {
            assert_eq!(judge(header::IF_NONE_MATCH, value), read, "{value}");
            assert_eq!(judge(header::IF_MATCH, value), matched, "{value}");
        }
        assert_eq!(of_read(&HeaderMap::new(), &tag).ok(), Some(None));
    }
}
