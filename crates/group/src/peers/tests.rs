//! Tests of nodes that connect over real sockets: packets, refusals, admission, ends of connections.

mod passages;
mod tls;

use super::greeting::{Answer, Greeting, Hello};
use super::packet::{PACKET_LEN_MAX, write_packets};
use super::versions::Versions;
use super::*;
use crate::clock::Clock;
use scurry_ledger::Time;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The timeout after which an event counts as missing.
const WITHIN: Duration = Duration::from_secs(60);
/// The time limit of a greeting: so long that no test fails because the machine stalls for a while.
const GREETING_MS: i64 = 60_000;
const STORE: u64 = 0xfeed;

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn addresses(peer: SocketAddr) -> Addresses {
    Addresses { peer, ip: peer.ip(), main: 1, cores: vec![2, 3] }
}

fn identity(number: u64, peer: SocketAddr) -> Identity {
    let addresses = addresses(peer);
    Identity {
        node: node(number),
        store: STORE,
        threads: 2,
        addresses,
        required: 1,
        succeeds: None,
    }
}

/// A node, and a receiver of everything that its peers report to it.
struct Node {
    address: SocketAddr,
    peers: Peers,
    heard: Receiver<Inbound>,
    own: NodeId,
    clocks: Arc<Clocks>,
}

fn clocks() -> Arc<Clocks> {
    Arc::new(Clocks::new(Clock::start(Time(0))))
}

/// Returns the next packet that is not about a clock; None at the end of the connection.
fn read_other(stream: &mut TcpStream) -> Option<Packet> {
    loop {
        let packet = packet::read_packet(stream).unwrap();
        if packet.as_ref().is_none_or(|packet| packet.subject != Subject::Clock) {
            return packet;
        }
    }
}

fn bind() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// Opens a connection to a store that echoes everything.
fn store() -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    std::thread::spawn(move || io::copy(&mut &theirs, &mut &theirs));
    Ok(ours)
}

impl Node {
    fn start(number: u64) -> Node {
        Node::start_with(number, bind(), |_| {})
    }

    fn start_with(number: u64, listener: TcpListener, change: impl Fn(&mut Identity)) -> Node {
        let sockets = Sockets { greeting_ms: GREETING_MS, ..Sockets::new(None) };
        Node::start_over(number, listener, sockets, change)
    }

    fn start_over(
        number: u64,
        listener: TcpListener,
        sockets: Sockets,
        change: impl Fn(&mut Identity),
    ) -> Node {
        let address = listener.local_addr().unwrap();
        let mut own = identity(number, address);
        change(&mut own);
        let (tell, heard) = channel();
        // The test may have dropped the receiver.
        let inbox = move |inbound| drop(tell.send(inbound));
        let told = clocks();
        let with = (sockets, told.clone());
        let place = (listener, &[][..]);
        let peers = Peers::start(place, own, with, Box::new(store), inbox).unwrap();
        Node { address, peers, heard, own: node(number), clocks: told }
    }

    fn place(&self) -> (NodeId, SocketAddr) {
        (self.own, self.address)
    }

    /// Waits for the first event for which `wanted` returns a value, and returns that value.
    fn wait<T>(&self, wanted: impl Fn(Inbound) -> Option<T>) -> T {
        loop {
            let inbound = self.heard.recv_timeout(WITHIN).expect("it comes");
            if let Some(found) = wanted(inbound) {
                return found;
            }
        }
    }

    fn wait_connected(&self, to: u64) {
        self.wait(|inbound| {
            matches!(inbound, Inbound::Connected(at) if at == node(to)).then_some(())
        });
    }

    fn wait_lost(&self, to: u64) {
        self.wait(|inbound| matches!(inbound, Inbound::Lost(at) if at == node(to)).then_some(()));
    }

    fn wait_packet(&self) -> (NodeId, Packet) {
        self.wait(|inbound| match inbound {
            Inbound::Packet { from, packet } => Some((from, packet)),
            _ => None,
        })
    }

