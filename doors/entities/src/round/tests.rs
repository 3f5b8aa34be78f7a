//! Rounds whose nodes lose their connections, answer late or not at all.

use super::*;
use crate::node::NodeLink;
use scurry_http::now;
use scurry_stores::ConnectOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Longer than any test here takes.
const PATIENCE: Duration = Duration::from_secs(60);

async fn connect(listener: &TcpListener) -> PipelinedConnection {
    let address = listener.local_addr().expect("an address").to_string();
    let terms = ConnectOptions { user: None, password: None, patience: PATIENCE };
    PipelinedConnection::connect(&address, terms).await.expect("it listens")
}

#[tokio::test]
async fn what_a_node_did_not_answer_is_asked_again_when_it_is_back() {
    const ASKED: &[u8] = b"*1\r\n$4\r\nPING\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let nodes = [Arc::new(EntityNode::new("node".to_owned(), PATIENCE))];
    nodes[0].set(NodeLink::Ready(connect(&listener).await), now());
    let mut round = QuorumRequest::new(&nodes, Quorum::majority(1), PATIENCE);
    round.ask(0, &Bytes::from_static(ASKED));
    let node = async {
        let mut asked = [0; ASKED.len()];
        let (mut stream, _) = listener.accept().await.expect("somebody comes");
        stream.read_exact(&mut asked).await.expect("it is asked");
        drop(stream);
        // What membership does: it notices the end and reconnects.
        nodes[0].line().expect("a connection").ended().await;
        nodes[0].set(NodeLink::Away("it ended".to_owned()), now());
        nodes[0].set(NodeLink::Ready(connect(&listener).await), now());
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
    let nodes = [Arc::new(EntityNode::new("node".to_owned(), Duration::ZERO))];
    let mut round = QuorumRequest::new(&nodes, Quorum::majority(1), PATIENCE);
    round.ask(0, &Bytes::from_static(b"*1\r\n$4\r\nPING\r\n"));
    assert_eq!(round.next(1).await, None);
    let failure = round.failure(Effect::Read).to_string();
    assert!(failure.contains("away (not reached yet)"), "{failure}");
}

/// Returns connected nodes that never answer.
async fn silent(listener: &TcpListener, count: usize) -> Vec<Arc<EntityNode>> {
    let mut nodes = Vec::new();
    for number in 0..count {
        let node = Arc::new(EntityNode::new(format!("node {number}"), PATIENCE));
        node.set(NodeLink::Ready(connect(listener).await), now());
        nodes.push(node);
    }
    nodes
}

/// Returns a round that has asked all the nodes and needs all answers.
fn asked(nodes: &[Arc<EntityNode>], patience: Duration) -> QuorumRequest<'_> {
    let text = format!("{0}/{0}", nodes.len());
    let quorum = Quorum::parse(&text, nodes.len()).expect("a quorum");
    let mut round = QuorumRequest::new(nodes, quorum, patience);
    for number in 0..nodes.len() {
        round.ask(number, &Bytes::from_static(b"*1\r\n$4\r\nPING\r\n"));
    }
    round
}

#[tokio::test]
async fn what_has_come_when_the_time_is_over_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let nodes = silent(&listener, 3).await;
    let mut round = asked(&nodes, Duration::ZERO);
    for number in 0..2 {
        round.inbox.ticket(number).give(Ok(Value::Okay));
    }
    while let Some((_, reply)) = round.next(3).await {
        assert_eq!(reply, Value::Okay);
        round.answered += 1;
    }
    let failure = round.failure(Effect::Unknown).to_string();
    assert!(failure.starts_with("2 of the 3 nodes"), "{failure}");
    assert!(failure.contains("the others did not answer within 0 ms"), "{failure}");
    assert!(failure.ends_with("the write may take effect or not"), "{failure}");
}

#[tokio::test]
async fn what_has_come_when_too_few_are_left_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let nodes = silent(&listener, 4).await;
    let mut round = asked(&nodes, PATIENCE);
    let full = std::io::Error::from(std::io::ErrorKind::WouldBlock);
    round.inbox.ticket(3).give(Err(full.into()));
    for number in 0..2 {
        round.inbox.ticket(number).give(Ok(Value::Okay));
    }
    while round.next(4).await.is_some() {
        round.answered += 1;
    }
    let failure = round.failure(Effect::Unwritten).to_string();
    assert!(failure.starts_with("2 of the 4 nodes"), "{failure}");
    assert!(failure.contains("1 more had been asked, and no request waited"), "{failure}");
    assert!(failure.ends_with("nothing was written"), "{failure}");
}
