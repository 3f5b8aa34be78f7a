//! A round whose nodes lose their connections under it.

use super::*;
use crate::line::Terms;
use crate::node::Link;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

async fn connect(listener: &TcpListener) -> Line {
    let address = listener.local_addr().expect("an address").to_string();
    let terms = Terms { user: None, password: None, connect: PATIENCE, patience: PATIENCE };
    Line::connect(&address, terms).await.expect("it listens")
}

#[tokio::test]
async fn what_a_node_did_not_answer_is_asked_again_when_it_is_back() {
    const ASKED: &[u8] = b"*1\r\n$4\r\nPING\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let nodes = [Arc::new(Node::new("node".to_owned(), PATIENCE))];
    nodes[0].set(Link::Ready(connect(&listener).await));
    let mut round = Round::new(&nodes, Quorum::majority(1));
    round.ask(0, &Bytes::from_static(ASKED));
    let node = async {
        let mut asked = [0; ASKED.len()];
        let (mut stream, _) = listener.accept().await.expect("somebody comes");
        stream.read_exact(&mut asked).await.expect("it is asked");
        drop(stream);
        // As membership does it: it sees the end, and connects anew.
        nodes[0].line().expect("a connection").ended().await;
        nodes[0].set(Link::Away("it ended".to_owned()));
        nodes[0].set(Link::Ready(connect(&listener).await));
        let (mut stream, _) = listener.accept().await.expect("somebody comes again");
        stream.read_exact(&mut asked).await.expect("it is asked again");
        assert_eq!(asked, ASKED);
        stream.write_all(b"+PONG\r\n").await.expect("it is taken");
        stream
    };
    let (reply, _stream) = tokio::join!(round.next(1), node);
    assert_eq!(reply, Some((0, Value::SimpleString("PONG".to_owned()))));
}

#[tokio::test]
async fn a_node_that_is_away_for_longer_than_its_patience_keeps_nobody_waiting() {
    let nodes = [Arc::new(Node::new("node".to_owned(), Duration::ZERO))];
    let mut round = Round::new(&nodes, Quorum::majority(1));
    round.ask(0, &Bytes::from_static(b"*1\r\n$4\r\nPING\r\n"));
    assert_eq!(round.next(1).await, None);
    let failure = round.failure().to_string();
    assert!(failure.contains("away (not reached yet)"), "{failure}");
}