    /// Sends a packet until it arrives, because packets in a connection that is ending are lost.
    fn send_until_it_comes(&mut self, to: &Node, packet: Packet) {
        let mut tries = 0..10_000;
        let came = tries.any(|_| {
            self.peers.send(to.own, packet.clone());
            let came = to.heard.recv_timeout(Duration::from_millis(10)).ok();
            matches!(came, Some(Inbound::Packet { packet: came, .. }) if came == packet)
        });
        assert!(came, "it never comes");
    }

    fn wait_strange(&self) -> String {
        self.wait(|inbound| match inbound {
            Inbound::Strange { text } => Some(text),
            _ => None,
        })
    }
}

fn packet(shard: u16, bodies: &[usize]) -> Packet {
    let body = |len: &usize| Arc::new(vec![u8::try_from(*len % 251).unwrap(); *len]);
    Packet {
        subject: Subject::Replica,
        shard,
        message: vec![1, 2, 3],
        bodies: bodies.iter().map(body).collect(),
    }
}

/// Makes the nodes members of one group, and waits until all are connected with each other.
fn join(nodes: &mut [Node]) {
    let members: Vec<_> = nodes.iter().map(Node::place).collect();
    for node in nodes.iter_mut() {
        node.peers.set(&members);
    }
    for node in nodes.iter() {
        let mut missing: BTreeSet<NodeId> =
            members.iter().map(|(id, _)| *id).filter(|id| *id != node.own).collect();
        while !missing.is_empty() {
            let id = node.wait(|inbound| match inbound {
                Inbound::Connected(id) => Some(id),
                _ => None,
            });
            missing.remove(&id);
        }
    }
}

#[test]
fn three_nodes_send_each_other_packets_with_bodies() {
    let mut nodes = [Node::start(1), Node::start(2), Node::start(3)];
    join(&mut nodes);
    let long = [70_000, 0, 3 << 20];
    for from in 0..3 {
        for to in (0..3).filter(|to| *to != from) {
            let to_id = nodes[to].own;
            for shard in 0..20 {
                assert!(nodes[from].peers.send(to_id, packet(shard, &[5, 9])));
            }
            assert!(nodes[from].peers.send(to_id, packet(20, &long)));
            let expected = (0..20).map(|shard| packet(shard, &[5, 9])).chain([packet(20, &long)]);
            for expected in expected {
                assert_eq!(nodes[to].wait_packet(), (nodes[from].own, expected));
            }
        }
    }
    assert!(!nodes[0].peers.send(node(9), packet(0, &[])), "to nobody");
    let own = nodes[0].own;
    assert!(!nodes[0].peers.send(own, packet(0, &[])), "to itself");
}

#[test]
fn a_greeting_says_where_a_node_is_reached() {
    let mut nodes = [Node::start(1), Node::start(2)];
    let members = [nodes[0].place(), nodes[1].place()];
    nodes.iter_mut().for_each(|node| node.peers.set(&members));
    let heard = nodes[0].wait(|inbound| match inbound {
        Inbound::Hello { from, addresses } => Some((from, addresses)),
        _ => None,
    });
    assert_eq!(heard, (node(2), addresses(nodes[1].address)));
}

#[test]
fn a_node_that_was_away_is_connected_again() {
    let mut nodes = [Node::start(1), Node::start(2)];
    join(&mut nodes);
    let [mut first, second] = nodes;
    let (members, address) = ([first.place(), second.place()], second.address);
    drop(second);
    first.wait_lost(2);
    assert!(TcpStream::connect(address).is_err(), "its port is free");
    let mut second = Node::start_with(2, TcpListener::bind(address).unwrap(), |_| {});
    second.peers.set(&members);
    first.wait_connected(2);
    second.wait_connected(1);
    first.send_until_it_comes(&second, packet(1, &[1]));
    second.send_until_it_comes(&first, packet(2, &[2]));
}

#[test]
fn a_member_that_is_removed_is_let_go_and_refused() {
    let mut nodes = [Node::start(1), Node::start(2)];
    join(&mut nodes);
    let own = nodes[0].place();
    nodes[0].peers.set(&[own]);
    nodes[0].wait_lost(2);
    nodes[1].wait_lost(1);
    let words = nodes[0].wait_strange();
    assert!(words.contains("node 0000000000000002 is no member of this group"), "{words}");
    assert!(!nodes[0].peers.send(node(2), packet(0, &[])));
}

