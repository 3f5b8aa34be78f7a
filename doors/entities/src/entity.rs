//! `/v0/entity`: GET, PUT and DELETE of one entity.

use crate::condition;
use crate::coordinator::EntityView;
use crate::quorum::Quorum;
use crate::shared::Shared;
use axum::body::Body;
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use scurry_http::{Problem, now, query};
use scurry_ledger::Time;
use std::sync::Arc;

/// Lifetime of an entity in milliseconds: the whole in a PUT, the rest in the answer to a GET.
const TTL: HeaderName = HeaderName::from_static("entity-ttl-ms");
/// 366 days.
pub(crate) const TTL_MAX_MS: i64 = 366 * 24 * 3_600_000;
/// Maximum length of an id, bytes. A URL has 65,534 at most, and each byte of an id may take three.
pub(crate) const ID_LEN_MAX: usize = 16_384;

/// The entity that a request names.
struct NamedEntity {
    id: Vec<u8>,
    quorum: Quorum,
}

impl NamedEntity {
    fn read(query: Option<&str>, nodes: usize) -> Result<NamedEntity, Problem> {
        let [id, replicas] = query::read(query, ["id", "replicas"])?;
        let id = id.filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| Problem::bad_request("id is missing or empty: say ?id=ID"))?;
        if id.len() > ID_LEN_MAX {
            let why = format!("id has {} bytes, and may have {ID_LEN_MAX}", id.len());
            return Err(Problem::bad_request(why));
        }
        Ok(NamedEntity { id, quorum: quorum(replicas, nodes)? })
    }
}

/// Parses the parameter `replicas`. Without it the quorum is a majority of all nodes.
pub(crate) fn quorum(replicas: Option<Vec<u8>>, nodes: usize) -> Result<Quorum, Problem> {
    match replicas {
        None => Ok(Quorum::majority(nodes)),
        Some(text) => {
            Quorum::parse(&String::from_utf8_lossy(&text), nodes).map_err(Problem::bad_request)
        }
    }
}

/// Answers 200 with the value, 304 or 412 when a condition says so, or 404.
pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let NamedEntity { id, quorum } =
        NamedEntity::read(query.as_deref(), shared.coordinator.nodes.len())?;
    match shared.coordinator.get(&id, quorum).await? {
        Some(shown) => judge(show(shown), &headers),
        None => Err(Problem::new(StatusCode::NOT_FOUND, "Not Found", "there is no such entity")),
    }
}

/// Returns the answer to a read: the entity, or the status that its conditions require.
fn judge(mut shown: Response, headers: &HeaderMap) -> Result<Response, Problem> {
    let tag = shown.headers().get(header::ETAG).cloned();
    let tag = tag.unwrap_or_else(|| HeaderValue::from_static("\"\""));
    match condition::of_read(headers, &tag)? {
        None => Ok(shown),
        Some(StatusCode::NOT_MODIFIED) => {
            // A 304 keeps the tag and has no body.
            *shown.status_mut() = StatusCode::NOT_MODIFIED;
            *shown.body_mut() = Body::empty();
            shown.headers_mut().remove(header::CONTENT_TYPE);
            Ok(shown)
        }
        Some(status) => {
            let why = "If-Match names none of the entity's tags: it has another version";
            Err(Problem::new(status, "Precondition Failed", why))
        }
    }
}

/// Answers 201 when `ack` nodes have the value.
pub(crate) async fn put(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Problem> {
    let NamedEntity { id, quorum } =
        NamedEntity::read(query.as_deref(), shared.coordinator.nodes.len())?;
    condition::of_write(request.headers())?;
    let expires = expires(request.headers())?;
    let value = shared.body(request).await?;
    let written = shared.coordinator.put(&id, value, expires, quorum).await;
    Ok((StatusCode::CREATED, [(header::ETAG, written?.tag())]).into_response())
}

/// Answers 202 when `ack` nodes have the deletion.
pub(crate) async fn delete(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    condition::of_write(&headers)?;
    let NamedEntity { id, quorum } =
        NamedEntity::read(query.as_deref(), shared.coordinator.nodes.len())?;
    let deleted = shared.coordinator.delete(&id, quorum).await?;
    Ok((StatusCode::ACCEPTED, [(header::ETAG, deleted.tag())]).into_response())
}

fn show(shown: EntityView) -> Response {
    let mut response = Response::new(Body::from(shown.bytes));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    if let Ok(tag) = HeaderValue::try_from(shown.tag) {
        headers.insert(header::ETAG, tag);
    }
    if let Some(expires) = shown.expires {
        headers.insert(TTL, HeaderValue::from((expires.0 - now().0).max(0)));
    }
    response
}

fn expires(headers: &HeaderMap) -> Result<Option<Time>, Problem> {
    let Some(value) = headers.get(&TTL) else { return Ok(None) };
    let ms = value.to_str().ok().and_then(|digits| digits.parse::<i64>().ok());
    match ms {
        Some(ms @ 1..=TTL_MAX_MS) => Ok(Some(now().plus_ms(ms))),
        _ => {
            let why = format!("{TTL} is not a number of milliseconds from 1 to {TTL_MAX_MS}");
            Err(Problem::bad_request(why))
        }
    }
}
