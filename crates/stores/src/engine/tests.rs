//! An engine that answers when the test says so, as an engine with a slow log does.

use super::*;
use scurry_ledger::{Answer, Code, Command};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{JoinHandle, yield_now};

/// Longer than any machine stalls.
const PATIENCE: Duration = Duration::from_secs(300);
const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
const DELETE: &[u8] = b"*2\r\n$11\r\nSCUR.DELETE\r\n$1\r\na\r\n";

/// Returns an engine, and the channel of its ends of new connections.
fn engine() -> (Arc<Engine>, Receiver<UnixStream>) {
    engine_of(Duration::ZERO)
}

/// Returns the same on a node of a group, where another try may reach another node.
fn grouped() -> (Arc<Engine>, Receiver<UnixStream>) {
    engine_of(PATIENCE)
}

fn engine_of(wait: Duration) -> (Arc<Engine>, Receiver<UnixStream>) {
    let (made, ends) = channel();
    let connect = move || {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        made.send(theirs).map_err(io::Error::other)?;
        Ok(DoorRoute::Here(ours))
    };
    (Arc::new(Engine::new(connect, || None, PATIENCE, wait)), ends)
}

fn ask(engine: &Arc<Engine>) -> JoinHandle<Result<Value, CallError>> {
    let engine = Arc::clone(engine);
    tokio::spawn(async move { engine.0.ask(PING).await })
}

/// Deletes an account. The request has no id by which the store would recognize it when repeated.
fn delete(engine: &Arc<Engine>) -> JoinHandle<Result<Reply, CallError>> {
    let engine = Arc::clone(engine);
    let request = Request::write(b"a", &Command::Delete { force: false, if_txn: None });
    tokio::spawn(async move { engine.call(request).await })
}

/// Returns the next connection that was opened.
fn next(ends: &Receiver<UnixStream>) -> tokio::net::UnixStream {
    let end = ends.try_recv().expect("a connection was made");
    tokio::net::UnixStream::from_std(end).expect("it can be waited for")
}

/// Reads this many requests, waiting for them.
async fn take(end: &mut tokio::net::UnixStream, requests: usize) {
    take_bytes(end, &PING.repeat(requests)).await;
}

async fn take_bytes(end: &mut tokio::net::UnixStream, expected: &[u8]) {
    let mut taken = vec![0; expected.len()];
    end.read_exact(&mut taken).await.expect("it arrives");
    assert_eq!(taken, expected);
}

#[tokio::test]
async fn a_request_goes_past_those_whose_replies_are_held_back() {
    let (engine, ends) = engine();
    let first = ask(&engine);
    yield_now().await;
    let mut one = next(&ends);
    take(&mut one, 1).await;
    let second = ask(&engine);
    yield_now().await;
    let mut other = next(&ends);
    take(&mut other, 1).await;
    other.write_all(b"+second\r\n").await.expect("it is taken");
    let reply = second.await.expect("it ends").expect("a reply");
    assert_eq!(reply, Value::SimpleString("second".to_owned()));
    assert!(!first.is_finished());
    one.write_all(b"+first\r\n").await.expect("it is taken");
    let reply = first.await.expect("it ends").expect("a reply");
    assert_eq!(reply, Value::SimpleString("first".to_owned()));
    // No reply is held back any more, so the first connection is enough.
    let third = ask(&engine);
    take(&mut one, 1).await;
    one.write_all(b"+third\r\n").await.expect("it is taken");
    third.await.expect("it ends").expect("a reply");
    assert!(ends.try_recv().is_err());
}

#[tokio::test]
async fn requests_that_come_together_go_together() {
    let (engine, ends) = engine();
    let asked: Vec<_> = (0..3).map(|_| ask(&engine)).collect();
    yield_now().await;
    let mut end = next(&ends);
    take(&mut end, 3).await;
    assert!(ends.try_recv().is_err(), "one connection is enough");
    end.write_all(&b"+PONG\r\n".repeat(3)).await.expect("it is taken");
    for reply in asked {
        reply.await.expect("it ends").expect("a reply");
    }
}

#[tokio::test]
async fn there_are_no_more_connections_than_there_may_be() {
    let (engine, ends) = engine();
    let mut held = Vec::new();
    let mut asked = Vec::new();
    for _ in 0..LINES_MAX {
        asked.push(ask(&engine));
        yield_now().await;
        let mut end = next(&ends);
        take(&mut end, 1).await;
        held.push(end);
    }
    // Further requests go to the connections with the fewest, so one to each.
    for end in &mut held {
        asked.push(ask(&engine));
        take(end, 1).await;
    }
    assert!(ends.try_recv().is_err());
    for end in &mut held {
        end.write_all(&b"+PONG\r\n".repeat(2)).await.expect("it is taken");
    }
    for reply in asked {
        reply.await.expect("it ends").expect("a reply");
    }
}

