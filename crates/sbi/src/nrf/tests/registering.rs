//! Registrations at a stand-in for an NRF: no real one runs here. It answers as TS 29.510 says, or wrongly.

use super::*;
use crate::client::tests::client;
use crate::client::tests::stand_in::{PATIENCE, Received, Reply, StandIn, answer, ok};
use crate::client::{AllowedTargets, Client, ClientSettings};
use crate::nrf::registration::Pace;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const ID: &str = "8d4c0f7e-2b0a-4f5c-9e44-0a1b2c3d4e5f";
const PATH: &str = "/nnrf-nfm/v1/nf-instances/8d4c0f7e-2b0a-4f5c-9e44-0a1b2c3d4e5f";
const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";

/// A registration that runs.
struct Running {
    status: NrfStatus,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    fn start(uris: &[String]) -> Running {
        Running::start_with(uris, client(), PATIENCE)
    }

    fn start_with(uris: &[String], client: Client, deregistration_max: Duration) -> Running {
        let section = NrfSection {
            uri: uris.to_vec(),
            instance_id: Some(ID.to_owned()),
            addresses: vec!["10.0.0.5".parse().expect("an address")],
            port: Some(8080),
            heartbeat_s: Some(1),
            ..NrfSection::default()
        };
        let settings = section.into_settings(None).expect("settings");
        let mut registration = Registration::new(client, settings);
        registration.pace = Pace { second: Duration::from_millis(5), deregistration_max };
        let (stop, stopped) = oneshot::channel();
        let status = registration.status();
        let task = tokio::spawn(registration.run(async { stopped.await.expect("a stop") }));
        Running { status, stop, task }
    }

    /// Waits until the view is as it must be.
    async fn wait(&self, what: &str, is_so: impl Fn(&NrfView) -> bool) -> NrfView {
        let waited = tokio::time::timeout(PATIENCE, async {
            loop {
                let view = self.status.view();
                if is_so(&view) {
                    return view;
                }
                tokio::time::sleep(Duration::from_millis(2)).await; // The task has to get there.
            }
        });
        waited.await.unwrap_or_else(|_| panic!("{what}: {:?}", self.status.view()))
    }

    /// Stops it, and returns the last view.
    fn stop(self) -> impl Future<Output = NrfView> {
        self.stop.send(()).expect("it runs");
        async move {
            tokio::time::timeout(PATIENCE, self.task).await.expect("it ends").expect("no panic");
            self.status.view()
        }
    }
}

/// Returns what an NRF answers that knows the profile or takes it.
fn taken(request: &Received) -> Reply {
    match request.method {
        Method::PUT => answer(StatusCode::CREATED, JSON, with_timer(&request.body, json!(1))),
        _ => ok(),
    }
}

/// Returns a profile with the NRF's own timer.
fn with_timer(profile: &[u8], timer: Value) -> String {
    let mut profile: Value = serde_json::from_slice(profile).expect("a profile");
    profile["heartBeatTimer"] = timer;
    profile.to_string()
}

#[tokio::test]
async fn a_profile_is_registered_kept_and_deregistered() {
    let nrf = StandIn::start(taken).await;
    let running = Running::start(&[nrf.uri("")]);
    let view = running.wait("heartbeats", |view| view.counts.heartbeats >= 3).await;
    assert_eq!((view.state, view.nrf.as_deref()), (NrfState::Registered, Some(&*nrf.uri(""))));
    assert_eq!((view.last_error, view.heartbeat_s), (None, Some(1)));
    assert!(view.registered_since_ms.is_some());
    assert_eq!(view.counts.registrations, 1);
    let patch = nrf.last();
    assert_eq!(patch.headers["content-type"], "application/json-patch+json");
    let body: Value = serde_json::from_slice(&patch.body).expect("JSON");
    assert_eq!(body, json!([{ "op": "replace", "path": "/nfStatus", "value": "REGISTERED" }]));
    let view = running.stop().await;
    assert_eq!((view.state, view.last_error), (NrfState::Deregistered, None));
    assert_eq!(view.registered_since_ms, None);
    let lines = nrf.lines();
    assert_eq!(lines[0], format!("PUT {PATH}"));
    assert_eq!(lines[lines.len() - 1], format!("DELETE {PATH}"));
    let heartbeats = &lines[1..lines.len() - 1];
    assert!(heartbeats.iter().all(|line| *line == format!("PATCH {PATH}")), "{lines:?}");
    assert_eq!(nrf.last().headers["user-agent"], "CHF");
}

