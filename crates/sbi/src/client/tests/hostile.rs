//! Peers that break HTTP, or end in the middle.

use super::raw::*;
use super::*;

#[tokio::test]
async fn headers_without_an_end_are_refused() {
    // Of each frame of the headers, one more follows.
    let peer = RawPeer::start(|_, mut peer| async move {
        let stream = peer.request().await;
        let part: Vec<u8> = (0..100).flat_map(|_| header("x-long", &"x".repeat(100))).collect();
        peer.frame(HEADERS, 0, stream, &[STATUS_200]).await;
        while peer.frame(CONTINUATION, 0, stream, &part).await {}
    })
    .await;
    let error = error_of(&client(), &peer.uri()).await;
    assert!(matches!(error, CallError::Exchange { .. }), "{error}");
}

#[tokio::test]
async fn headers_that_are_too_long_are_refused() {
    let peer = RawPeer::start(|_, mut peer| async move {
        let stream = peer.request().await;
        let part: Vec<u8> = (0..140).flat_map(|_| header("x-long", &"x".repeat(100))).collect();
        peer.frame(HEADERS, 0, stream, &[STATUS_200]).await;
        peer.frame(CONTINUATION, 0, stream, &part).await;
        peer.frame(CONTINUATION, END_HEADERS, stream, &part).await;
        peer.frame(DATA, END_STREAM, stream, b"{}").await;
        peer.wait_end().await;
    })
    .await;
    let error = error_of(&client(), &peer.uri()).await;
    assert!(matches!(error, CallError::Exchange { .. }), "{error}");
}

#[tokio::test]
async fn an_answer_that_ends_in_the_middle_is_none() {
    let peer = RawPeer::start(|number, mut peer| async move {
        let stream = peer.request().await;
        peer.frame(HEADERS, END_HEADERS, stream, &[STATUS_200]).await;
        peer.frame(DATA, if number == 1 { 0 } else { END_STREAM }, stream, b"{\"a\":").await;
        if number > 1 {
            peer.wait_end().await;
        }
    })
    .await;
    let client = client();
    let error = error_of(&client, &peer.uri()).await;
    assert!(matches!(error, CallError::Exchange { .. }), "{error}");
    assert!(error.may_pass());
    // The next call makes a connection of its own.
    let answer = client.send(post(&peer.uri(), "{}")).await.expect("an answer");
    assert_eq!(&answer.body[..], b"{\"a\":");
    assert_eq!(peer.connections(), 2);
}

#[tokio::test]
async fn a_request_that_may_have_been_processed_is_sent_once() {
    let peer = RawPeer::start(|_, mut peer| async move {
        peer.request().await;
    })
    .await;
    let error = error_of(&client(), &peer.uri()).await;
    assert!(matches!(error, CallError::Exchange { .. }), "{error}");
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn a_request_that_the_peer_has_not_taken_is_sent_once_more() {
    for is_reset in [false, true] {
        let peer = RawPeer::start(move |number, mut peer| async move {
            let stream = peer.request().await;
            if number > 1 {
                peer.frame(HEADERS, END_HEADERS | END_STREAM, stream, &[STATUS_204]).await;
            } else if is_reset {
                // REFUSED_STREAM.
                peer.frame(RST_STREAM, 0, stream, &[0, 0, 0, 7]).await;
            } else {
                // The last stream that was taken is 0, and NO_ERROR.
                peer.frame(GOAWAY, 0, 0, &[0; 8]).await;
            }
            peer.wait_end().await;
        })
        .await;
        let answer = client().send(post(&peer.uri(), "{}")).await.expect("an answer");
        assert_eq!(answer.status, StatusCode::NO_CONTENT, "is_reset {is_reset}");
        assert_eq!(peer.connections(), 2);
    }
}

#[tokio::test]
async fn a_request_is_sent_twice_at_most() {
    let peer = RawPeer::start(|_, mut peer| async move {
        let stream = peer.request().await;
        peer.frame(RST_STREAM, 0, stream, &[0, 0, 0, 7]).await;
        peer.wait_end().await;
    })
    .await;
    let error = error_of(&client(), &peer.uri()).await;
    assert!(error.to_string().contains("refused"), "{error}");
    assert_eq!(peer.connections(), 2);
}

#[tokio::test]
async fn a_peer_without_http_2_is_told_of() {
    let peer = RawPeer::start(|_, mut peer| async move {
        peer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        peer.wait_end().await;
    })
    .await;
    let error = error_of(&client(), &peer.uri()).await;
    assert!(matches!(error, CallError::Exchange { .. }), "{error}");
    assert!(error.to_string().contains("is no HTTP/2"), "{error}");
}

#[tokio::test]
async fn a_peer_without_tls_is_told_of() {
    let peer = RawPeer::start(|_, mut peer| async move {
        peer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        peer.wait_end().await;
    })
    .await;
    let uri = peer.uri().replace("http:", "https:");
    let error = error_of(&client(), &uri).await;
    assert!(matches!(error, CallError::Tls { .. }), "{error}");
    assert!(error.to_string().ends_with("check scheme and port"), "{error}");
}

#[tokio::test]
async fn a_closed_port_is_told_of() {
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let uri = format!("http://{}/", socket.local_addr().expect("an address"));
    drop(socket);
    let error = error_of(&client(), &uri).await;
    assert!(matches!(error, CallError::Connect { .. }), "{error}");
    assert_eq!(error.name(), "connect");
}
