//! Clients that mean harm: each loses its connection at a bound, and none below it.

use super::raw::head;
use super::*;
use crate::http2::activity::{BETWEEN_REQUESTS_MAX, CANCELLED_PER_SECOND_MAX};
use crate::http2::{EARLY_RESETS_MAX, FAULTY_STREAMS_MAX};
use tokio::time::Instant;

/// Begins requests and cancels them when the door has taken them in. Returns the next stream.
async fn cancel(client: &mut RawClient, first: u32, count: u32) -> u32 {
    let mut stream = first;
    for begun in 0..count {
        client.get(stream, "/wait").await;
        if begun % 64 == 63 || begun + 1 == count {
            client.is_served().await;
        }
        stream += 2;
        // The streams of a batch are cancelled together.
        if begun % 64 == 63 || begun + 1 == count {
            for cancelled in (stream - 2 * (begun % 64 + 1)..stream).step_by(2) {
                let reset = frame(raw::RST_STREAM, 0, cancelled, &raw::CANCEL.to_be_bytes());
                client.send(&reset).await;
            }
        }
    }
    stream
}

/// CVE-2023-44487: the door begins to work for each request, and the client cancels it.
#[test]
fn who_cancels_too_many_requests_in_a_second_loses_the_connection() {
    run(async {
        let door = open();
        let mut client = RawClient::begin(door.stream).await;
        let mut stream = 1;
        // Requests that are answered may be as many as the client likes.
        for _ in 0..CANCELLED_PER_SECOND_MAX {
            client.get(stream, "/").await;
            client.next_of(raw::HEADERS).await.expect("an answer");
            stream += 2;
        }
        for _ in 0..3 {
            stream = cancel(&mut client, stream, CANCELLED_PER_SECOND_MAX).await;
            client.is_served().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let began = Instant::now();
        cancel(&mut client, stream, CANCELLED_PER_SECOND_MAX + 1).await;
        client.is_ended().await;
        assert_eq!(began.elapsed(), Duration::ZERO, "it does not end for being idle");
    });
}

#[test]
fn who_resets_what_has_not_begun_loses_the_connection() {
    run(async {
        // All that a client may have open, at one go: the door has read none of it before.
        for (count, is_borne) in [(EARLY_RESETS_MAX, true), (EARLY_RESETS_MAX + 100, false)] {
            let door = open();
            let mut client = RawClient::begin(door.stream).await;
            client.is_served().await;
            let pairs = (0..).map(|number| 2 * number + 1).take(count).flat_map(|stream| {
                let begin = frame(
                    raw::HEADERS,
                    raw::END_STREAM | raw::END_HEADERS,
                    stream,
                    &head(raw::GET, "/wait"),
                );
                [begin, frame(raw::RST_STREAM, 0, stream, &raw::CANCEL.to_be_bytes())].concat()
            });
            let pairs: Vec<u8> = pairs.collect();
            client.send(&pairs).await;
            if is_borne {
                client.is_served().await;
            } else {
                assert_eq!(client.is_ended().await, Some(raw::ENHANCE_YOUR_CALM));
            }
        }
    });
}

/// The head of a request without :scheme: GET and `/` by index.
const NO_SCHEME: [u8; 2] = [raw::GET, 0x84];

/// Streams that break the protocol are refused alone, for a while.
#[test]
fn who_breaks_the_protocol_in_too_many_streams_loses_the_connection() {
    run(async {
        let door = open();
        let mut client = RawClient::begin(door.stream).await;
        let mut stream = 1;
        for _ in 0..FAULTY_STREAMS_MAX {
            let bad = frame(raw::HEADERS, raw::END_STREAM | raw::END_HEADERS, stream, &NO_SCHEME);
            client.send(&bad).await;
            let reset = client.next_of(raw::RST_STREAM).await.expect("the stream is refused");
            assert_eq!(reset.stream, stream);
            stream += 2;
        }
        client.get(stream, "/").await;
        assert_eq!(client.next_of(raw::HEADERS).await.expect("an answer").status(), Some(200));
        let bad = frame(raw::HEADERS, raw::END_STREAM | raw::END_HEADERS, stream + 2, &NO_SCHEME);
        client.send(&bad).await;
        assert_eq!(client.is_ended().await, Some(raw::ENHANCE_YOUR_CALM));
    });
}

/// CVE-2019-9512, CVE-2019-9515 and the like: frames that cost the client nothing and move nothing.
#[test]
fn who_sends_frames_and_no_requests_loses_the_connection() {
    let (unknown, update) = (0xfa, 1u32.to_be_bytes());
    for (kind, payload) in [
        (raw::PING, &b"question"[..]),
        (raw::SETTINGS, &[0, 4, 0, 1, 0, 0][..]),
        (raw::WINDOW_UPDATE, &update[..]),
        (unknown, &[7; 100][..]),
    ] {
        run(async move {
            let door = open();
            let mut client = RawClient::begin(door.stream).await;
            let frames = frame(kind, 0, 0, payload).repeat(100);
            let times = BETWEEN_REQUESTS_MAX / frames.len();
            for stream in [1, 3, 5] {
                // An answer without a body, so that no part of one is taken.
                client.get(stream, "/nowhere").await;
                client.next_of(raw::HEADERS).await.expect("an answer");
                assert!(client.flood(&frames, times - 1).await, "frames of {kind} below the bound");
            }
            assert!(!client.flood(&frames, 2).await, "frames of {kind} beyond it");
        });
    }
}

/// A client that takes a long answer sends many frames, and is welcome.
#[test]
fn frames_beside_a_long_answer_are_no_flood() {
    run(async {
        let ping = frame(raw::PING, 0, 0, b"question");
        let door = open();
        let mut client = RawClient::begin(door.stream).await;
        client.get(1, "/endless").await;
        for _ in 0..40 {
            assert!(client.flood(&ping, 2_000).await);
            let update = (16 * 1024u32).to_be_bytes();
            client.send(&frame(raw::WINDOW_UPDATE, 0, 1, &update)).await;
            client.send(&frame(raw::WINDOW_UPDATE, 0, 0, &update)).await;
        }
        assert!(40 * 2_000 * ping.len() > BETWEEN_REQUESTS_MAX);
        assert!(client.next_of(raw::DATA).await.is_some(), "the answer goes on");
    });
}

/// CVE-2024-27316: a head without end, in frames that are empty, and in frames that are full.
#[test]
fn a_head_without_end_ends_the_connection() {
    let full = [&[0x00, 0x01, b'a', 0x7f, 0x81, 0x7c][..], &[b'x'; 16_000]].concat();
    for payload in [Vec::new(), full] {
        run(async move {
            let door = open();
            let mut client = RawClient::begin(door.stream).await;
            client.send(&frame(raw::HEADERS, raw::END_STREAM, 1, &head(raw::GET, "/"))).await;
            for _ in 0..200 {
                client.send(&frame(raw::CONTINUATION, 0, 1, &payload)).await;
            }
            assert_eq!(client.is_ended().await, Some(raw::ENHANCE_YOUR_CALM));
        });
    }
}

#[test]
fn a_head_of_four_times_the_most_ends_the_connection() {
    run(async {
        let door = open();
        let client = connect(door.stream).await;
        let mut request = request("GET", "/");
        let long = "x".repeat(5 * HEADER_LIST_MAX as usize);
        request.headers_mut().insert("x-long", HeaderValue::try_from(long).expect("a value"));
        let mut ready = client.clone().ready().await.expect("it is open");
        let (answer, _) = ready.send_request(request, true).expect("it is sent");
        assert!(answer.await.is_err());
        assert!(client.ready().await.is_err());
    });
}
