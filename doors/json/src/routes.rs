//! Routes and request handling: one path from request to response for every operation of the table.

use crate::answer::Answer;
use crate::bounds::Bounds;
use crate::console_lists;
use crate::denial;
use crate::events;
use crate::input::Input;
use crate::lookup;
use crate::openapi::{self, DocumentCache};
use crate::operation::{Method, Operation, OperationWork};
use crate::refusal::{explain, refused, wrong_shape};
use crate::table::OPERATIONS;
use axum::body::{Bytes, HttpBody};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get, on};
use axum::{BoxError, Json, Router};
use scurry_http::door_codes::BAD_REQUEST;
use scurry_http::{Gate, Problem, now, read_body};
use scurry_ledger::CodeKind;
use scurry_resp::table::Role;
use scurry_server::Admitted;
use scurry_service::Service;
use std::sync::Arc;

/// Response header that marks a stored answer, which a duplicate gets.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The roles that operations need.
const ROLES: [Role; 4] = [Role::Anyone, Role::Read, Role::Charge, Role::Provision];

/// Returns the routes of charging, each for the role of its command. The routes that describe the interface itself are
/// for everyone.
pub fn routes(store: &Arc<dyn Service>, gate: &Arc<Gate>) -> Router {
    let lookup = Router::new()
        .route("/v1/console/account", get(lookup::account))
        .route("/v1/console/accounts", get(console_lists::accounts))
        .route("/v1/console/holds", get(console_lists::holds));
    let mut all = gate.guard(Role::Read, lookup.with_state(Arc::clone(store)));
    all = all.merge(gate.guard(Role::Read, events::routes(store)));
    for role in ROLES {
        let routes = of_role(role, store, gate.is_open());
        all = all.merge(if role == Role::Anyone { routes } else { gate.guard(role, routes) });
    }
    all
}

/// Returns the routes of the operations that need `role`. For [`Role::Anyone`] these are the paths that describe the
/// interface itself. The OpenAPI document demands credentials for each operation unless the door `is_open`
/// (authenticates no users).
fn of_role(role: Role, service: &Arc<dyn Service>, is_open: bool) -> Router {
    let mut router = Router::new();
    if role == Role::Anyone {
        let (service, texts) = (Arc::clone(service), Arc::new(DocumentCache::new(is_open)));
        let document = async move || {
            let kind = HeaderValue::from_static("application/json");
            ([(header::CONTENT_TYPE, kind)], texts.document(Bounds::ask(&*service).await))
        };
        router = router
            .route("/v1/openapi.json", get(document))
            .route("/v1/problems", get(async || Json(openapi::codes())));
    }
    for operation in OPERATIONS.iter().filter(|operation| operation.spec().role == role) {
        let service = Arc::clone(service);
        let handler = move |params: Result<RawPathParams, _>, request: Request| {
            let service = Arc::clone(&service);
            async move {
                let (mut head, body) = request.into_parts();
                let user = head.extensions.remove::<Admitted>();
                match unescaped(operation, params) {
                    Ok(params) => answer(operation, &*service, params, user, head, body).await,
                    Err(problem) => problem.into_response(),
                }
            }
        };
        router = router.route(operation.path, on(filter(operation.method), handler));
    }
    router
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Put => MethodFilter::PUT,
        Method::Post => MethodFilter::POST,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}

/// Returns the path's parameter names and values, which the router has percent-decoded.
fn unescaped(
    operation: &Operation,
    params: Result<RawPathParams, RawPathParamsRejection>,
) -> Result<Vec<(&'static str, String)>, Problem> {
    let params = params.map_err(|_| {
        let why = "the path has an escape that is no UTF-8";
        Problem::of_code(BAD_REQUEST.name, BAD_REQUEST.status, why)
    })?;
    // The route was registered with the operation's path, so both have the same names in the same order.
    let values = params.iter().map(|(_, value)| value.to_owned());
    Ok(operation.parameters().zip(values).collect())
}

/// Carries out an operation and returns the response. The caller has checked that the user has its role.
pub(crate) async fn answer<B>(
    operation: &'static Operation,
    store: &dyn Service,
    params: Vec<(&'static str, String)>,
    user: Option<Admitted>,
    head: Parts,
    body: B,
) -> Response
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let done = execute(operation, store, params, user, head, body).await;
    done.unwrap_or_else(Problem::into_response)
}

async fn execute<B>(
    operation: &'static Operation,
    store: &dyn Service,
    params: Vec<(&'static str, String)>,
    user: Option<Admitted>,
    head: Parts,
    body: B,
) -> Result<Response, Problem>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let query = head.uri.query().map(str::to_owned);
    let body = match operation.body {
        Some(_) => read_body(body).await?,
        None => Bytes::new(),
    };
    let input = Input { params, query, headers: head.headers, body, user };
    // An operation without query parameters refuses any; others read their own in `build`.
    if operation.query.is_empty() {
        input.query([])?;
    }
    let answer = match operation.work {
        OperationWork::Account(build, read) => {
            let reply =
                store.call(build(&input)?).await.map_err(|error| refused(error, operation.retry));
            read(reply.map_err(|refused| explain(refused, &input.body))?)
        }
        OperationWork::Store(build, read) => {
            let reply = store.read_store(build(&input)?).await;
            let reply = reply.map_err(|error| refused(error, operation.retry));
            read(reply.map_err(|refused| explain(refused, &input.body))?)
        }
    };
    let answer = answer.ok_or_else(wrong_shape)?;
    Ok(respond(operation, answer, &input.body))
}

/// Header with a wait in milliseconds, as clients of language models read it.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// Says after how many milliseconds the limits allow what they deny now. The seconds are rounded up.
fn put_wait(headers: &mut HeaderMap, wait_ms: i64) {
    let wait_ms = wait_ms.unsigned_abs();
    headers.insert(header::RETRY_AFTER, wait_ms.div_ceil(1_000).into());
    headers.insert(RETRY_AFTER_MS, wait_ms.into());
}

fn respond(operation: &Operation, answer: Answer, request: &[u8]) -> Response {
    let Answer { code, replayed, body } = answer;
    let mut response = if code.kind() == CodeKind::Denial {
        let status = StatusCode::from_u16(code.http()).unwrap_or(StatusCode::FORBIDDEN);
        // The problem of a denial has the members of the answer beside its own.
        let members = match serde_json::to_value(&body) {
            Ok(serde_json::Value::Object(members)) => members,
            _ => serde_json::Map::new(),
        };
        let why = denial::denial_sentence(code, &members);
        let request = serde_json::from_slice(request).unwrap_or_default();
        let allowed_at_ms = denial::allowed_at_ms(&members, &request);
        let mut response =
            Problem::of_code(code.name(), status, why).with_all(members).into_response();
        if let Some(at_ms) = allowed_at_ms {
            put_wait(response.headers_mut(), at_ms.saturating_sub(now().0).max(0));
        }
        response
    } else {
        let status = StatusCode::from_u16(operation.status).unwrap_or(StatusCode::OK);
        (status, Json(body)).into_response()
    };
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
