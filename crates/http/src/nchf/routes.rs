//! The charging data resources: Create, Update, Release (TS 32.291 clause 6.1.3).

use super::problem::{denied, missing, refused, settled_late, unknown_reference, unreadable};
use super::reference::Reference;
use super::request::{ChargingDataRequest, Item};
use super::response::{ChargingDataResponse, VALIDITY_S};
use crate::charging::{
    AccountId, Command, REPLAYED, Retry, SessionReply, foreign, outcome, read_body, read_json,
};
use crate::problem::Problem;
use crate::service::{Repeat, Service};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use scurry_ledger::{Code, CodeKind};
use scurry_resp::table::Role;
use std::sync::Arc;

const RESOURCES: &str = "/nchf-convergedcharging/v3/chargingdata";

/// The routes of the operations that need this role: all of them charge.
pub(crate) fn routes(role: Role, service: &Arc<dyn Service>) -> Router {
    if role != Role::Charge {
        return Router::new();
    }
    Router::new()
        .route(RESOURCES, post(create))
        .route(&format!("{RESOURCES}/{{reference}}/update"), post(update))
        .route(&format!("{RESOURCES}/{{reference}}/release"), post(release))
        .with_state(Arc::clone(service))
}

type Store = State<Arc<dyn Service>>;

async fn create(State(store): Store, request: Request) -> Result<Response, Problem> {
    let request = read(request).await?;
    let account = request.subscriber_identifier.clone().ok_or_else(|| {
        missing("/subscriberIdentifier", "is needed: it is the account that is charged")
    })?;
    let account = AccountId::new(account)
        .map_err(|why| super::problem::incorrect("/subscriberIdentifier", &why))?;
    let account = account.as_str().to_owned();
    let session = request.nf_consumer_identification.session(&request.charging_id()?);
    let reference = Reference { account, session, kind: request.first_kind() };
    let items = request.items(reference.kind)?;
    if let Some(at) = items.iter().position(|item| item.used.is_some()) {
        let place = format!("/multipleUnitUsage/{at}/usedUnitContainer");
        return Err(super::problem::incorrect(&place, "nothing is used before the Create"));
    }
    let items: Vec<Item> = items.into_iter().filter(|item| item.requested.is_some()).collect();
    let command = command("SCUR.RESERVE", &reference, &request)
        .number("VALIDITY", Some(i64::from(VALIDITY_S) * 1_000));
    let reply = ask(&*store, add(command, &items)).await?;
    if reply.code.kind() == CodeKind::Denial {
        return Err(denied(reply.code));
    }
    let location = format!("{RESOURCES}/{}", reference.segment());
    let sequence = request.invocation_sequence_number;
    let body = Json(ChargingDataResponse::new(sequence, &items, &reply));
    let mut response = marked((StatusCode::CREATED, body).into_response(), &reply);
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

async fn update(
    State(store): Store,
    reference: Result<Path<String>, axum::extract::rejection::PathRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let (reference, request) = of_resource(reference.ok(), request).await?;
    let items = request.items(reference.kind)?;
    let says = |item: &Item| item.used.is_some() || item.requested.is_some();
    let items: Vec<Item> = items.into_iter().filter(says).collect();
    let command = command("SCUR.UPDATE", &reference, &request).flag("LATEUSE", true);
    let reply = ask(&*store, add(command, &items)).await?;
    // Without quota the session goes on, and what was used is debited: no error says that.
    if reply.code == Code::ServiceDenied {
        return Err(denied(reply.code));
    }
    // Nothing more is granted under this reference: the consumer has to open a session anew.
    if reply.version == 0 {
        return Ok(marked(settled_late().into_response(), &reply));
    }
    let sequence = request.invocation_sequence_number;
    let body = Json(ChargingDataResponse::new(sequence, &items, &reply));
    Ok(marked(body.into_response(), &reply))
}

async fn release(
    State(store): Store,
    reference: Result<Path<String>, axum::extract::rejection::PathRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let (reference, request) = of_resource(reference.ok(), request).await?;
    let items = request.items(reference.kind)?.into_iter();
    // At the end nobody is granted anything.
    let items = items.filter(|item| item.used.is_some());
    let items: Vec<Item> = items.map(|item| Item { requested: None, ..item }).collect();
    let command = command("SCUR.TERMINATE", &reference, &request).flag("LATEUSE", true);
    let reply = ask(&*store, add(command, &items)).await?;
    Ok(marked(StatusCode::NO_CONTENT.into_response(), &reply))
}

async fn read(request: Request) -> Result<ChargingDataRequest, Problem> {
    let (head, body) = request.into_parts();
    let body = read_body(body).await.map_err(unreadable)?;
    let request: ChargingDataRequest = read_json(&head.headers, &body).map_err(unreadable)?;
    request.check()?;
    Ok(request)
}

/// A request to a resource that there is or was.
async fn of_resource(
    reference: Option<Path<String>>,
    request: Request,
) -> Result<(Reference, ChargingDataRequest), Problem> {
    let request = read(request).await?;
    let reference = reference.and_then(|Path(text)| Reference::read(&text));
    let reference = reference.ok_or_else(unknown_reference)?;
    let subscriber = request.subscriber_identifier.as_deref();
    if subscriber.is_some_and(|subscriber| subscriber != reference.account) {
        let why = "is another one than the resource's";
        return Err(super::problem::incorrect("/subscriberIdentifier", why));
    }
    Ok((reference, request))
}

fn command(name: &str, reference: &Reference, request: &ChargingDataRequest) -> Command {
    let command = Command::new(name).word(&reference.account).word(&reference.session);
    command.integer(request.invocation_sequence_number)
}

fn add(command: Command, items: &[Item]) -> Command {
    items.iter().fold(command, |command, item| item.add_to(command))
}

async fn ask(store: &dyn Service, command: Command) -> Result<SessionReply, Problem> {
    let reply = store.execute(&command.0, Repeat::Harmless).await;
    let reply = outcome(reply, Retry::Request).map_err(refused)?;
    SessionReply::read(&reply).ok_or_else(|| refused(foreign()))
}

/// Says so where the answer is the stored one.
fn marked(mut response: Response, reply: &SessionReply) -> Response {
    if reply.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}
