//! Routes and request handling: one path from request to response for every operation of the table.

use super::answer::Answer;
use super::bounds::Bounds;
use super::denial;
use super::input::{BODY_LEN_MAX, Input};
use super::openapi::{self, Texts};
use super::operation::{Asked, Method, Operation, Work};
use super::refusal::{explain, foreign, outcome, refused};
use super::table::OPERATIONS;
use super::words::Words;
use crate::door_codes::{BAD_REQUEST, CONTENT_TOO_LARGE, DoorCode, REQUEST_TIMEOUT};
use crate::form;
use crate::problem::Problem;
use axum::body::{Bytes, HttpBody};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get, on};
use axum::{BoxError, Json, Router};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use redis::Value;
use scurry_ledger::CodeKind;
use scurry_resp::table::Role;
use scurry_server::Admitted;
use scurry_service::CallError;
use scurry_stores::Store;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Timeout for receiving the body of a request.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// Response header that marks a stored answer, which a duplicate gets.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The roles that operations need.
pub(crate) const ROLES: [Role; 4] = [Role::Anyone, Role::Read, Role::Charge, Role::Provision];

/// Returns the routes of the operations that need `role`. For [`Role::Anyone`] these are the paths that describe the
/// interface itself. The OpenAPI document demands credentials for each operation unless the door `is_open`
/// (authenticates no users).
pub(crate) fn routes(role: Role, service: &Arc<dyn Store>, is_open: bool) -> Router {
    let mut router = Router::new();
    if role == Role::Anyone {
        let (service, texts) = (Arc::clone(service), Arc::new(Texts::new(is_open)));
        let document = async move || {
            let kind = HeaderValue::from_static("application/json");
            ([(header::CONTENT_TYPE, kind)], texts.of(Bounds::of(&*service).await))
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
    store: &dyn Store,
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
    store: &dyn Store,
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
        Work::Account(build, read) => {
            let reply =
                store.call(build(&input)?).await.map_err(|error| refused(error, operation.retry));
            read(reply.map_err(|refused| explain(refused, &input.body))?)
        }
        Work::Store(build, asked, read) => {
            let reply = ask_store(store, &build(&input)?, asked, &input).await;
            let reply = outcome(reply, operation.retry);
            read(&reply.map_err(|refused| explain(refused, &input.body))?)
        }
    };
    let answer = answer.ok_or_else(foreign)?;
    Ok(respond(operation, answer))
}

/// Returns the reply to a command on the store as a whole.
async fn ask_store(
    store: &dyn Store,
    command: &Words,
    asked: Asked,
    input: &Input,
) -> Result<Value, CallError> {
    match asked {
        Asked::Owner => store.execute(&command.0).await,
        Asked::Everyone => store.execute_everywhere(&command.0).await.map(together),
        Asked::One(server) => {
            let server = server(input);
            store.execute_on(server, &command.0).await.map(|reply| of_one(server, reply))
        }
    }
}

/// Combines the replies of all servers to an array. If a server refuses, the result is its error.
fn together(replies: Vec<Value>) -> Value {
    let refusal = replies.iter().find(|reply| matches!(reply, Value::ServerError(_)));
    refusal.cloned().unwrap_or(Value::Array(replies))
}

/// Returns the array of a server's number, whether it is the last one, and its reply. An error reply is returned
/// unchanged.
fn of_one(server: usize, reply: Option<(Value, bool)>) -> Value {
    let (reply, is_last) = reply.unwrap_or((Value::Nil, true));
    match reply {
        Value::ServerError(_) => reply,
        reply => {
            let number = Value::Int(i64::try_from(server).unwrap_or(i64::MAX));
            Value::Array(vec![number, Value::Int(is_last.into()), reply])
        }
    }
}

fn respond(operation: &Operation, answer: Answer) -> Response {
    let Answer { code, replayed, body } = answer;
    let mut response = if code.kind() == CodeKind::Denial {
        let status = StatusCode::from_u16(code.http()).unwrap_or(StatusCode::FORBIDDEN);
        // The problem of a denial has the members of the answer beside its own.
        let members = match serde_json::to_value(&body) {
            Ok(serde_json::Value::Object(members)) => members,
            _ => serde_json::Map::new(),
        };
        let why = denial::in_words(code, &members);
        Problem::of_code(code.name(), status, why).with_all(members).into_response()
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

/// Reads the whole body of a request, within its bounds of length and time.
pub(crate) async fn read_body<B>(body: B) -> Result<Bytes, Problem>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    read_within(body, BODY_PATIENCE).await
}

async fn read_within<B>(body: B, patience: Duration) -> Result<Bytes, Problem>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let of = |code: DoorCode, why: String| Problem::of_code(code.name, code.status, why);
    let too_long = || of(CONTENT_TOO_LARGE, format!("the body has more than {BODY_LEN_MAX} bytes"));
    // Checked by Content-Length before reading: a client that waits for `100 Continue` then sends no body.
    if form::is_too_long(&body, BODY_LEN_MAX) {
        return Err(too_long());
    }
    match timeout(patience, Limited::new(body, BODY_LEN_MAX).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(error)) => Err(of(BAD_REQUEST, format!("the body is broken: {error}"))),
        Err(_) => {
            let why = format!("the body took more than {} s", patience.as_secs());
            Err(of(REQUEST_TIMEOUT, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use futures_util::stream::pending;
    use std::convert::Infallible;

    #[tokio::test]
    async fn a_body_that_does_not_come_is_given_up() {
        let body = Body::from_stream(pending::<Result<Bytes, Infallible>>());
        let problem =
            read_within(body, Duration::from_millis(1)).await.expect_err("it never comes");
        assert_eq!(problem.into_response().status(), StatusCode::REQUEST_TIMEOUT);
    }
}
