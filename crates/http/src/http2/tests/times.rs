//! How long a connection waits for its client, and how it ends.

use super::raw::head;
use super::*;
use crate::bounds::{DRAIN, HEAD_PATIENCE, TAKE_PATIENCE};
use crate::preface::PREFACE;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// Asserts that this has taken a time, or up to a second more.
fn assert_took(began: Instant, expected: Duration, what: &str) {
    let took = began.elapsed();
    assert!(took >= expected && took < expected + SECOND, "{what}: {took:?}");
}

#[test]
fn who_never_ends_the_preface_or_a_first_head_is_given_up() {
    let settings = frame(raw::SETTINGS, 0, 0, &[]);
    for (what, sent) in [
        ("nothing", Vec::new()),
        ("a part of the preface", PREFACE[..9].to_vec()),
        ("the preface", PREFACE.to_vec()),
        ("no request", [PREFACE, &settings].concat()),
        ("a part of a frame", [PREFACE, &settings, &[0, 0]].concat()),
        (
            "a part of a head",
            [PREFACE, &settings, &frame(raw::HEADERS, 0, 1, &head(raw::GET, "/"))].concat(),
        ),
    ] {
        run(async move {
            let (door, began) = (open(), Instant::now());
            let mut client = RawClient::new(door.stream);
            client.send(&sent).await;
            client.is_ended().await;
            assert_took(began, HEAD_PATIENCE, what);
        });
    }
}

#[test]
fn an_idle_connection_is_told_to_go_after_a_while_although_it_pings() {
    run(async {
        let door = open();
        let mut client = RawClient::begin(door.stream).await;
        client.get(1, "/").await;
        let answer = client.next_of(raw::HEADERS).await.expect("an answer");
        assert_eq!(answer.status(), Some(200));
        let (began, mut told) = (Instant::now(), None);
        while told.is_none() {
            sleep(SECOND).await;
            let sent = Instant::now();
            client.send(&frame(raw::PING, 0, 0, b"question")).await;
            loop {
                let frame = client.next().await.expect("it is open");
                match frame.kind {
                    raw::GOAWAY => told = Some(frame),
                    // The door's own PING has no ACK: it asks whether the client has seen the GOAWAY.
                    raw::PING if frame.flags == raw::ACK => break,
                    _ => {}
                }
            }
            assert_eq!(sent.elapsed(), Duration::ZERO, "a PING is answered at once");
        }
        assert_took(began, IDLE_PATIENCE, "GOAWAY");
        assert_eq!(told.expect("it came").error(), raw::NO_ERROR);
        client.is_ended().await;
        assert_took(began, IDLE_PATIENCE + DRAIN, "the end");
    });
}

#[test]
fn requests_keep_a_connection_and_a_running_one_is_not_idle() {
    run(async {
        let door = open();
        let client = connect(door.stream).await;
        for _ in 0..3 {
            assert_eq!(ask(&client, request("GET", "/"), b"").await.0, StatusCode::OK);
            sleep(IDLE_PATIENCE - SECOND).await;
        }
        let answers = Arc::clone(&door.answers);
        tokio::spawn(async move {
            sleep(2 * IDLE_PATIENCE).await;
            answers.add_permits(1);
        });
        assert_eq!(ask(&client, request("GET", "/wait"), b"").await.0, StatusCode::OK);
        let began = Instant::now();
        // The library's client answers the PING of the GOAWAY, so that the connection ends at once.
        let _ = door.ended.await.expect("no panic");
        assert_took(began, IDLE_PATIENCE, "the end");
    });
}

/// Returns the WINDOW_UPDATE frames for an answer on stream 1.
fn window(len: u32) -> Vec<u8> {
    let update = |stream| frame(raw::WINDOW_UPDATE, 0, stream, &len.to_be_bytes());
    [update(0), update(1)].concat()
}

#[test]
fn who_takes_nothing_of_an_answer_loses_the_connection_and_who_takes_slowly_does_not() {
    // SETTINGS_INITIAL_WINDOW_SIZE: 0.
    let no_window = [0, 4, 0, 0, 0, 0];
    for path in ["/", "/long"] {
        run(async move {
            let door = open();
            let mut client = RawClient::begin_with(door.stream, &no_window).await;
            client.get(1, path).await;
            let began = Instant::now();
            for _ in 0..if path == "/long" { 4 } else { 0 } {
                sleep(TAKE_PATIENCE - SECOND).await;
                client.send(&window(16 * 1024)).await;
                assert!(client.next_of(raw::DATA).await.is_some(), "who takes slowly goes on");
            }
            let last = Instant::now();
            // Requests beside it do not help, and neither do their answers without a body.
            client.get(3, "/nowhere").await;
            client.is_ended().await;
            let took = last.elapsed();
            assert!(took >= TAKE_PATIENCE && took <= 2 * TAKE_PATIENCE, "{took:?} since {began:?}");
        });
    }
}

#[test]
fn a_stopped_door_answers_what_has_begun_and_what_was_on_its_way() {
    run(async {
        let door = open();
        let mut client = RawClient::begin(door.stream).await;
        client.send(&frame(raw::HEADERS, raw::END_HEADERS, 1, &head(raw::POST, "/len"))).await;
        client.is_served().await;
        door.stop.send_replace(());
        let told = client.next_of(raw::GOAWAY).await.expect("the client is told");
        assert_eq!(told.error(), raw::NO_ERROR);
        let asked = client.next_of(raw::PING).await.expect("it asks whether that was read");
        // This request was sent before the client read the GOAWAY.
        client.get(3, "/").await;
        assert_eq!(client.next_of(raw::HEADERS).await.expect("an answer").status(), Some(200));
        client.send(&frame(raw::PING, raw::ACK, 0, &asked.payload)).await;
        sleep(SECOND).await;
        client.send(&frame(raw::DATA, raw::END_STREAM, 1, b"body")).await;
        let answer = client.next_of(raw::HEADERS).await.expect("an answer");
        assert_eq!((answer.stream, answer.status()), (1, Some(200)));
        assert_eq!(client.next_of(raw::DATA).await.expect("its body").payload, b"4");
        client.is_ended().await;
        assert!(door.ended.await.expect("no panic").is_ok());
    });
}

#[test]
fn a_stopped_door_does_not_wait_for_idle_clients() {
    for sent in [&b""[..], &PREFACE[..5]] {
        run(async move {
            let (door, began) = (open(), Instant::now());
            let mut client = RawClient::new(door.stream);
            client.send(sent).await;
            tokio::task::yield_now().await;
            door.stop.send_replace(());
            client.is_ended().await;
            assert_eq!(began.elapsed(), Duration::ZERO);
        });
    }
    run(async {
        // A client that does not answer the PING after the GOAWAY has the whole time.
        let (door, began) = (open(), Instant::now());
        let mut client = RawClient::begin(door.stream).await;
        client.is_served().await;
        door.stop.send_replace(());
        client.is_ended().await;
        assert_took(began, DRAIN, "the end");
    });
}