#[test]
fn a_member_with_another_address_is_dialled_there() {
    let mut nodes = [Node::start(1), Node::start(2)];
    join(&mut nodes);
    let [mut first, second] = nodes;
    drop(second);
    first.wait_lost(2);
    let mut second = Node::start(2);
    let members = [first.place(), second.place()];
    first.peers.set(&members);
    second.peers.set(&members);
    first.wait_connected(2);
    first.send_until_it_comes(&second, packet(1, &[1]));
}

/// Dials a node with a changed greeting. Returns the text of the refusal, and the text that the node reports.
fn refusal(change: impl Fn(&mut Hello)) -> (String, String) {
    let mut nodes = [Node::start(1)];
    let words = dial(&mut nodes, change);
    (words, nodes[0].wait_strange())
}

/// Dials a node with a changed greeting. Returns the text of the refusal.
fn dial(nodes: &mut [Node; 1], change: impl Fn(&mut Hello)) -> String {
    let other = (node(2), "127.0.0.1:1".parse().unwrap());
    let members = [nodes[0].place(), other];
    nodes[0].peers.set(&members);
    let mut hello = Hello {
        store: STORE,
        node: node(2),
        target: node(1),
        threads: 2,
        addresses: addresses(other.1),
    };
    change(&mut hello);
    let mut stream = TcpStream::connect(nodes[0].address).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    Greeting::Hello(hello).write(Versions::ALL, &mut stream).unwrap();
    let (answer, _) = Answer::read(Versions::ALL, &mut stream).unwrap();
    let Answer::Refusal(words) = answer else { panic!("{answer:?}") };
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "and it is closed");
    words
}

#[test]
fn a_node_that_is_not_known_yet_is_told_of_when_it_is_refused_again_and_again() {
    let mut nodes = [Node::start(1)];
    let own = nodes[0].place();
    let stranger = |hello: &mut Hello| hello.node = node(3);
    let is_quiet = |nodes: &[Node; 1]| {
        nodes[0].heard.try_iter().all(|heard| !matches!(heard, Inbound::Strange { .. }))
    };
    // The node reports a stranger only at its 80th refusal, because a node that joins is refused for a moment.
    for _ in 0..79 {
        let words = dial(&mut nodes, stranger);
        assert!(
            words.contains("node 0000000000000003 is no member of this group: it has not been")
        );
    }
    assert!(is_quiet(&nodes), "a node that joins is refused for a moment");
    dial(&mut nodes, stranger);
    assert!(nodes[0].wait_strange().contains("it has not been admitted yet, or was removed"));
    (0..100).for_each(|_| drop(dial(&mut nodes, stranger)));
    assert!(is_quiet(&nodes), "it is told once");
    // Now node 3 was a member and was removed.
    nodes[0].peers.set(&[own, (node(3), "127.0.0.1:1".parse().unwrap())]);
    nodes[0].peers.set(&[own]);
    let words = dial(&mut nodes, stranger);
    assert!(words.contains("is no member of this group: it was removed. A node"), "{words}");
}

/// A member may connect before this node knows its members. It waits until then.
#[test]
fn a_member_that_dials_before_this_node_begins_is_no_stranger() {
    let listener = bind();
    let address = listener.local_addr().unwrap();
    let other = (node(2), "127.0.0.1:1".parse().unwrap());
    let mut stream = TcpStream::connect(address).unwrap();
    let (store_id, target) = (STORE, node(1));
    let hello =
        Hello { store: store_id, node: other.0, target, threads: 2, addresses: addresses(other.1) };
    Greeting::Hello(hello).write(Versions::ALL, &mut stream).unwrap();
    let sockets = Sockets { greeting_ms: GREETING_MS, ..Sockets::new(None) };
    let place = (listener, &[other][..]);
    let with = (sockets, clocks());
    let _peers = Peers::start(place, identity(1, address), with, Box::new(store), drop).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    let (answer, _) = Answer::read(Versions::ALL, &mut stream).unwrap();
    assert!(matches!(answer, Answer::Welcome { .. }), "{answer:?}");
}

