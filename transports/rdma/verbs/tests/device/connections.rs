//! Connections that are established, refused, ended and lost.

use crate::support::{
    LONG, MIB, SMALL, Seen, Side, accept, address, connect, listen, readable, target,
};
use scurry_rdma::{Device, Settings};
use scurry_rdma_proto::fabric::{Queue, SendFlags};
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

#[test]
fn who_is_refused_is_told_so() {
    let Some(address) = address() else { return };
    let (listener, at) = listen(address);
    let mut client = Side::new(address, MIB);
    thread::scope(|scope| {
        scope.spawn(|| {
            let request = loop {
                if let Some(request) = listener.next_request().unwrap() {
                    break request;
                }
                assert!(readable(&[listener.as_fd()], LONG));
            };
            assert_eq!(request.peer().unwrap().ip(), address.ip());
            request.reject();
        });
        let error = client.hub.connect(at, &SMALL, LONG).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert!(error.to_string().contains("RDMA_CM_EVENT_REJECTED"), "{error}");
    });
    assert_eq!(client.budget.used(), 0);
}

#[test]
fn where_nobody_listens_nobody_answers() {
    let Some(address) = address() else { return };
    let mut client = Side::new(address, MIB);
    let nobody = SocketAddr::new(address.ip(), 9);
    let error = client.hub.connect(nobody, &SMALL, LONG).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
}

#[test]
fn an_address_of_no_device_names_those_that_there_are() {
    let Some(_) = address() else { return };
    let error = Device::with_address("192.0.2.1:0".parse().unwrap()).unwrap_err().to_string();
    let name = Device::all().unwrap()[0].name();
    assert!(error.starts_with("no RDMA device here has the address 192.0.2.1:0"), "{error}");
    assert!(error.contains(&name), "{error}");
}

#[test]
fn the_end_comes_after_what_was_sent_before_it() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (mut accepted, mut made) = connect(address, &mut server, &mut client, &SMALL);
    let window = accepted.window(4096).unwrap();
    let staging = made.staging(b"last".to_vec()).unwrap();
    let signalled = SendFlags { inline: false, signalled: true };
    made.write(1, &staging, 0..4, target(&window), Some(4), signalled);
    made.ring().unwrap();
    client.until(made.number(), &Seen::Sent(1));
    drop(made);
    // Wait until the event of the end has arrived, before any event is read.
    assert!(readable(&[server.hub.connections_fd()], LONG));
    let mut seen = Vec::new();
    server.hub.poll_connections(|_, notice| seen.push(format!("{notice:?}"))).unwrap();
    assert_eq!(seen, ["Event(Immediate(4))", "Event(Broken)"]);
    let why = server.hub.why_broken(accepted.number()).unwrap();
    assert!(why.contains("RDMA_CM_EVENT_DISCONNECTED"), "{why}");
}

#[test]
fn many_connections_share_one_queue_and_give_everything_back() {
    const COUNT: usize = 200;
    let Some(address) = address() else { return };
    let settings = Settings { receive_entries: 8, send_entries: 8, inline_max: 64 };
    let mut server = Side::new(address, 64 * MIB);
    let mut client = Side::new(address, 64 * MIB);
    let (listener, at) = listen(address);
    // The listener's thread passes requests to the thread that has the hub.
    let (send, requests) = mpsc::channel();
    let (mut accepted, made) = thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..COUNT {
                let request = loop {
                    if let Some(request) = listener.next_request().unwrap() {
                        break request;
                    }
                    assert!(readable(&[listener.as_fd()], LONG), "nobody connects");
                };
                send.send(request).unwrap();
            }
        });
        let hub = &mut server.hub;
        let served = scope.spawn(move || {
            let take = |request| hub.accept(request, &settings).unwrap();
            requests.iter().map(take).collect::<Vec<_>>()
        });
        let connect = |_| client.hub.connect(at, &settings, LONG).unwrap();
        let made: Vec<_> = (0..COUNT).map(connect).collect();
        (served.join().unwrap(), made)
    });
    for connection in &accepted {
        server.until(connection.number(), &Seen::Established);
    }
    assert_eq!((server.hub.connections(), client.hub.connections()), (COUNT, COUNT));

    // Each end sends its index to its peer, all before any peer polls.
    for (place, connection) in accepted.iter_mut().enumerate() {
        connection.send(place as u64, &[place as u8; 32], true);
        connection.ring().unwrap();
    }
    for (place, connection) in accepted.iter().enumerate() {
        server.until(connection.number(), &Seen::Sent(place as u64));
    }
    for connection in &made {
        client.until_count(connection.number(), 1);
    }
    let mut places: Vec<Vec<Seen>> = made.iter().map(|c| client.of(c.number())).collect();
    places.sort_by_key(|seen| format!("{seen:?}"));
    let mut expected: Vec<Vec<Seen>> =
        (0..COUNT).map(|place| vec![Seen::Control(vec![place as u8; 32])]).collect();
    expected.sort_by_key(|seen| format!("{seen:?}"));
    assert_eq!(places, expected);

    assert_eq!(server.budget.used(), accepted.iter().map(|c| c.pinned()).sum::<u64>());
    drop(accepted);
    drop(made);
    assert_eq!((server.budget.used(), client.budget.used()), (0, 0));
    server.look();
    assert_eq!(server.hub.connections(), 0);
}

/// Environment variable with the address that a child process of this test connects to before it is
/// killed.
const VICTIM: &str = "SCURRY_RDMA_TEST_VICTIM";

#[test]
fn a_peer_that_is_killed_breaks_the_connection() {
    let Some(address) = address() else { return };
    if let Ok(at) = std::env::var(VICTIM) {
        let mut client = Side::new(address, MIB);
        let made = client.hub.connect(at.parse().unwrap(), &SMALL, LONG).unwrap();
        eprintln!("connected");
        loop {
            client.until_count(made.number(), usize::MAX);
        }
    }
    let (listener, at) = listen(address);
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "connections::a_peer_that_is_killed_breaks_the_connection"])
        .arg("--nocapture")
        .env(VICTIM, at.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut server = Side::new(address, MIB);
    let accepted = accept(&listener, &mut server, &SMALL).unwrap();
    server.until(accepted.number(), &Seen::Established);
    let mut said = BufReader::new(victim.stderr.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "connected");
    victim.kill().unwrap();
    victim.wait().unwrap();
    server.until_count(accepted.number(), 2);
    assert_eq!(server.of(accepted.number()), [Seen::Established, Seen::Broken]);
}
