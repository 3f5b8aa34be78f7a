//! Limits on memory and on queues.

use crate::support::{
    LONG, MIB, SMALL, Seen, Side, accept, address, connect, listen, readable, written,
};
use scurry_rdma::{Budget, Device, Hub, Settings};
use scurry_rdma_proto::fabric::{Queue, Window as _};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;

#[test]
fn memory_is_counted_where_it_is_pinned_and_given_back() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (mut accepted, made) = connect(address, &mut server, &mut client, &SMALL);
    // Eight receive entries fit on one page.
    assert_eq!((accepted.pinned(), server.budget.used()), (4096, 4096));
    let window = accepted.window(10_000).unwrap();
    assert!(written(&window, 10_000).iter().all(|&byte| byte == 0));
    assert_eq!((written(&window, 10_000).len(), window.address() % 4096), (10_000, 0));
    assert_eq!((accepted.pinned(), server.budget.used()), (4 * 4096, 4 * 4096));
    let registered = server.hub.counters().registrations;
    drop(window);
    assert_eq!(server.hub.counters().registrations, registered + 1);
    assert_eq!(accepted.pinned(), 4096);
    let staging = accepted.staging(vec![1; 4096]).unwrap();
    assert!(accepted.pinned() >= 2 * 4096);
    // A registration may outlive its connection.
    drop(accepted);
    drop(staging);
    assert_eq!(server.budget.used(), 0);
    drop(made);
    assert_eq!(client.budget.used(), 0);
}

#[test]
fn a_spent_budget_refuses_memory_and_then_connections() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, 4 * 4096), Side::new(address, MIB));
    let (mut accepted, _made) = connect(address, &mut server, &mut client, &SMALL);
    let error = accepted.window(4 * 4096).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    assert!(error.to_string().contains("4096 of 16384 that may be pinned"), "{error}");
    let _window = accepted.window(3 * 4096).unwrap();
    assert_eq!(accepted.staging(vec![0; 8]).unwrap_err().kind(), ErrorKind::QuotaExceeded);

    let (listener, at) = listen(address);
    thread::scope(|scope| {
        let refused = scope.spawn(|| {
            let error = accept(&listener, &mut server, &SMALL).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
        });
        let error = client.hub.connect(at, &SMALL, LONG).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        refused.join().unwrap();
    });
    assert_eq!(server.budget.used(), 4 * 4096, "who was refused has nothing");
    server.look();
    assert_eq!(server.of(accepted.number()), [Seen::Established]);
}

#[test]
fn more_connections_than_completions_have_room_are_refused() {
    let Some(address) = address() else { return };
    let device = Device::with_address(address).unwrap();
    let mut server = Side::new(address, MIB);
    // There is room for one connection.
    server.hub =
        Hub::new(device, SMALL.receive_entries + SMALL.send_entries, Budget::new(MIB)).unwrap();
    let mut client = Side::new(address, MIB);
    let (accepted, made) = connect(address, &mut server, &mut client, &SMALL);
    let (listener, at) = listen(address);
    thread::scope(|scope| {
        let refused = scope.spawn(|| accept(&listener, &mut server, &SMALL).map(|_| ()));
        let error = client.hub.connect(at, &SMALL, LONG).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let error = refused.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
        assert!(error.to_string().contains("24 of 24 are for other connections"), "{error}");
    });
    // A closed connection frees its room.
    drop((accepted, made));
    server.look();
    connect(address, &mut server, &mut client, &SMALL);
}

#[test]
fn more_connections_get_more_completion_queues_that_all_tell() {
    let Some(address) = address() else { return };
    // Each connection needs more than half of the first queue, so that each needs another queue.
    let settings = Settings { receive_entries: 2000, send_entries: 1000, inline_max: 64 };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let mut pairs: Vec<_> =
        (0..3).map(|_| connect(address, &mut server, &mut client, &settings)).collect();
    // In each step one connection alone causes an event.
    for round in 0..3 {
        for (place, (accepted, made)) in pairs.iter_mut().enumerate() {
            server.quiet();
            made.send(round, &[place as u8; 32], true);
            made.ring().unwrap();
            assert!(readable(&[server.hub.completions_fd()], LONG), "queue {place} does not tell");
            server.hub.notified().unwrap();
            server.until_count(accepted.number(), 2 + round as usize);
            let seen = server.of(accepted.number());
            assert_eq!(seen.last(), Some(&Seen::Control(vec![place as u8; 32])));
            client.until(made.number(), &Seen::Sent(round));
        }
    }
    let counters = server.hub.counters();
    assert!(counters.completion_events >= 9 && counters.arms >= 9, "{counters:?}");
}

/// Environment variable that marks a child process with a low limit on pinned memory.
const LOCKED: &str = "SCURRY_RDMA_TEST_LOCKED";

#[test]
fn a_low_limit_of_the_system_is_named_with_its_cure() {
    let Some(address) = address() else { return };
    if std::env::var_os(LOCKED).is_some() {
        let (mut server, mut client) = (Side::new(address, 64 * MIB), Side::new(address, MIB));
        let settings = Settings { receive_entries: 4, send_entries: 4, inline_max: 64 };
        let (mut accepted, _made) = connect(address, &mut server, &mut client, &settings);
        let error = accepted.window(1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        let text = error.to_string();
        assert!(text.contains("cannot pin 1048576 bytes"), "{text}");
        assert!(text.contains("may pin 131072 bytes: raise the limit (ulimit -l"), "{text}");
        assert_eq!(server.budget.used(), accepted.pinned(), "what was refused is not counted");
        return;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: who is not root cannot become somebody else");
        return;
    }
    let output = Command::new("sh")
        .args(["-c", "ulimit -l 128 && exec \"$0\" --exact \"$1\" --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .arg("limits::a_low_limit_of_the_system_is_named_with_its_cure")
        .env(LOCKED, "1")
        .uid(65_534)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
