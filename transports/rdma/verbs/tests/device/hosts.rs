//! Two hosts: an echo over a network that loses packets, and a peer whose host is switched off.

use crate::endpoint::{End, UNSENT_MAX, echo, take, turn};
use crate::support::{LONG, MIB, Side, readable};
use scurry_rdma::{Connection, Listener, Settings};
use scurry_rdma_proto::{Endpoint, Role, Settings as Protocol};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::time::Duration;

/// Environment variable with the role of this host, `serve` or `ask`, and the address of the first
/// host.
const ROLE: &str = "SCURRY_RDMA_HOST";

/// A message that makes the receiving host switch itself off.
const OFF: &[u8] = b"switch yourself off";

#[test]
fn a_lossy_way_loses_nothing_and_a_dead_host_is_noticed() {
    let Ok(role) = std::env::var(ROLE) else {
        eprintln!("skipped: it needs two hosts, see scripts/rdma-guest.sh pair");
        return;
    };
    let (role, at) = role.split_once(' ').expect("a role and an address");
    let at: SocketAddr = at.parse().unwrap();
    match role {
        "serve" => serve(at),
        "ask" => ask(at),
        other => panic!("no role {other}"),
    }
}

/// Returns settings without timers, so that only the device can detect a dead peer.
fn protocol() -> Protocol {
    Protocol { keepalive_ms: 0, silence_ms: 0, ..Protocol::default() }
}

fn serve(at: SocketAddr) {
    let mut side = Side::new(at, 16 * MIB);
    let listener = Listener::bind(at, 1).unwrap();
    let request = loop {
        if let Some(request) = listener.next_request().unwrap() {
            break request;
        }
        assert!(readable(&[listener.as_fd()], LONG), "nobody connects");
    };
    let connection = side.hub.prepare(request, &Settings::default()).unwrap();
    let mut end = Endpoint::new(connection, Role::Server, protocol(), 0).unwrap();
    end.queue().accept().unwrap();
    for now_ms in 0.. {
        let busy = turn(&mut side.hub, &mut end, now_ms);
        if end.input().starts_with(OFF) {
            // No connection is closed: the host stops at once.
            std::fs::write("/proc/sysrq-trigger", "b").unwrap();
        }
        take(&mut end, |end| if end.input().starts_with(OFF) { 0 } else { echo(end) });
        end.publish().unwrap();
        if !busy {
            let fds = [side.hub.completions_fd(), side.hub.connections_fd()];
            assert!(readable(&fds, LONG), "nothing comes");
        }
    }
}

fn ask(at: SocketAddr) {
    let mut side = Side::new("10.78.0.2:0".parse().unwrap(), 16 * MIB);
    let connection = connect(&mut side, at);
    let number = connection.number();
    let mut end = Endpoint::new(connection, Role::Client, protocol(), 0).unwrap();
    end.open(0).unwrap();
    let mut now_ms = 0;
    comes_back(&mut side, &mut end, 1_000_003, &mut now_ms);
    let lossy = ["qdisc", "add", "dev", "eth0", "root", "netem", "delay", "2ms", "loss", "1%"];
    assert!(Command::new("/bin/tc").args(lossy).status().unwrap().success());
    comes_back(&mut side, &mut end, 300_007, &mut now_ms);
    eprintln!("{:?}", side.hub.counters());

    end.parts().1.extend_from_slice(OFF);
    end.commit();
    // The other host may die before or after its device acknowledges the message, so send it again if
    // necessary.
    while side.hub.why_broken(number).is_none() {
        now_ms += 1;
        end.publish().unwrap();
        if !turn(&mut side.hub, &mut end, now_ms) {
            let fds = [side.hub.completions_fd(), side.hub.connections_fd()];
            if !readable(&fds, Duration::from_millis(500)) {
                end.parts().1.extend_from_slice(OFF);
                end.commit();
            }
        }
    }
    let why = side.hub.why_broken(number).unwrap();
    assert!(why.contains("retry counter exceeded"), "{why}");
}

/// Connects, and retries while the other host is still starting.
fn connect(side: &mut Side, at: SocketAddr) -> Connection {
    for _ in 0..60 {
        match side.hub.connect(at, &Settings::default(), Duration::from_secs(3)) {
            Ok(connection) => return connection,
            Err(error) => eprintln!("{error}"),
        }
        // The descriptor never becomes readable here: this is a pause.
        assert!(!readable(&[side.hub.completions_fd()], Duration::from_secs(1)));
    }
    panic!("{at} does not answer");
}

fn comes_back(side: &mut Side, end: &mut End, len: usize, now_ms: &mut i64) {
    let sent: Vec<u8> = (0..len).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let (mut next, mut back) = (0, Vec::new());
    while back.len() < sent.len() {
        *now_ms += 1;
        let busy = turn(&mut side.hub, end, *now_ms);
        take(end, |end| {
            let len = end.input().len();
            back.extend_from_slice(end.input());
            end.consume(len);
            len
        });
        let before = next;
        while end.unsent() < UNSENT_MAX && next < sent.len() {
            let until = (next + 10_000).min(sent.len());
            end.parts().1.extend_from_slice(&sent[next..until]);
            end.commit();
            next = until;
        }
        end.publish().unwrap();
        if !busy && next == before {
            let fds = [side.hub.completions_fd(), side.hub.connections_fd()];
            assert!(readable(&fds, LONG), "nothing comes after {} bytes", back.len());
        }
    }
    assert!(back == sent, "what comes back is what was sent");
}