#[test]
fn each_refusal_says_its_cause_on_both_sides() {
    type Fault = fn(&mut Hello);
    let causes: [(Fault, &str); 4] = [
        (
            |hello| hello.store += 1,
            "has store 000000000000feee and this one store 000000000000feed",
        ),
        (|hello| hello.node = node(1), "node 0000000000000001 has dialled itself"),
        (
            |hello| hello.target = node(4),
            "this is node 0000000000000001 and not node 0000000000000004",
        ),
        (|hello| hello.threads = 3, "has 3 threads and this one 2"),
    ];
    for (change, words) in causes {
        let (told, heard) = refusal(change);
        assert!(told.contains(words), "{told}");
        assert!(heard.contains(words), "{heard}");
    }
}

#[test]
fn a_node_of_another_group_is_not_written_to() {
    for change in [|own: &mut Identity| own.store += 1, |own: &mut Identity| own.threads += 1] {
        let mut first = Node::start(1);
        let second = Node::start_with(2, bind(), change);
        let members = [first.place(), second.place()];
        first.peers.set(&members);
        second.wait_strange();
        assert!(!first.peers.send(node(2), packet(0, &[])));
    }
}

#[test]
fn the_welcome_of_another_node_is_no_welcome() {
    let fake = bind();
    let mut first = Node::start(1);
    first.peers.set(&[first.place(), (node(2), fake.local_addr().unwrap())]);
    for (store, number, threads) in [(STORE, 3, 2), (STORE + 1, 2, 2), (STORE, 2, 3)] {
        let (mut stream, _) = fake.accept().unwrap();
        Greeting::read(Versions::ALL, &mut stream).unwrap();
        Answer::Welcome { store, node: node(number), threads }
            .write(Versions::ALL, &mut stream)
            .unwrap();
        stream.set_read_timeout(Some(WITHIN)).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "it hangs up");
        assert!(!first.peers.send(node(2), packet(0, &[])));
    }
    // The node dials again, until the welcome is right.
    let (mut stream, _) = fake.accept().unwrap();
    let greeting = Greeting::read(Versions::ALL, &mut stream).unwrap();
    let Greeting::Hello(hello) = greeting else { panic!("{greeting:?}") };
    assert_eq!((hello.node, hello.target, hello.store), (node(1), node(2), STORE));
    Answer::Welcome { store: STORE, node: node(2), threads: 2 }
        .write(Versions::ALL, &mut stream)
        .unwrap();
    while !first.peers.send(node(2), packet(7, &[])) {
        std::thread::yield_now();
    }
    assert_eq!(read_other(&mut stream), Some(packet(7, &[])));
}

/// Opens a connection as node 2 to node 1, which welcomes it.
fn welcomed(first: &mut Node) -> TcpStream {
    let other: SocketAddr = "127.0.0.1:1".parse().unwrap();
    first.peers.set(&[first.place(), (node(2), other)]);
    let mut stream = TcpStream::connect(first.address).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    let (own, target) = (node(2), node(1));
    let addresses = addresses(other);
    let hello = Hello { store: STORE, node: own, target, threads: 2, addresses };
    Greeting::Hello(hello).write(Versions::ALL, &mut stream).unwrap();
    let (answer, _) = Answer::read(Versions::ALL, &mut stream).unwrap();
    assert_eq!(answer, Answer::Welcome { store: STORE, node: node(1), threads: 2 });
    stream
}