#[tokio::test]
async fn the_whole_profile_is_sent() {
    let nrf = StandIn::start(taken).await;
    let settings = section(WHOLE).into_settings(None).expect("settings");
    let expected = serde_json::to_value(&settings.profile).expect("a document");
    let text = WHOLE.replace("http://nrf-1.5gc.example:8000/", &nrf.uri("/core/"));
    let settings = section(&text).into_settings(None).expect("settings");
    let registration = Registration::new(client(), settings);
    let (status, (stop, stopped)) = (registration.status(), oneshot::channel());
    let task = tokio::spawn(registration.run(async { stopped.await.expect("a stop") }));
    nrf.wait_requests(1).await;
    let put = nrf.last();
    assert_eq!((&put.method, put.path()), (&Method::PUT, &*format!("/core{PATH}")));
    assert_eq!(put.headers["content-type"], JSON);
    assert_eq!(serde_json::from_slice::<Value>(&put.body).expect("JSON"), expected);
    stop.send(()).expect("it runs");
    task.await.expect("no panic");
    assert_eq!(status.view().state, NrfState::Deregistered);
}

#[tokio::test]
async fn an_nrf_that_has_forgotten_gets_the_profile_again() {
    let heartbeats = Mutex::new(0);
    let nrf = StandIn::start(move |request| {
        if request.method != Method::PATCH {
            return taken(request);
        }
        let mut heartbeats = heartbeats.lock().expect("no panic");
        *heartbeats += 1;
        match *heartbeats {
            2 => answer(
                StatusCode::NOT_FOUND,
                PROBLEM,
                "{\"cause\":\"RESOURCE_URI_STRUCTURE_NOT_FOUND\"}",
            ),
            _ => ok(),
        }
    })
    .await;
    let running = Running::start(&[nrf.uri("")]);
    let view = running.wait("again", |view| view.counts.registrations == 2).await;
    assert_eq!((view.counts.heartbeats, view.counts.heartbeats_failed), (1, 1));
    running.wait("heartbeats", |view| view.counts.heartbeats >= 3).await;
    let methods: Vec<_> = nrf.lines().iter().map(|line| line[..3].to_owned()).collect();
    assert_eq!(methods[..5], ["PUT", "PAT", "PAT", "PUT", "PAT"]);
    running.stop().await;
}

#[tokio::test]
async fn an_nrf_that_was_lost_is_found_again() {
    let socket = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = socket.local_addr().expect("an address");
    drop(socket);
    let running = Running::start(&[format!("http://{address}")]);
    let view = running.wait("failures", |view| view.counts.registrations_failed >= 3).await;
    assert_eq!((view.state, view.registered_since_ms), (NrfState::Registering, None));
    let error = view.last_error.expect("an error");
    assert!(error.contains("cannot be reached"), "{error}");
    // The NRF begins to run, and answers no heartbeat after the first three.
    let heartbeats = Mutex::new(0);
    let socket = TcpListener::bind(address).await.expect("the same port");
    let nrf = StandIn::start_at(socket, None, usize::MAX >> 3, move |request| {
        let mut heartbeats = heartbeats.lock().expect("no panic");
        *heartbeats += usize::from(request.method == Method::PATCH);
        match (&request.method, *heartbeats) {
            (&Method::PATCH, 4) => answer(StatusCode::INTERNAL_SERVER_ERROR, PROBLEM, "{}"),
            _ => taken(request),
        }
    });
    running.wait("found", |view| view.state == NrfState::Registered).await;
    let view = running.wait("lost and found", |view| view.counts.registrations == 2).await;
    assert_eq!((view.counts.heartbeats, view.counts.heartbeats_failed), (3, 1));
    running.stop().await;
    assert_eq!(nrf.last().method, Method::DELETE);
}

