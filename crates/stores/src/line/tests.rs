//! Lines to a node that is slow, silent, or not a node.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const PATIENCE: Duration = Duration::from_secs(20);

async fn connect(listener: &TcpListener, patience: Duration) -> PipelinedConnection {
    let address = listener.local_addr().expect("an address").to_string();
    let terms = ConnectOptions { user: None, password: None, patience };
    PipelinedConnection::connect(&address, terms).await.expect("it listens")
}

fn set(value: &[u8]) -> Cmd {
    let mut command = cmd("SET");
    command.arg("key").arg(value);
    command
}

/// Accepts a connection, reads `len` bytes, writes `says`, and keeps the connection open. Returns the bytes.
fn serve(listener: TcpListener, len: usize, says: &'static [&[u8]]) -> JoinHandle<Vec<u8>> {
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("somebody comes");
        let mut taken = vec![0; len];
        stream.read_exact(&mut taken).await.expect("it comes");
        for part in says {
            stream.write_all(part).await.expect("it is taken");
            tokio::task::yield_now().await;
        }
        // Wait until the other side closes.
        let _ = stream.read(&mut [0]).await;
        taken
    })
}

#[tokio::test]
async fn what_a_node_does_not_take_at_once_is_sent_when_it_does() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let line = connect(&listener, PATIENCE).await;
    // Far more than a socket buffers, and replies in pieces.
    let commands = [set(&vec![b'x'; 16 << 20]), set(b"y")];
    let sent = commands.each_ref().map(Cmd::get_packed_command).concat();
    let served = serve(listener, sent.len(), &[b"$5\r\nfi", b"rst\r\n:", b"2\r\n"]);
    let inbox = Arc::new(Inbox::default());
    for (number, command) in commands.iter().enumerate() {
        line.send(&command.get_packed_command(), inbox.ticket(number));
    }
    for expected in [(0, Value::BulkString(b"first".to_vec())), (1, Value::Int(2))] {
        let (number, reply) = timeout(PATIENCE, inbox.next(1)).await.expect("it comes");
        assert_eq!((number, reply.expect("a reply")), expected);
    }
    drop(line);
    assert!(served.await.expect("it ends") == sent, "it is what was sent");
}

#[tokio::test]
async fn long_replies_one_after_the_other_arrive_whole() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let line = connect(&listener, PATIENCE).await;
    let elements = 3 * READ_LEN;
    let long = [format!("*{elements}\r\n").as_bytes(), &b"$1\r\nx\r\n".repeat(elements)].concat();
    // Each read after the first begins within a reply.
    let parts: &'static [&'static [u8]] = vec![
        &*b"*2\r\n:1\r\n".to_vec().leak(),
        &*[b":2\r\n", &*long, b"*1"].concat().leak(),
        b"\r\n:3\r\n",
    ]
    .leak();
    let command = cmd("GET").get_packed_command();
    let served = serve(listener, 3 * command.len(), parts);
    let inbox = Arc::new(Inbox::default());
    (0..3).for_each(|number| line.send(&command, inbox.ticket(number)));
    let first = Value::Array(vec![Value::Int(1), Value::Int(2)]);
    let second = Value::Array(vec![Value::BulkString(b"x".to_vec()); elements]);
    for expected in [(0, first), (1, second), (2, Value::Array(vec![Value::Int(3)]))] {
        let (number, reply) = timeout(PATIENCE, inbox.next(1)).await.expect("it comes");
        assert!((number, reply.expect("a reply")) == expected, "reply {number}");
    }
    drop(line);
    served.await.expect("it ends");
}

#[tokio::test]
async fn who_waits_is_told_when_the_other_is_no_node() {
    let ping = cmd("PING");
    let len = ping.get_packed_command().len();
    const ODD: [&[&[u8]]; 2] = [&[b"!!\r\n"], &[b"+PONG\r\n+PONG\r\n"]];
    for says in ODD {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let line = connect(&listener, PATIENCE).await;
        let served = serve(listener, len, says);
        // An extra reply does not spoil the reply that was asked for.
        let first = line.ask(&ping).await;
        assert_eq!(first.is_ok(), says[0].starts_with(b"+"));
        let mut second = line.ask(&ping).await;
        if second.is_ok() {
            // It was sent before the extra reply arrived.
            second = line.ask(&ping).await;
        }
        let error = second.expect_err("it is over");
        assert!(error.is_connection_dropped(), "{error}");
        drop(line);
        served.await.expect("the line is closed");
    }
}

#[tokio::test]
async fn a_silent_node_is_waited_for_as_long_as_was_said() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let line = connect(&listener, Duration::from_millis(20)).await;
    let error = line.ask(&cmd("PING")).await.expect_err("nobody answers");
    assert!(error.is_timeout(), "{error}");
    // The number of queued requests is bounded.
    let inbox = Arc::new(Inbox::default());
    for number in 0..WAITING_MAX {
        line.send(b"*1\r\n$4\r\nPING\r\n", inbox.ticket(number));
    }
    let (number, refused) = inbox.next(1).await;
    assert_eq!(number, WAITING_MAX - 1);
    assert!(refused.expect_err("it is full").to_string().contains("too many requests"));
}

#[tokio::test]
async fn each_that_waits_too_long_is_told_and_its_reply_is_for_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let line = connect(&listener, Duration::from_millis(20)).await;
    let (mut stream, _) = listener.accept().await.expect("somebody comes");
    for _ in 0..2 {
        let asked = timeout(PATIENCE, line.ask(&cmd("PING"))).await.expect("it is told");
        assert!(asked.expect_err("nobody answers").is_timeout());
    }
    // A request with a timeout of its caller is not given up, and gets its own reply.
    let inbox = Arc::new(Inbox::default());
    line.send(b"*1\r\n$4\r\nPING\r\n", inbox.ticket(7));
    let mut taken = vec![0; 3 * b"*1\r\n$4\r\nPING\r\n".len()];
    stream.read_exact(&mut taken).await.expect("it comes");
    stream.write_all(b":1\r\n:2\r\n:3\r\n").await.expect("it is taken");
    let (number, reply) = timeout(PATIENCE, inbox.next(1)).await.expect("it comes");
    assert_eq!((number, reply.expect("a reply")), (7, Value::Int(3)));
    assert_eq!((line.requests_in_flight(), line.0.shared.state().limited), (0, 0));
}