#[tokio::test]
async fn a_lost_connection_is_made_anew() {
    let (engine, ends) = engine();
    let first = ask(&engine);
    yield_now().await;
    drop(next(&ends));
    let error = first.await.expect("it ends").expect_err("nobody has answered");
    assert!(matches!(error, CallError::Unknown(_)), "{error}");
    let second = ask(&engine);
    yield_now().await;
    let mut end = next(&ends);
    take(&mut end, 1).await;
    end.write_all(b"+PONG\r\n").await.expect("it is taken");
    second.await.expect("it ends").expect("a reply");
}

#[tokio::test]
async fn an_engine_that_takes_no_more_connections_is_asked_over_those_that_there_are() {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    ours.set_nonblocking(true).expect("it is ours");
    theirs.set_nonblocking(true).expect("it is ours");
    let only = Mutex::new(Some(ours));
    let connect = move || {
        let ours = only.lock().unwrap().take();
        ours.map(DoorRoute::Here).ok_or(io::ErrorKind::WouldBlock.into())
    };
    let engine = Arc::new(Engine::new(connect, || None, PATIENCE, Duration::ZERO));
    let first = ask(&engine);
    let mut end = tokio::net::UnixStream::from_std(theirs).expect("it can be waited for");
    take(&mut end, 1).await;
    let second = ask(&engine);
    take(&mut end, 1).await;
    end.write_all(&b"+PONG\r\n".repeat(2)).await.expect("it is taken");
    for reply in [first, second] {
        reply.await.expect("it ends").expect("a reply");
    }
}

/// Returns the next connection, waiting until it is opened.
async fn following(ends: &Receiver<UnixStream>) -> tokio::net::UnixStream {
    loop {
        if let Ok(end) = ends.try_recv() {
            return tokio::net::UnixStream::from_std(end).expect("it can be waited for");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test]
async fn a_request_that_another_node_executes_is_asked_anew() {
    for refusal in [
        &b"-READONLY another node leads now\r\n"[..],
        b"-CLUSTERDOWN no node leads shard 0: an election is under way: try again\r\n",
    ] {
        let (engine, ends) = grouped();
        let asked = delete(&engine);
        let mut old = following(&ends).await;
        take_bytes(&mut old, DELETE).await;
        old.write_all(refusal).await.expect("it is taken");
        let mut new = following(&ends).await;
        take_bytes(&mut new, DELETE).await;
        new.write_all(b"*2\r\n+OK\r\n:7\r\n").await.expect("it is taken");
        let reply = asked.await.expect("it ends").expect("a reply");
        let Reply::Answer(answered) = reply else { panic!("{reply:?}") };
        assert_eq!(answered.answer, Answer::Account { code: Code::Ok, version: 7 });
    }
    // A store on one machine returns the refusal itself.
    let (engine, ends) = engine();
    let asked = ask(&engine);
    let mut end = following(&ends).await;
    take(&mut end, 1).await;
    end.write_all(b"-READONLY\r\n").await.expect("it is taken");
    let reply = asked.await.expect("it ends").expect("a reply");
    assert!(is_elsewhere(&reply), "{reply:?}");
}

#[tokio::test]
async fn only_what_is_harmless_is_repeated_when_its_outcome_is_unknown() {
    let (engine, ends) = grouped();
    let harmless = ask(&engine);
    let mut end = following(&ends).await;
    take(&mut end, 1).await;
    drop(end);
    let mut end = following(&ends).await;
    take(&mut end, 1).await;
    end.write_all(b"+PONG\r\n").await.expect("it is taken");
    harmless.await.expect("it ends").expect("a reply");
    let unclear = delete(&engine);
    take_bytes(&mut end, DELETE).await;
    drop(end);
    let error = unclear.await.expect("it ends").expect_err("nobody has answered");
    assert!(matches!(error, CallError::Unknown(_)), "{error}");
    assert!(ends.try_recv().is_err(), "it was not sent again");
}

#[tokio::test]
async fn what_was_sent_once_is_never_said_to_have_not_been_done() {
    let wait = Duration::from_millis(200);
    let (engine, ends) = engine_of(wait);
    let asked = ask(&engine);
    let mut end = following(&ends).await;
    take(&mut end, 1).await;
    drop(end);
    // From now on no node leads.
    while !asked.is_finished() {
        if let Ok(end) = ends.try_recv() {
            let mut end = tokio::net::UnixStream::from_std(end).expect("it can be waited for");
            take(&mut end, 1).await;
            end.write_all(b"-CLUSTERDOWN no node leads\r\n").await.expect("it is taken");
        }
        tokio::time::sleep(PAUSE).await;
    }
    let error = asked.await.expect("it ends").expect_err("it has no answer");
    assert!(matches!(error, CallError::Unknown(_)), "{error}");
}
