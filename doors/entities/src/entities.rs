//! `/v0/entities`: lists ids of entities by their value, or streams the entities of a range of ids.

use crate::entity::{ID_LEN_MAX, quorum};
use crate::range::{self, Range};
use crate::search::{EntityFilter, Search, SearchPage};
use crate::shared::Shared;
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_encode;
use scurry_http::Problem;
use scurry_http::query::{self, ESCAPED};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

/// Ids in an answer: the maximum, and the default when the request has no `limit`.
pub(crate) const LIMIT_MAX: usize = 1_000;
pub(crate) const LIMIT: usize = 100;
/// Maximum number of entities of a range in an answer, and the default when the request has no `limit`.
pub(crate) const RANGE_LIMIT_MAX: usize = 10_000_000;
/// Ids, percent-encoded as in `id=` of a URL: ids are bytes, which JSON cannot hold.
#[derive(Serialize)]
pub(crate) struct Ids {
    ids: Vec<String>,
    /// Value of `after` in the request for the next page; None when there are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Answers 200 with the ids that have a value, or with the entities of a range, in the order of the ids' bytes.
pub(crate) async fn find(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let names = ["value", "replicas", "limit", "after", "start", "end"];
    let [value, replicas, limit, after, start, end] = query::read(query.as_deref(), names)?;
    let quorum = quorum(replicas, shared.coordinator.nodes.len())?;
    let limit = |unless, max| self::limit(limit.as_deref(), unless, max);
    let after = after.unwrap_or_default();
    let ids = [("after", Some(&after)), ("start", start.as_ref()), ("end", end.as_ref())];
    if let Some((name, id)) = ids.into_iter().find(|(_, id)| id.is_some_and(|id| is_too_long(id))) {
        let len = id.map_or(0, Vec::len);
        let why = format!("{name} has {len} bytes, and an id may have {ID_LEN_MAX}");
        return Err(Problem::bad_request(why));
    }
    match (value, start.is_some() || end.is_some()) {
        (Some(value), false) => {
            let limit = limit(LIMIT, LIMIT_MAX)?;
            let wanted = EntityFilter::Value(&value);
            let search = Search { wanted, after: &after, limit, id_len_max: ID_LEN_MAX };
            let found = shared.coordinator.find(&value, search, quorum).await?;
            Ok(Json(show(&found)).into_response())
        }
        (None, true) => {
            let limit = limit(RANGE_LIMIT_MAX, RANGE_LIMIT_MAX)?;
            let (start, page) = (start.unwrap_or_default(), VecDeque::new());
            let range = Range { start, end, after, quorum, limit, page, has_more: false };
            range::answer(shared, range).await
        }
        _ => Err(Problem::bad_request("say ?value=VALUE, or ?start=ID&end=ID, and not both")),
    }
}

fn is_too_long(id: &[u8]) -> bool {
    id.len() > ID_LEN_MAX
}

fn limit(text: Option<&[u8]>, unless: usize, max: usize) -> Result<usize, Problem> {
    let Some(text) = text else { return Ok(unless) };
    let digits = text.iter().all(u8::is_ascii_digit).then_some(text);
    let number = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let known = number.filter(|number| (1..=max).contains(number));
    known.ok_or_else(|| Problem::bad_request(format!("limit is not a number from 1 to {max}")))
}

fn show(found: &SearchPage) -> Ids {
    let escaped = |id: &Vec<u8>| percent_encode(id, ESCAPED).to_string();
    Ids { ids: found.ids.iter().map(escaped).collect(), next: found.next.as_ref().map(escaped) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_comes_back_as_it_was_asked_for() {
        for id in [&b"user:7/a?b=c"[..], b"\0\xff %&+#\"<>", "caf\u{e9}".as_bytes()] {
            let shown = show(&SearchPage { ids: vec![id.to_vec()], next: None });
            let asked = format!("id={}", shown.ids[0]);
            assert_eq!(query::read(Some(&asked), ["id"]).unwrap(), [Some(id.to_vec())]);
            assert!(shown.ids[0].is_ascii());
        }
        assert_eq!(percent_encode(b"user:7", ESCAPED).to_string(), "user:7");
    }

    #[test]
    fn a_limit_is_a_number_within_its_bounds() {
        let limit = |text| limit(text, LIMIT, LIMIT_MAX);
        assert_eq!(limit(None).unwrap(), LIMIT);
        assert_eq!(limit(Some(b"1")).unwrap(), 1);
        assert_eq!(limit(Some(b"1000")).unwrap(), LIMIT_MAX);
        for nonsense in [&b""[..], b"0", b"1001", b"-1", b"+1", b"x", b"99999999999999999999999"] {
            assert!(limit(Some(nonsense)).is_err(), "{nonsense:?}");
        }
    }
}
