//! Calls to stand-ins for peers, on this machine.

mod bounds;
mod connections;
mod hostile;
pub(crate) mod raw;
pub(crate) mod stand_in;
mod tls;

use super::*;
use stand_in::{PATIENCE, StandIn, answer, ok};

/// Settings with a patience that no stalled machine exceeds.
pub(crate) fn settings(targets: AllowedTargets) -> ClientSettings {
    let ms = u64::try_from(PATIENCE.as_millis()).expect("it is short");
    ClientSettings { connect_ms_max: ms, call_ms_max: ms, ..ClientSettings::new(targets) }
}

/// A client that may call everything.
pub(crate) fn client() -> Client {
    Client::new(&settings(AllowedTargets::any())).expect("no files")
}

fn post<'a>(uri: &'a str, body: &'static str) -> Call<'a> {
    let body = Some(("application/json", Bytes::from_static(body.as_bytes())));
    Call { method: Method::POST, uri, headers: HeaderMap::new(), body }
}

async fn error_of(client: &Client, uri: &str) -> CallError {
    client.send(post(uri, "{}")).await.expect_err("it fails")
}

#[tokio::test]
async fn requests_and_answers_are_whole() {
    let peer = StandIn::start(|request| {
        let text = format!("{} {}", request.method, String::from_utf8_lossy(&request.body));
        answer(StatusCode::CREATED, "application/json", text)
    })
    .await;
    let (client, uri) = (client(), peer.uri("/notify/1?a=b"));
    for (method, body) in [
        (Method::POST, Some("{\"a\":1}")),
        (Method::PUT, Some("{}")),
        (Method::PATCH, Some("[]")),
        (Method::DELETE, None),
    ] {
        let mut headers = HeaderMap::new();
        let callback = HeaderValue::from_static("Nchf_ConvergedCharging_Notify");
        headers.insert("3gpp-sbi-callback", callback.clone());
        let body = body.map(|body| ("application/json", Bytes::from_static(body.as_bytes())));
        let call = Call { method: method.clone(), uri: &uri, headers, body: body.clone() };
        let answer = client.send(call).await.expect("an answer");
        let body = body.map(|(_, body)| body);
        let text = String::from_utf8_lossy(body.as_deref().unwrap_or_default()).into_owned();
        assert_eq!(answer.status, StatusCode::CREATED);
        assert_eq!(answer.headers[CONTENT_TYPE], "application/json");
        assert_eq!(answer.body, format!("{method} {text}"));
        let request = peer.last();
        assert_eq!((&request.method, request.version), (&method, http::Version::HTTP_2));
        assert_eq!(request.uri, *uri);
        assert_eq!(request.headers["3gpp-sbi-callback"], callback);
        assert_eq!(request.headers[USER_AGENT], "CHF");
        let content_type = request.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        assert_eq!(content_type, body.map(|_| b"application/json".as_slice()));
    }
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn any_status_is_an_answer() {
    let peer = StandIn::start(|request| {
        let status = request.path().trim_start_matches('/').parse().expect("a status");
        answer(status, "application/problem+json", "{\"cause\":\"X\"}")
    })
    .await;
    for status in ["200", "400", "404", "429", "500", "503"] {
        let uri = peer.uri(&format!("/{status}"));
        let answer = client().send(post(&uri, "{}")).await.expect("an answer");
        assert_eq!((answer.status.as_str(), &answer.body[..]), (status, &b"{\"cause\":\"X\"}"[..]));
    }
}

#[tokio::test]
async fn redirections_are_not_followed() {
    let elsewhere = StandIn::start(|_| ok()).await;
    let location = elsewhere.uri("/");
    let peer = StandIn::start(move |request| {
        let status = request.path().trim_start_matches('/').parse().expect("a status");
        let mut answer = answer(status, "application/json", "{}");
        answer.headers_mut().insert("location", location.parse().expect("a header"));
        answer
    })
    .await;
    for status in ["301", "302", "303", "307", "308"] {
        let uri = peer.uri(&format!("/{status}"));
        let answer = client().send(post(&uri, "{}")).await.expect("an answer");
        assert_eq!(answer.status.as_str(), status);
    }
    assert_eq!((peer.requests(), elsewhere.connections()), (5, 0));
}

#[tokio::test]
async fn what_may_not_be_called_is_not_connected_to() {
    let peer = StandIn::start(|_| ok()).await;
    let (address, port) = (peer.uri("/"), peer.address.port());
    let by_name = format!("http://localhost:{port}/");
    let call = async |entries: &[&str], uri: &str| {
        let targets = AllowedTargets::parse("notify_targets", entries).expect("entries");
        let client = Client::new(&settings(targets)).expect("no files");
        client.send(post(uri, "{}")).await
    };
    for (entries, uri) in [
        (&[][..], &address),
        (&["0.0.0.0/0"], &address),
        (&["10.0.0.0/8"], &address),
        (&["127.0.0.1:1"], &address),
        (&["localhost"], &by_name),
        (&["localhost", "0.0.0.0/0", "::/0"], &by_name),
    ] {
        let error = call(entries, uri).await.expect_err("it is refused");
        assert!(matches!(error, CallError::Refused(_)), "{entries:?} {uri}: {error}");
        assert!(error.to_string().contains("notify_targets"), "{error}");
        assert!(!error.may_pass());
    }
    assert_eq!(peer.connections(), 0);
    // A name that no entry can allow is not asked for.
    let error = call(&["127.0.0.1:1"], "http://none.invalid/").await.expect_err("it is refused");
    assert!(matches!(error, CallError::Refused(_)), "{error}");
    call(&["127.0.0.1"], &address).await.expect("an answer");
    call(&["127.0.0.0/8"], &by_name).await.expect("an answer");
    assert_eq!(peer.requests(), 2);
}

#[tokio::test]
async fn wrong_uris_are_refused() {
    for uri in ["", "/a", "ftp://127.0.0.1/", "http://u:p@127.0.0.1/"] {
        let error = error_of(&client(), uri).await;
        assert!(matches!(error, CallError::Uri(_)), "{uri}: {error}");
    }
    // A name that is reserved for this (RFC 6761, 6.4).
    let error = error_of(&client(), "http://none.invalid/").await;
    assert!(matches!(error, CallError::Resolve { .. }), "{error}");
}