#[tokio::test]
async fn a_lost_nrf_is_shown() {
    let registrations = Mutex::new(0);
    let nrf = StandIn::start(move |request| {
        let mut registrations = registrations.lock().expect("no panic");
        *registrations += usize::from(request.method == Method::PUT);
        match (&request.method, *registrations) {
            (&Method::PUT, 1) => taken(request),
            _ => answer(
                StatusCode::SERVICE_UNAVAILABLE,
                PROBLEM,
                "{\"cause\":\"NF_CONGESTION\",\"detail\":\"too\\nmuch\"}",
            ),
        }
    })
    .await;
    let running = Running::start(&[nrf.uri("")]);
    let view = running.wait("lost", |view| view.counts.registrations_failed >= 2).await;
    assert_eq!((view.state, view.registered_since_ms), (NrfState::Lost, None));
    let error = "the NRF answered 503 Service Unavailable: NF_CONGESTION: too much";
    assert_eq!(view.last_error.as_deref(), Some(error));
    let view = running.stop().await;
    assert_eq!((view.state, view.last_error.as_deref()), (NrfState::Deregistered, Some(error)));
}

#[tokio::test]
async fn the_first_nrf_that_answers_gets_the_profile() {
    let refuse = |_: &Received| {
        let text = "{\"invalidParams\":[{\"param\":\"/chfInfo\",\"reason\":\"unknown\"}]}";
        answer(StatusCode::BAD_REQUEST, PROBLEM, text)
    };
    let (refusing, second, third) =
        (StandIn::start(refuse).await, StandIn::start(taken).await, StandIn::start(taken).await);
    let uris = [refusing.uri(""), second.uri(""), third.uri("")];
    let running = Running::start(&uris);
    let view = running.wait("heartbeats", |view| view.counts.heartbeats >= 2).await;
    assert_eq!(view.nrf.as_deref(), Some(&*second.uri("")));
    assert_eq!((view.counts.registrations, view.counts.registrations_failed), (1, 1));
    running.stop().await;
    assert_eq!(second.last().method, Method::DELETE);
    assert_eq!((refusing.requests(), third.requests()), (1, 0));
}

#[tokio::test]
async fn wrong_answers_to_a_registration_leave_the_own_timer() {
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{\"heartBeatTimer\":\"1\"}",
        "{\"heartBeatTimer\":0}",
        "{\"heartBeatTimer\":-1}",
        "{\"heartBeatTimer\":1e9}",
        "{\"heartBeatTimer\":99999999999999999999}",
        "\u{fffd}",
    ] {
        let nrf = StandIn::start(move |request| match request.method {
            Method::PUT => answer(StatusCode::OK, JSON, text),
            _ => answer(StatusCode::OK, JSON, text),
        })
        .await;
        let running = Running::start(&[nrf.uri("")]);
        let view = running.wait("heartbeats", |view| view.counts.heartbeats >= 2).await;
        assert_eq!((view.heartbeat_s, view.counts.registrations), (Some(1), 1), "{text}");
        running.stop().await;
    }
}

#[tokio::test]
async fn the_timer_is_the_one_that_the_nrf_answers() {
    let nrf = StandIn::start(|request| match request.method {
        Method::PUT => answer(StatusCode::OK, JSON, with_timer(&request.body, json!(2))),
        Method::PATCH => answer(StatusCode::OK, JSON, "{\"heartBeatTimer\":3}"),
        _ => ok(),
    })
    .await;
    let running = Running::start(&[nrf.uri("")]);
    running.wait("registered", |view| view.heartbeat_s == Some(2)).await;
    running.wait("a heartbeat", |view| view.heartbeat_s == Some(3)).await;
    running.stop().await;
}

