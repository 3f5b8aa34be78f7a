//! Routes of the charging data resources: Create, Update, Release (TS 32.291 clause 6.1.3).

use crate::problem::{denied, missing, refused, settled_late, unknown_reference, unreadable};
use crate::reference::Reference;
use crate::request::{ChargingDataRequest, RatingGroupItem};
use crate::response::{ChargingDataResponse, VALIDITY_S};
use axum::extract::{self, Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use scurry_door_json::{self as json, AccountId, REPLAYED, Retry, wrong_shape};
use scurry_http::{Gate, Problem, read_body, read_json};
use scurry_ledger::{Answer, Code, CodeKind, ItemAnswers, SessionOptions, SessionRequest};
use scurry_resp::table::Role;
use scurry_service::{Answered, Reply, Request, Service, SessionStep};
use std::sync::Arc;

const RESOURCES: &str = "/nchf-convergedcharging/v3/chargingdata";

/// Returns the routes of Nchf, which all need [`Role::Charge`].
pub fn routes(store: &Arc<dyn Service>, gate: &Arc<Gate>) -> Router {
    let routes = Router::new()
        .route(RESOURCES, post(create))
        .route(&format!("{RESOURCES}/{{reference}}/update"), post(update))
        .route(&format!("{RESOURCES}/{{reference}}/release"), post(release))
        .with_state(Arc::clone(store));
    gate.guard(Role::Charge, routes)
}

type StoreHandle = State<Arc<dyn Service>>;

async fn create(State(store): StoreHandle, request: extract::Request) -> Result<Response, Problem> {
    let request = read(request).await?;
    let account = request.subscriber_identifier.clone().ok_or_else(|| {
        missing("/subscriberIdentifier", "is needed: it is the account that is charged")
    })?;
    let account = AccountId::new(account)
        .map_err(|why| crate::problem::incorrect("/subscriberIdentifier", &why))?;
    let account = account.as_str().to_owned();
    let session = request.nf_consumer_identification.session(&request.charging_id()?);
    let reference = Reference { account, session, kind: request.first_kind() };
    let items = request.items(reference.kind)?;
    // A Create opens the session, so that no use can precede it.
    if let Some(at) = items.iter().position(|item| item.used.is_some()) {
        let place = format!("/multipleUnitUsage/{at}/usedUnitContainer");
        return Err(crate::problem::incorrect(&place, "nothing is used before the Create"));
    }
    let items: Vec<RatingGroupItem> =
        items.into_iter().filter(|item| item.requested.is_some()).collect();
    let validity_ms = Some(i64::from(VALIDITY_S) * 1_000);
    let options = SessionOptions { validity_ms, ..SessionOptions::default() };
    let asked = asked(&reference, &request, options);
    let reply = ask(&*store, &reference, asked, &items, SessionStep::Reserve).await?;
    // The session was not opened, so there is no resource to return.
    if reply.code.kind() == CodeKind::Denial {
        return Err(denied(reply.code));
    }
    let location = format!("{RESOURCES}/{}", reference.segment());
    let sequence = request.invocation_sequence_number;
    let body = Json(ChargingDataResponse::new(sequence, &items, &reply.items));
    let mut response = with_replayed_header((StatusCode::CREATED, body).into_response(), &reply);
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

async fn update(
    State(store): StoreHandle,
    reference: Result<Path<String>, axum::extract::rejection::PathRejection>,
    request: extract::Request,
) -> Result<Response, Problem> {
    let (reference, request) = read_for_resource(reference.ok(), request).await?;
    let items = request.items(reference.kind)?;
    let says = |item: &RatingGroupItem| item.used.is_some() || item.requested.is_some();
    let items: Vec<RatingGroupItem> = items.into_iter().filter(says).collect();
    let options = SessionOptions { late_use: true, ..SessionOptions::default() };
    let asked = asked(&reference, &request, options);
    let reply = ask(&*store, &reference, asked, &items, SessionStep::Update).await?;
    // Running out of quota is not an error: the session continues, the reported use is debited, and each rating group
    // has its result code.
    if reply.code == Code::ServiceDenied {
        return Err(denied(reply.code));
    }
    // Version 0: the session is not open and the use was settled late. This reference never grants again, so the
    // consumer must create another session.
    if reply.version == 0 {
        return Ok(with_replayed_header(settled_late().into_response(), &reply));
    }
    let sequence = request.invocation_sequence_number;
    let body = Json(ChargingDataResponse::new(sequence, &items, &reply.items));
    Ok(with_replayed_header(body.into_response(), &reply))
}

async fn release(
    State(store): StoreHandle,
    reference: Result<Path<String>, axum::extract::rejection::PathRejection>,
    request: extract::Request,
) -> Result<Response, Problem> {
    let (reference, request) = read_for_resource(reference.ok(), request).await?;
    let items = request.items(reference.kind)?.into_iter();
    // A Release grants nothing, so requested units are ignored.
    let items = items.filter(|item| item.used.is_some());
    let items: Vec<RatingGroupItem> =
        items.map(|item| RatingGroupItem { requested: None, ..item }).collect();
    let options = SessionOptions { late_use: true, ..SessionOptions::default() };
    let asked = asked(&reference, &request, options);
    let reply = ask(&*store, &reference, asked, &items, SessionStep::Terminate).await?;
    Ok(with_replayed_header(StatusCode::NO_CONTENT.into_response(), &reply))
}

async fn read(request: extract::Request) -> Result<ChargingDataRequest, Problem> {
    let (head, body) = request.into_parts();
    let body = read_body(body).await.map_err(unreadable)?;
    let request: ChargingDataRequest = read_json(&head.headers, &body).map_err(unreadable)?;
    request.check()?;
    Ok(request)
}

/// Reads a request to an existing or former resource, and checks that its subscriber, if given, is the resource's.
async fn read_for_resource(
    reference: Option<Path<String>>,
    request: extract::Request,
) -> Result<(Reference, ChargingDataRequest), Problem> {
    let request = read(request).await?;
    let reference = reference.and_then(|Path(text)| Reference::read(&text));
    let reference = reference.ok_or_else(unknown_reference)?;
    let subscriber = request.subscriber_identifier.as_deref();
    if subscriber.is_some_and(|subscriber| subscriber != reference.account) {
        let why = "is another one than the resource's";
        return Err(crate::problem::incorrect("/subscriberIdentifier", why));
    }
    Ok((reference, request))
}

/// Returns the members that all session requests have in common.
fn asked<'a>(
    reference: &'a Reference,
    request: &ChargingDataRequest,
    options: SessionOptions,
) -> SessionRequest<'a> {
    SessionRequest {
        session: reference.session.as_bytes(),
        request: request.invocation_sequence_number,
        options,
        ..SessionRequest::default()
    }
}

/// The ledger's answer to a session request.
struct ChargedSession {
    code: Code,
    replayed: bool,
    version: u64,
    items: ItemAnswers,
}

async fn ask(
    store: &dyn Service,
    reference: &Reference,
    asked: SessionRequest<'_>,
    items: &[RatingGroupItem],
    step: SessionStep,
) -> Result<ChargedSession, Problem> {
    let items: Vec<_> = items.iter().map(RatingGroupItem::request).collect();
    let command = step.command(SessionRequest { items: &items, ..asked });
    let reply = store.call(Request::write(reference.account.as_bytes(), &command)).await;
    let reply = reply.map_err(|error| refused(json::refused(error, Retry::Request)))?;
    let Reply::Answer(Answered {
        answer: Answer::Session { code, version, items }, replayed, ..
    }) = reply
    else {
        return Err(refused(wrong_shape()));
    };
    Ok(ChargedSession { code, replayed, version, items })
}

/// Adds the `Idempotency-Replayed` header if the answer is a stored one.
fn with_replayed_header(mut response: Response, reply: &ChargedSession) -> Response {
    if reply.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}
