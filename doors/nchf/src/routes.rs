//! Routes of the charging data resources: Create, Update, Release (TS 32.291 clause 6.1.3).

use crate::client_data;
use crate::door::NchfDoor;
use crate::entry::{Entries, first_kind};
use crate::event::Event;
use crate::metrics::Operation;
use crate::problem::{
    denied, incorrect, missing, settled_late, unknown_path, unknown_reference, unreadable,
};
use crate::reference::Reference;
use crate::request::{ChargingDataRequest, EventKind};
use crate::response::ChargingDataResponse;
use crate::sbi::{check_token, keep_headers};
use crate::session::{Create, Later};
use crate::session_name::SessionName;
use crate::subscriber::subscriber;
use crate::version::Version;
use axum::body::Bytes;
use axum::extract::{self, Path, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use axum::{Json, Router};
use scurry_door_json::{AccountId, REPLAYED};
use scurry_http::{Gate, Problem, read_body, read_json};
use scurry_ledger::Code;
use scurry_resp::table::Role;
use scurry_service::SessionStep;
use std::sync::Arc;

/// All paths of the services that TS 32.291 and TS 32.290 give a charging function.
const SERVICES: [&str; 3] = [
    "/nchf-convergedcharging/{*rest}",
    "/nchf-offlineonlycharging/{*rest}",
    "/nchf-spendinglimitcontrol/{*rest}",
];

/// What a handler gets of the door, for one version.
type Shared = State<(Arc<NchfDoor>, Version)>;
type PathReference = Result<Path<String>, axum::extract::rejection::PathRejection>;

/// Returns the routes of Nchf. All need an access token of the NRF where the settings name its keys, else
/// [`Role::Charge`].
pub fn routes(door: &Arc<NchfDoor>, gate: &Arc<Gate>) -> Router {
    let of = |version: Version| {
        let resources = version.resources();
        Router::new()
            .route(resources, post(create))
            .route(&format!("{resources}/{{reference}}/update"), post(update))
            .route(&format!("{resources}/{{reference}}/release"), post(release))
            .with_state((Arc::clone(door), version))
    };
    let routes =
        SERVICES.into_iter().fold(of(Version::V2).merge(of(Version::V3)), |routes, path| {
            routes.route(path, any(|uri: Uri| async move { unknown_path(uri.path()) }))
        });
    let routes = routes.route_layer(from_fn_with_state(Arc::clone(door), keep_headers));
    match &door.token_check {
        None => gate.guard(Role::Charge, routes),
        Some(check) => {
            let state = (Arc::clone(door), Arc::clone(check));
            routes.route_layer(from_fn_with_state(state, check_token))
        }
    }
}

async fn create(
    State((door, version)): Shared,
    request: extract::Request,
) -> Result<Response, Problem> {
    let (request, body) = read(request).await?;
    let identifier = request.subscriber_identifier.as_deref().ok_or_else(|| {
        missing("/subscriberIdentifier", "is needed: it is the subscriber who is charged")
    })?;
    AccountId::new(identifier.to_owned())
        .map_err(|why| incorrect("/subscriberIdentifier", &why))?;
    let table = door.table();
    let subscriber = subscriber(identifier, &table);
    let kind = first_kind(&request);
    let session = SessionName::of(&request, request.time_ms()?, &body);
    let bound = door.settings.bound_of(&request.nf_consumer_identification);
    let entries = Entries::of(&request, &table, kind, bound);
    door.metrics.left_out(entries.left_out.len());
    let number = request.invocation_sequence_number;
    if let Some(event) = request.event()? {
        door.metrics.asked(version, Operation::Event, &request.nf_consumer_identification);
        let name = session.of_event(number);
        let asked = Event { kind: event, name: &name, number, subscriber: &subscriber };
        let is_replayed = asked.charge(&*door.store, &entries).await?;
        let is_debit = event == EventKind::Immediate;
        let response = ChargingDataResponse::of_event(version, &request, &entries, is_debit);
        let location = format!("{}/{name}", version.resources());
        return Ok(created(&location, Json(response), is_replayed));
    }
    door.metrics.asked(version, Operation::Create, &request.nf_consumer_identification);
    let charging_id = request.charging_id();
    let data = client_data::data(version, charging_id.as_deref(), request.notify_uri.as_deref());
    let create = Create {
        request: &request,
        entries: &entries,
        subscriber: &subscriber,
        session,
        validity_s: table.session_validity_s(request.context()),
        data: data.as_deref(),
    };
    let opened = create.charge(&*door.store).await?;
    let (account, session) = (opened.account, opened.session);
    door.recent.note(account.as_bytes(), session.id().as_bytes());
    let location = Reference { account, session, kind, number }.segment();
    let location = format!("{}/{location}", version.resources());
    let answers = &opened.charged.items;
    let response = ChargingDataResponse::new(version, &request, &entries, &opened.items, answers);
    Ok(created(&location, Json(response), opened.charged.is_replayed))
}

async fn update(
    State((door, version)): Shared,
    reference: PathReference,
    request: extract::Request,
) -> Result<Response, Problem> {
    let (request, _) = read(request).await?;
    door.metrics.asked(version, Operation::Update, &request.nf_consumer_identification);
    let reference = read_reference(reference)?;
    let entries = read_entries(&door, &request, &reference);
    let later = later(&request, &reference, SessionStep::Update)?;
    let (items, charged) = later.charge(&*door.store, &entries).await?;
    // Running out of quota is not an error: the session continues, the reported use is debited, and each rating group
    // has its result code.
    if charged.code == Code::ServiceDenied {
        return Err(denied(charged.code));
    }
    // Version 0: the session is not open and the use was settled late. This reference never grants again, so the
    // consumer must create another session.
    if charged.version == 0 {
        return Ok(with_replayed_header(settled_late().into_response(), charged.is_replayed));
    }
    door.recent.note(reference.account.as_bytes(), reference.session.id().as_bytes());
    let response = ChargingDataResponse::new(version, &request, &entries, &items, &charged.items);
    Ok(with_replayed_header(Json(response).into_response(), charged.is_replayed))
}

async fn release(
    State((door, version)): Shared,
    reference: PathReference,
    request: extract::Request,
) -> Result<Response, Problem> {
    let (request, _) = read(request).await?;
    door.metrics.asked(version, Operation::Release, &request.nf_consumer_identification);
    let reference = read_reference(reference)?;
    let entries = read_entries(&door, &request, &reference);
    let later = later(&request, &reference, SessionStep::Terminate)?;
    let (_, charged) = later.charge(&*door.store, &entries).await?;
    Ok(with_replayed_header(StatusCode::NO_CONTENT.into_response(), charged.is_replayed))
}

async fn read(request: extract::Request) -> Result<(ChargingDataRequest, Bytes), Problem> {
    let (head, body) = request.into_parts();
    let body = read_body(body).await.map_err(unreadable)?;
    let request: ChargingDataRequest = read_json(&head.headers, &body).map_err(unreadable)?;
    Ok((request, body))
}

fn read_reference(reference: PathReference) -> Result<Reference, Problem> {
    let reference = reference.ok().and_then(|Path(text)| Reference::read(&text));
    reference.ok_or_else(unknown_reference)
}

/// Reads the entries of a request about an open session.
fn read_entries(door: &NchfDoor, request: &ChargingDataRequest, reference: &Reference) -> Entries {
    let bound = door.settings.bound_of(&request.nf_consumer_identification);
    let entries = Entries::of(request, &door.table(), reference.kind, bound);
    door.metrics.left_out(entries.left_out.len());
    entries
}

fn later<'a>(
    request: &ChargingDataRequest,
    reference: &'a Reference,
    step: SessionStep,
) -> Result<Later<'a>, Problem> {
    let (number, time_ms) = (request.invocation_sequence_number, request.time_ms()?);
    Ok(Later { reference, step, number, time_ms })
}

fn created(location: &str, body: Json<ChargingDataResponse<'_>>, is_replayed: bool) -> Response {
    let mut response = (StatusCode::CREATED, body).into_response();
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    with_replayed_header(response, is_replayed)
}

/// Adds the `Idempotency-Replayed` header if the answer is a stored one.
fn with_replayed_header(mut response: Response, is_replayed: bool) -> Response {
    if is_replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}
