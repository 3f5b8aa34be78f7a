//! The protocol over a device: a server echoes bytes unchanged.

use crate::support::{LONG, MIB, Side, address, listen, readable};
use scurry_rdma::{Connection, Hub, Notice, Settings};
use scurry_rdma_proto::{Endpoint, Progress, Role, SendBuffering, Settings as Protocol};
use std::os::fd::AsFd as _;
use std::thread;

/// Maximum number of committed bytes that may wait to be sent.
pub(crate) const UNSENT_MAX: usize = 64 * 1024;

pub(crate) type End = Endpoint<Connection>;

/// Runs one turn of an event loop with one connection. Returns true when something happened.
pub(crate) fn turn(hub: &mut Hub, end: &mut End, now_ms: i64) -> bool {
    let mut hand = |_, notice: Notice<'_>| match notice {
        Notice::Established => end.open(now_ms).unwrap(),
        Notice::Event(event) => end.event(event, now_ms).unwrap(),
    };
    hub.notified().unwrap();
    let events = hub.poll_connections(&mut hand).unwrap();
    hub.rest(&mut hand).unwrap() + events > 0
}

/// Passes input to `f` as long as more arrives; `f` returns how many bytes it has consumed.
pub(crate) fn take(end: &mut End, mut f: impl FnMut(&mut End) -> usize) {
    loop {
        let progress = end.progress();
        let taken = f(end);
        match progress {
            Progress::More(new) if new > 0 || taken > 0 => {}
            _ => break,
        }
    }
}

pub(crate) fn echo(end: &mut End) -> usize {
    if end.unsent() > UNSENT_MAX {
        return 0;
    }
    let (input, output) = end.parts();
    let len = input.len();
    output.extend_from_slice(input);
    end.commit();
    end.consume(len);
    len
}

/// Creates a server's endpoint before its connection is accepted, and the endpoint of a client that
/// has connected.
fn ends(address: std::net::SocketAddr, sides: [&mut Side; 2], protocol: Protocol) -> [End; 2] {
    let [server, client] = sides;
    let (listener, at) = listen(address);
    let (hub, settings) = (&mut server.hub, Settings::default());
    thread::scope(|scope| {
        let accepted = scope.spawn(move || {
            let request = loop {
                if let Some(request) = listener.next_request().unwrap() {
                    break request;
                }
                assert!(readable(&[listener.as_fd()], LONG), "nobody connects");
            };
            let connection = hub.prepare(request, &settings).unwrap();
            let mut end = Endpoint::new(connection, Role::Server, protocol, 0).unwrap();
            end.queue().accept().unwrap();
            end
        });
        let made = client.hub.connect(at, &settings, LONG).unwrap();
        let mut made = Endpoint::new(made, Role::Client, protocol, 0).unwrap();
        made.open(0).unwrap();
        [accepted.join().unwrap(), made]
    })
}

fn comes_back(handling: SendBuffering) {
    let Some(address) = address() else { return };
    let protocol = Protocol { output: handling, window_len: 64 * 1024, ..Protocol::default() };
    let (mut server, mut client) = (Side::new(address, 16 * MIB), Side::new(address, 16 * MIB));
    let [mut serving, mut asking] = ends(address, [&mut server, &mut client], protocol);
    // The length is no multiple of the window's, and the bytes do not repeat at that distance.
    let sent: Vec<u8> =
        (0..2_000_003u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let (mut next, mut back, mut now_ms) = (0, Vec::new(), 0);
    while back.len() < sent.len() {
        now_ms += 1;
        let busy = turn(&mut server.hub, &mut serving, now_ms);
        take(&mut serving, echo);
        serving.publish().unwrap();

        let busy = turn(&mut client.hub, &mut asking, now_ms) || busy;
        take(&mut asking, |end| {
            let len = end.input().len();
            back.extend_from_slice(end.input());
            end.consume(len);
            len
        });
        let before = next;
        while asking.unsent() < UNSENT_MAX && next < sent.len() {
            let end = (next + 10_000).min(sent.len());
            asking.parts().1.extend_from_slice(&sent[next..end]);
            asking.commit();
            next = end;
        }
        asking.publish().unwrap();
        if !busy && next == before {
            let [first, second] = [&server.hub, &client.hub];
            let fds = [first.completions_fd(), first.connections_fd()];
            let fds = [fds[0], fds[1], second.completions_fd(), second.connections_fd()];
            assert!(readable(&fds, LONG), "nothing comes after {} bytes", back.len());
        }
    }
    assert!(back == sent, "what comes back is what was sent");
    let counters = client.hub.counters();
    assert!(counters.doorbells <= counters.requests, "{counters:?}");
    drop((serving, asking));
    assert_eq!((server.budget.used(), client.budget.used()), (0, 0));
}

#[test]
fn an_echo_comes_back_in_place() {
    comes_back(SendBuffering::InPlace);
}

#[test]
fn an_echo_comes_back_copied() {
    comes_back(SendBuffering::Copied);
}
