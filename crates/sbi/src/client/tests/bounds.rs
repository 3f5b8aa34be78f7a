//! Bounds of answers and of time.

use super::raw::RawPeer;
use super::stand_in::Reply;
use super::*;
use http::Response;
use hyper::body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A body of so many parts of 1 KiB, whose length is not announced.
struct Parts(usize);

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.0 == 0 {
            return Poll::Ready(None);
        }
        self.0 -= 1;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 1_024])))))
    }
}

fn parts(count: usize) -> Reply {
    Response::new(Parts(count).boxed())
}

#[tokio::test]
async fn a_body_is_bounded() {
    let peer = StandIn::start(|request| match request.path() {
        "/announced" => answer(StatusCode::OK, "application/json", vec![b'x'; 64 * 1024]),
        "/announced-more" => answer(StatusCode::OK, "application/json", vec![b'x'; 64 * 1024 + 1]),
        "/parts" => parts(64),
        "/parts-more" => parts(65),
        _ => parts(usize::MAX),
    })
    .await;
    let client = client();
    for (path, fits) in [
        ("/announced", true),
        ("/announced-more", false),
        ("/parts", true),
        ("/parts-more", false),
        ("/endless", false),
    ] {
        let outcome = client.send(post(&peer.uri(path), "{}")).await;
        match outcome {
            Ok(answer) => assert!(fits && answer.body.len() == 64 * 1024, "{path}"),
            Err(error) => {
                let is_too_long = matches!(error, CallError::TooLong { len_max: 65_536, .. });
                assert!(!fits && is_too_long, "{path}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn a_call_is_bounded_in_time() {
    let peer = StandIn::start_with(None, 0, |_| ok()).await;
    let short = ClientSettings { call_ms_max: 50, ..settings(AllowedTargets::any()) };
    let client = Client::new(&short).expect("no files");
    let error = error_of(&client, &peer.uri("/")).await;
    let words = format!("{} did not answer within 50 ms", peer.address);
    assert_eq!(error.to_string(), words);
}

#[tokio::test]
async fn a_body_is_bounded_in_time() {
    // Its head arrives, and nothing of its body.
    let peer = RawPeer::start(|_, mut peer| async move {
        let stream = peer.request().await;
        peer.frame(raw::HEADERS, raw::END_HEADERS, stream, &[raw::STATUS_200]).await;
        peer.wait_end().await;
    })
    .await;
    let short = ClientSettings { call_ms_max: 200, ..settings(AllowedTargets::any()) };
    let error = error_of(&Client::new(&short).expect("no files"), &peer.uri()).await;
    assert!(matches!(error, CallError::Timeout { ms: 200, .. }), "{error}");
}

#[tokio::test]
async fn a_handshake_is_bounded_in_time() {
    let peer = RawPeer::start(|_, mut peer| async move { peer.wait_end().await }).await;
    let short = ClientSettings { connect_ms_max: 50, ..settings(AllowedTargets::any()) };
    let client = Client::new(&short).expect("no files");
    let error = error_of(&client, &peer.uri().replace("http:", "https:")).await;
    assert!(matches!(error, CallError::ConnectTimeout { ms: 50, .. }), "{error}");
}
