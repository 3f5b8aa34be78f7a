//! Peers that break the protocol. Each is disconnected with one line in the log, other clients do not notice, and no
//! pinned memory is left.

use crate::raw::Raw;
use crate::support::{Client, Server, device};
use scurry_rdma_proto::Message;
use scurry_rdma_proto::fabric::{CONTROL_LEN, Target};

/// Breaks the protocol next to a healthy client, and checks the line in the log.
fn breaks(
    server: &mut Server,
    well: &mut Client,
    pinned: u64,
    says: &str,
    what: impl FnOnce(&mut Raw),
) {
    let mut raw = Raw::connect(server.address);
    well.ask("PING", "+PONG");
    what(&mut raw);
    raw.until_closed();
    well.ask("PING", "+PONG");
    let line = server.log_line();
    assert!(line.contains(says) && line.contains("closed=1"), "{says:?}: {line}");
    drop(raw);
    let left = well.pinned_with(1);
    assert!(left <= pinned, "{says:?}: {left} bytes stay pinned of {pinned}");
}

#[test]
fn who_breaks_the_rules_is_closed_and_nobody_else_notices() {
    let Some(address) = device() else { return };
    let mut server = Server::start(address, &[]);
    let mut well = server.connect();
    well.ask("SET a 1", "+OK");
    let pinned = well.pinned_with(1);
    assert!(pinned > 0);
    let mut check = |says: &str, what: &dyn Fn(&mut Raw)| {
        breaks(&mut server, &mut well, pinned, says, what);
    };
    let mut unknown = Message::Keepalive.encode();
    unknown[1] = 9;
    check("unknown kind 9", &|raw| raw.send(&unknown));
    check("a window of 1 bytes", &|raw| raw.announce(1));
    check("a window of 33554432 bytes", &|raw| raw.announce(32 << 20));
    check("a window of 131072 bytes after one of 65536", &|raw| {
        raw.announce(65_536);
        raw.announce(131_072);
    });
    check("goes beyond the last address", &|raw| {
        let memory = scurry_rdma_proto::Memory { address: u64::MAX - 8, length: 65_536, key: 1 };
        raw.send(&Message::RegisterXferMemory(memory).encode());
    });
    check("windows ahead", &|raw| (0..64).for_each(|_| raw.announce(65_536)));
    check("where there was room for", &|raw| {
        let (target, length) = raw.window();
        raw.tell(target, b"*1\r\n", length + 1);
    });
    check("messages without data faster", &|raw| {
        (0..4_000).for_each(|_| raw.send(&Message::Keepalive.encode()));
    });
    well.ask("GET a", "$1");
    assert_eq!(well.line(), "1");
    let rest = server.end();
    assert!(!rest.contains("closed="), "each was told once: {rest}");
}

/// The device itself refuses these writes and breaks the connection of the peer.
#[test]
fn what_is_not_the_peers_cannot_be_written() {
    let Some(address) = device() else { return };
    let server = Server::start(address, &[]);
    let mut well = server.connect();
    well.ask("SET a 1", "+OK");
    let pinned = well.pinned_with(1);
    let other = Raw::connect(server.address);
    let (of_other, length) = other.window();
    let beyond = Target { address: of_other.address + u64::from(length) + 4096, ..of_other };
    for target in [of_other, beyond, Target { key: of_other.key ^ 0xff00, ..of_other }] {
        let mut raw = Raw::connect(server.address);
        let own = raw.window().0;
        assert_ne!((own.address, own.key), (target.address, target.key));
        raw.tell(target, b"*1\r\n$8\r\nFLUSHALL\r\n", 18);
        raw.until_closed();
        drop(raw);
        well.pinned_with(2);
        well.ask("GET a", "$1");
        assert_eq!(well.line(), "1");
    }
    drop(other);
    assert!(well.pinned_with(1) <= pinned);
}

/// Bytes that the protocol allows and RESP does not.
#[test]
fn what_is_no_resp_is_refused_as_over_tcp() {
    let Some(address) = device() else { return };
    let server = Server::start(address, &[]);
    let mut well = server.connect();
    let mut client = server.connect();
    client.send(b"*1\r\n$-5\r\n");
    assert!(client.line().starts_with("-ERR Protocol error"));
    // An immediate of 0 announces no bytes and is allowed.
    let mut raw = Raw::connect(server.address);
    let (target, _) = raw.window();
    raw.tell(target, b"", 0);
    let zeros = [0; CONTROL_LEN];
    // Opcode 0 asks for features.
    raw.send(&zeros);
    well.ask("PING", "+PONG");
    assert_eq!(well.counts()["connections"], 2);
}