#[test]
fn garbage_closes_its_connection_and_nothing_else() {
    let mut first = Node::start(1);
    let mut garbled = Vec::new();
    write_packets(&[packet(1, &[9])], &mut garbled).unwrap();
    *garbled.last_mut().unwrap() ^= 1;
    for (bytes, words) in [(vec![0xff; 100], "4294967295 bytes"), (garbled, "checksum")] {
        let mut stream = welcomed(&mut first);
        write_packets(&[packet(3, &[4])], &mut stream).unwrap();
        stream.write_all(&bytes).unwrap();
        assert_eq!(first.wait_packet(), (node(2), packet(3, &[4])), "what came before counts");
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)), "it is closed");
        drop(stream);
        let told = first.wait_strange();
        assert!(told.contains("node 0000000000000002 sent") && told.contains(words), "{told}");
        first = Node::start(1);
    }
}

#[test]
fn a_half_packet_is_none() {
    let mut first = Node::start(1);
    let mut stream = welcomed(&mut first);
    let mut bytes = Vec::new();
    write_packets(&[packet(1, &[9]), packet(2, &[9])], &mut bytes).unwrap();
    stream.write_all(&bytes[..bytes.len() - 1]).unwrap();
    drop(stream);
    assert_eq!(first.wait_packet(), (node(2), packet(1, &[9])));
    let mut stream = welcomed(&mut first);
    write_packets(&[packet(3, &[])], &mut stream).unwrap();
    assert_eq!(first.wait_packet(), (node(2), packet(3, &[])));
}

#[test]
fn a_newer_connection_takes_the_place_of_the_older() {
    let mut first = Node::start(1);
    let mut before = welcomed(&mut first);
    let mut after = welcomed(&mut first);
    assert!(matches!(before.read(&mut [0]), Ok(0) | Err(_)), "the older is closed");
    write_packets(&[packet(3, &[])], &mut after).unwrap();
    assert_eq!(first.wait_packet(), (node(2), packet(3, &[])));
}

#[test]
fn clients_of_another_protocol_get_words_for_the_log() {
    let first = Node::start(1);
    let mut stream = TcpStream::connect(first.address).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    stream.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
    let (answer, _) = Answer::read(Versions::ALL, &mut stream).unwrap();
    assert!(matches!(&answer, Answer::Refusal(words) if words.contains("SCURNODE")), "{answer:?}");
    let told = first.wait_strange();
    assert!(told.contains("Name the port for nodes"), "{told}");
}

#[test]
fn so_many_may_greet_at_once_and_more_are_closed() {
    let first = Node::start(1);
    let connect = || TcpStream::connect(first.address).unwrap();
    let waiting: Vec<TcpStream> = (0..roster::GREETING_MAX).map(|_| connect()).collect();
    let mut one_more = connect();
    one_more.set_read_timeout(Some(WITHIN)).unwrap();
    assert!(matches!(one_more.read(&mut [0]), Ok(0) | Err(_)));
    let told = first.wait_strange();
    assert!(told.contains("too many have not greeted"), "{told}");
    drop(waiting);
}

#[test]
fn whoever_does_not_greet_is_closed() {
    let (tell, heard) = channel();
    let listener = bind();
    let address = listener.local_addr().unwrap();
    let sockets = Sockets { greeting_ms: 1, ..Sockets::new(None) };
    let inbox = move |inbound| drop(tell.send(inbound));
    let (own, with) = (identity(1, address), (sockets, clocks()));
    let _peers = Peers::start((listener, &[]), own, with, Box::new(store), inbox).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    let told = heard.recv_timeout(WITHIN).unwrap();
    assert!(
        matches!(&told, Inbound::Strange { text } if text.contains("has not greeted")),
        "{told:?}"
    );
}

#[test]
fn a_full_queue_drops_and_does_not_wait() {
    let mut first = Node::start(1);
    let fake = bind();
    first.peers.set(&[first.place(), (node(2), fake.local_addr().unwrap())]);
    let (mut stream, _) = fake.accept().unwrap();
    Greeting::read(Versions::ALL, &mut stream).unwrap();
    Answer::Welcome { store: STORE, node: node(2), threads: 2 }
        .write(Versions::ALL, &mut stream)
        .unwrap();
    // A packet as long as the whole queue is accepted only if the queue is empty.
    let long = packet(0, &[40 << 20]);
    while !first.peers.send(node(2), long.clone()) {
        std::thread::yield_now();
    }
    assert!(!first.peers.send(node(2), packet(1, &[])), "nobody reads, and the queue is full");
    assert!(read_other(&mut stream) == Some(long), "it comes whole");
    while !first.peers.send(node(2), packet(2, &[])) {
        std::thread::yield_now();
    }
    assert_eq!(read_other(&mut stream), Some(packet(2, &[])));
    assert!(
        !first.peers.send(node(2), packet(3, &[PACKET_LEN_MAX.in_memory()])),
        "nobody would take it"
    );
}

