//! `/v0/entities`: the ids of entities that have a value.

use crate::coordinator::Failure;
use crate::door::Shared;
use crate::entity::{ID_LEN_MAX, failed, quorum};
use crate::problem::Problem;
use crate::query;
use crate::search::{Found, Search};
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use serde::Serialize;
use std::sync::Arc;

/// Ids that an answer has at most, and unless the request says otherwise.
const LIMIT_MAX: usize = 1_000;
const LIMIT: usize = 100;
/// What does not stand in the query of a URL as it is. All that is not ASCII is escaped too.
const ESCAPED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'&').add(b'+').add(b'<').add(b'>');

/// Ids as they may stand behind `id=` in a URL: they are bytes, and JSON has none.
#[derive(Serialize)]
pub(crate) struct Ids {
    ids: Vec<String>,
    /// `after` of the request for what may come behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// 200 with the ids, in the order of their bytes.
pub(crate) async fn find(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
) -> Result<Json<Ids>, Problem> {
    let names = ["value", "replicas", "limit", "after"];
    let [value, replicas, limit, after] = query::read(query.as_deref(), names)?;
    let value = value.ok_or_else(|| Problem::bad_request("value is missing: say ?value=VALUE"))?;
    let quorum = quorum(replicas, shared.coordinator.nodes.len())?;
    let limit = self::limit(limit.as_deref())?;
    let after = after.unwrap_or_default();
    if after.len() > ID_LEN_MAX {
        let why = format!("after has {} bytes, and an id may have {ID_LEN_MAX}", after.len());
        return Err(Problem::bad_request(why));
    }
    let search = Search { value: &value, after: &after, limit, id_len_max: ID_LEN_MAX };
    let found = shared.coordinator.find(search, quorum).await.map_err(refused)?;
    Ok(Json(show(&found)))
}

fn limit(text: Option<&[u8]>) -> Result<usize, Problem> {
    let Some(text) = text else { return Ok(LIMIT) };
    let digits = text.iter().all(u8::is_ascii_digit).then_some(text);
    let number = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let known = number.filter(|number| (1..=LIMIT_MAX).contains(number));
    let why = || Problem::bad_request(format!("limit is not a number from 1 to {LIMIT_MAX}"));
    known.ok_or_else(why)
}

fn show(found: &Found) -> Ids {
    let escaped = |id: &Vec<u8>| percent_encode(id, ESCAPED).to_string();
    Ids { ids: found.ids.iter().map(escaped).collect(), next: found.next.as_ref().map(escaped) }
}

fn refused(failure: Failure) -> Problem {
    match failure {
        Failure::NoIndex { .. } => {
            Problem::new(StatusCode::NOT_IMPLEMENTED, "Not Implemented", failure)
        }
        Failure::TooMany(_) => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "Unprocessable Content", failure)
        }
        other => failed(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_comes_back_as_it_was_asked_for() {
        for id in [&b"user:7/a?b=c"[..], b"\0\xff %&+#\"<>", "caf\u{e9}".as_bytes()] {
            let shown = show(&Found { ids: vec![id.to_vec()], next: None });
            let asked = format!("id={}", shown.ids[0]);
            assert_eq!(query::read(Some(&asked), ["id"]).unwrap(), [Some(id.to_vec())]);
            assert!(shown.ids[0].is_ascii());
        }
        assert_eq!(percent_encode(b"user:7", ESCAPED).to_string(), "user:7");
    }

    #[test]
    fn a_limit_is_a_number_within_its_bounds() {
        assert_eq!(limit(None).unwrap(), LIMIT);
        assert_eq!(limit(Some(b"1")).unwrap(), 1);
        assert_eq!(limit(Some(b"1000")).unwrap(), LIMIT_MAX);
        for nonsense in [&b""[..], b"0", b"1001", b"-1", b"+1", b"x", b"99999999999999999999999"] {
            assert!(limit(Some(nonsense)).is_err(), "{nonsense:?}");
        }
    }
}
