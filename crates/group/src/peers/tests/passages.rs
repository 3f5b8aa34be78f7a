//! Tests of passages over real sockets, plain and with TLS: transfer of bytes, permission, and ends.

use super::tls::{Authority, node_with};
use super::*;
use crate::peers::roster::PASSAGES_MAX;
use crate::peers::socket::UNHEARD_MAX;

/// More bytes than all buffers of a passage hold.
const LEN: usize = 24 << 20;

/// Opens a passage from the first node to the second.
fn open(nodes: &[Node; 2]) -> (Passages, UnixStream) {
    let passages = nodes[0].peers.passages();
    passages.leader_is(Some(nodes[1].place()));
    let stream = passages.open().expect("it leads there");
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    stream.set_write_timeout(Some(WITHIN)).unwrap();
    (passages, stream)
}

/// Waits for the end of a connection without data. Returns false if it does not end within the timeout.
fn has_ended(stream: &mut UnixStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(len) => len == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

#[test]
fn both_directions_are_full_at_once_and_nothing_is_lost() {
    let authority = Authority::new();
    for tls in [None, Some(authority.sign("127.0.0.1"))] {
        let start = |number| match &tls {
            None => Node::start(number),
            Some(files) => node_with(number, files),
        };
        let mut nodes = [start(1), start(2)];
        join(&mut nodes);
        let (_passages, mut stream) = open(&nodes);
        let sent: Vec<u8> = (0..LEN).map(|at| u8::try_from(at % 251).unwrap()).collect();
        // Fills the buffers of both directions before anything is read.
        stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut taken = 0;
        while taken < LEN {
            match stream.write(&sent[taken..]) {
                Ok(more) => taken += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        assert!(taken < LEN, "the buffers hold less");
        // The reader pauses for longer than the timeout of a cut network, which must not end the passage.
        std::thread::sleep(UNHEARD_MAX + Duration::from_secs(1)); // tidy: allow (nothing must happen)
        stream.set_write_timeout(Some(WITHIN)).unwrap();
        let (mut writer, rest) = (stream.try_clone().unwrap(), sent[taken..].to_vec());
        let writes = std::thread::spawn(move || writer.write_all(&rest));
        let mut came = vec![0; LEN];
        stream.read_exact(&mut came).expect("all of it comes back");
        writes.join().unwrap().expect("all of it is taken");
        assert!(came == sent);
    }
}

#[test]
fn passages_end_when_another_node_leads_and_when_either_side_ends() {
    let mut nodes = [Node::start(1), Node::start(2)];
    join(&mut nodes);
    let (passages, mut stream) = open(&nodes);
    stream.write_all(b"question").unwrap();
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).unwrap();
    passages.leader_is(Some(nodes[1].place()));
    stream.write_all(b"the same").unwrap();
    stream.read_exact(&mut answer).expect("nothing has changed");
    passages.leader_is(None);
    assert!(has_ended(&mut stream));
    let said = passages.open().expect_err("nobody leads");
    assert!(said.contains("no node of the group leads"), "{said}");
    // A door may ask for a passage to the leader when this node has just become leader.
    passages.leader_is(Some(nodes[0].place()));
    let said = passages.open().expect_err("it does not dial itself");
    assert!(said.contains("this node was just elected"), "{said}");
    // The passage ends when the leader stops.
    let (_passages, mut stream) = open(&nodes);
    let [_first, second] = nodes;
    drop(second);
    assert!(has_ended(&mut stream));
}

#[test]
fn a_door_that_has_gone_gives_its_passage_back() {
    let mut nodes = [Node::start(1), Node::start(2)];
    join(&mut nodes);
    let (passages, first) = open(&nodes);
    let mut more: Vec<_> = (1..PASSAGES_MAX).map(|_| passages.open().expect("a place")).collect();
    let said = passages.open().expect_err("there are as many as there may be");
    assert!(said.contains("has 32 passages"), "{said}");
    drop(first);
    let tries = 0..10_000;
    let opened = tries.into_iter().find_map(|_| {
        std::thread::sleep(Duration::from_millis(10)); // tidy: allow (no event reports that it has ended)
        passages.open().ok()
    });
    more.push(opened.expect("the place is given back"));
}

#[test]
fn only_members_may_ask_and_a_removed_one_no_longer() {
    let mut nodes = [Node::start(1), Node::start(2)];
    let stranger = nodes[0].peers.passages();
    stranger.leader_is(Some(nodes[1].place()));
    let said = stranger.open().expect_err("it is no member");
    assert!(said.contains("is no member of this group"), "{said}");
    join(&mut nodes);
    let (_passages, mut stream) = open(&nodes);
    let alone = [nodes[1].place()];
    nodes[1].peers.set(&alone);
    assert!(has_ended(&mut stream));
    let other = Node::start_with(3, bind(), |own| own.store = 1);
    let passages = other.peers.passages();
    passages.leader_is(Some(nodes[1].place()));
    let said = passages.open().expect_err("it is of another group");
    assert!(said.contains("they are of two groups"), "{said}");
}

#[test]
fn whoever_shows_no_certificate_or_that_of_another_ca_is_no_door() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let mut leader = node_with(2, &ours.sign("127.0.0.1"));
    let strangers = [Node::start(1), node_with(1, &theirs.sign("127.0.0.1"))];
    for stranger in &strangers {
        leader.peers.set(&[stranger.place(), leader.place()]);
        let passages = stranger.peers.passages();
        passages.leader_is(Some(leader.place()));
        let said = passages.open().expect_err("it is not trusted");
        assert!(said.contains("refuses this one"), "{said}");
    }
}