#[tokio::test]
async fn answers_that_are_too_long_or_redirect_register_nothing() {
    let long = || answer(StatusCode::CREATED, JSON, vec![b' '; 64 * 1024 + 1]);
    let elsewhere = StandIn::start(taken).await;
    let location = elsewhere.uri("/");
    let redirect = move || {
        let mut reply = answer(StatusCode::TEMPORARY_REDIRECT, JSON, "{}");
        reply.headers_mut().insert("location", location.parse().expect("a header"));
        reply
    };
    for (nrf, words) in [
        (StandIn::start(move |_| long()).await, "more than 65536 bytes"),
        (StandIn::start(move |_| redirect()).await, "redirections are not followed"),
    ] {
        let running = Running::start(&[nrf.uri("")]);
        let view = running.wait("failures", |view| view.counts.registrations_failed >= 2).await;
        assert_eq!((view.state, view.counts.registrations), (NrfState::Registering, 0));
        let error = view.last_error.expect("an error");
        assert!(error.contains(words), "{error}");
        running.stop().await;
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn the_text_of_an_nrf_is_bounded_in_errors() {
    let text = json!({ "detail": "\u{e9}".repeat(1_000) }).to_string();
    let nrf = StandIn::start(move |_| answer(StatusCode::FORBIDDEN, PROBLEM, text.clone())).await;
    let running = Running::start(&[nrf.uri("")]);
    let view = running.wait("a failure", |view| view.last_error.is_some()).await;
    let error = format!("the NRF answered 403 Forbidden: {}", "\u{e9}".repeat(128));
    assert_eq!(view.last_error, Some(error));
    running.stop().await;
}

#[tokio::test]
async fn an_nrf_that_does_not_answer_does_not_hold_up_the_end() {
    // It takes the profile, and answers nothing else.
    let nrf = StandIn::start_with(None, 1, taken).await;
    let running = Running::start_with(&[nrf.uri("")], client(), Duration::from_millis(50));
    running.wait("registered", |view| view.state == NrfState::Registered).await;
    let view = running.stop().await;
    assert_eq!(view.state, NrfState::Deregistered);
    let error = view.last_error.expect("an error");
    assert!(error.contains("in time"), "{error}");
}

#[tokio::test]
async fn a_profile_that_is_gone_already_is_deregistered() {
    for (status, is_error) in [(StatusCode::NOT_FOUND, false), (StatusCode::FORBIDDEN, true)] {
        let nrf = StandIn::start(move |request| match request.method {
            Method::DELETE => answer(status, PROBLEM, "{}"),
            _ => taken(request),
        })
        .await;
        let running = Running::start(&[nrf.uri("")]);
        running.wait("registered", |view| view.state == NrfState::Registered).await;
        let view = running.stop().await;
        assert_eq!((view.state, view.last_error.is_some()), (NrfState::Deregistered, is_error));
    }
}

#[tokio::test]
async fn a_registration_under_way_is_undone_at_the_end() {
    let nrf = StandIn::start_with(None, 0, taken).await;
    let running = Running::start(&[nrf.uri(""), nrf.uri("/second")]);
    nrf.wait_requests(1).await;
    let stopped = running.stop();
    nrf.permit(2);
    let view = stopped.await;
    assert_eq!((view.state, view.last_error), (NrfState::Deregistered, None));
    assert_eq!(nrf.lines(), [format!("PUT {PATH}"), format!("DELETE {PATH}")]);
}

#[tokio::test]
async fn an_nrf_that_hangs_is_lost_and_the_next_one_found() {
    let hanging = StandIn::start_with(None, 0, taken).await;
    let nrf = StandIn::start(taken).await;
    let short = ClientSettings { call_ms_max: 300, ..ClientSettings::new(AllowedTargets::any()) };
    let client = Client::new(&short).expect("no files");
    let running = Running::start_with(&[hanging.uri(""), nrf.uri("")], client, PATIENCE);
    let view = running.wait("registered", |view| view.state == NrfState::Registered).await;
    assert_eq!(view.nrf.as_deref(), Some(&*nrf.uri("")));
    assert!(view.counts.registrations_failed >= 1);
    running.stop().await;
}

#[tokio::test]
async fn a_server_that_ends_at_once_registers_nowhere() {
    let nrf = StandIn::start(taken).await;
    let section = NrfSection { uri: vec![nrf.uri("")], ..section(WHOLE) };
    let registration = Registration::new(client(), section.into_settings(None).expect("settings"));
    let status = registration.status();
    registration.run(std::future::ready(())).await;
    assert_eq!((status.view().state, nrf.connections()), (NrfState::Deregistered, 0));
    assert_eq!(status.view().last_error, None);
}