/// Returns a connection of node 1 to a fake node 2.
fn dialled(first: &mut Node) -> TcpStream {
    let fake = bind();
    first.peers.set(&[first.place(), (node(2), fake.local_addr().unwrap())]);
    let (mut stream, _) = fake.accept().unwrap();
    Greeting::read(Versions::ALL, &mut stream).unwrap();
    let mut welcome = Vec::new();
    Answer::Welcome { store: STORE, node: node(2), threads: 2 }
        .write(Versions::ALL, &mut welcome)
        .unwrap();
    stream.write_all(&welcome).unwrap();
    while !first.peers.send(node(2), packet(7, &[])) {
        std::thread::yield_now();
    }
    stream
}

#[test]
fn a_node_tells_its_clock_before_all_else() {
    let mut first = Node::start(1);
    let mut stream = dialled(&mut first);
    let told = packet::read_packet(&mut stream).unwrap().unwrap();
    assert_eq!((told.subject, told.bodies.len()), (Subject::Clock, 0));
    let told_ms = i64::from_le_bytes(told.message.try_into().unwrap());
    assert!((clocks().own().time.0 - told_ms).abs() < 3_600_000, "{told_ms}");
    assert_eq!(read_other(&mut stream), Some(packet(7, &[])));
    // The clock is sent periodically.
    assert_eq!(packet::read_packet(&mut stream).unwrap().unwrap().subject, Subject::Clock);
}

/// The node of an older version learns it before it gets an entry that it cannot read.
#[test]
fn a_node_of_an_older_version_is_refused() {
    let mut first = Node::start(1);
    let fake = bind();
    let address = fake.local_addr().unwrap();
    first.peers.set(&[first.place(), (node(2), address)]);
    let older = Versions { lowest: 1, highest: 5 };
    let (mut stream, _) = fake.accept().unwrap();
    let words = "versions 6 to 6 of the protocol between nodes, and this one 1 to 5";
    match Greeting::read(older, &mut stream) {
        Err(greeting::Unreadable::Words(text)) => assert!(text.contains(words), "{text}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(first.peers.version(node(2)), None);
    let mut stream = TcpStream::connect(first.address).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    let (store, threads, addresses) = (STORE, 2, addresses(address));
    let hello = Hello { store, node: node(2), target: node(1), threads, addresses };
    Greeting::Hello(hello).write(older, &mut stream).unwrap();
    let (answer, _) = Answer::read(older, &mut stream).unwrap();
    let words = "speaks versions 1 to 5 of the protocol between nodes, and this one 6 to 6";
    assert!(matches!(&answer, Answer::Refusal(text) if text.contains(words)), "{answer:?}");
}

#[test]
fn a_clock_that_is_told_counts_and_one_that_is_none_ends_the_connection() {
    let mut first = Node::start(1);
    let mut stream = welcomed(&mut first);
    let a_year_ms = 365 * 24 * 3_600_000;
    let clock = |message: Vec<u8>| Packet {
        subject: Subject::Clock,
        shard: 0,
        message,
        bodies: Vec::new(),
    };
    let time = first.clocks.own().time.plus_ms(-a_year_ms);
    write_packets(&[clock(time.0.to_le_bytes().to_vec())], &mut stream).unwrap();
    while first.clocks.off_ms() < a_year_ms / 2 {
        std::thread::yield_now();
    }
    write_packets(&[clock(vec![1, 2, 3])], &mut stream).unwrap();
    let told = first.wait_strange();
    assert!(told.contains("a clock that is none"), "{told}");
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)), "it hangs up");
}
