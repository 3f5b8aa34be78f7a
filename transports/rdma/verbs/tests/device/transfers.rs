//! Writes and messages, and the notices about them.

use crate::support::{MIB, SMALL, Seen, Side, address, connect, readable, target, written};
use scurry_rdma::Connection;
use scurry_rdma_proto::fabric::{CONTROL_LEN, Queue, SendFlags, Target};
use std::time::Duration;

const SIGNALLED: SendFlags = SendFlags { inline: false, signalled: true };
const INLINE: SendFlags = SendFlags { inline: true, signalled: false };

/// Writes these bytes to the target, with one doorbell.
fn write_inline(from: &mut Connection, bytes: &[u8], to: Target, immediate: u32) {
    let staging = from.staging(bytes.to_vec()).unwrap();
    let flags = SendFlags { inline: true, signalled: true };
    from.write(u64::from(immediate), &staging, 0..bytes.len(), to, Some(immediate), flags);
    from.ring().unwrap();
}

#[test]
fn writes_go_both_ways_and_immediates_tell_of_them() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (mut accepted, mut made) = connect(address, &mut server, &mut client, &SMALL);
    let of_server = accepted.window(65_536).unwrap();
    let of_client = made.window(65_536).unwrap();

    let mut question = made.staging(Vec::with_capacity(16_384)).unwrap();
    use scurry_rdma_proto::fabric::Staging as _;
    question.vector().extend((0..9000u32).map(|at| at as u8));
    let to = target(&of_server);
    let behind = Target { address: to.address + 5000, ..to };
    made.write(10, &question, 0..5000, to, None, SendFlags::default());
    made.write(11, &question, 5000..9000, behind, Some(9000), SIGNALLED);
    made.ring().unwrap();
    client.until(made.number(), &Seen::Sent(11));
    assert_eq!(client.of(made.number()), [Seen::Sent(11)], "the other one was not signalled");
    let counters = client.hub.counters();
    assert_eq!((counters.doorbells, counters.requests), (1, 2));

    server.until(accepted.number(), &Seen::Immediate(9000));
    assert_eq!(&written(&of_server, 65_536)[..9000], &question.bytes()[..9000]);
    assert!(written(&of_server, 65_536)[9000..].iter().all(|&byte| byte == 0));

    let answer = accepted.staging(b"answer".to_vec()).unwrap();
    accepted.write(20, &answer, 0..6, target(&of_client), Some(0x0102_0304), SIGNALLED);
    accepted.ring().unwrap();
    client.until(made.number(), &Seen::Immediate(0x0102_0304));
    assert_eq!(&written(&of_client, 65_536)[..8], b"answer\0\0");
    assert_eq!(accepted.unstage(answer), b"answer");
}

#[test]
fn what_is_inline_may_change_at_once() {
    let Some(address) = address() else { return };
    use scurry_rdma_proto::fabric::Staging as _;
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (mut accepted, mut made) = connect(address, &mut server, &mut client, &SMALL);
    assert!(made.inline_max() >= 64, "{}", made.inline_max());
    let window = accepted.window(4096).unwrap();
    let mut staging = made.staging(b"first".to_vec()).unwrap();
    made.write(1, &staging, 0..5, target(&window), Some(5), INLINE);
    staging.vector()[..5].copy_from_slice(b"other");
    made.ring().unwrap();
    server.until(accepted.number(), &Seen::Immediate(5));
    assert_eq!(&written(&window, 4096)[..5], b"first");
}

#[test]
fn messages_wait_for_receive_entries_and_none_is_lost() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (mut accepted, mut made) = connect(address, &mut server, &mut client, &SMALL);
    // The eight entries were already posted in advance, so one more is too many.
    accepted.post_receives(8).unwrap();
    let error = accepted.post_receives(1).unwrap_err();
    assert!(error.to_string().contains("room for 0 of 8"), "{error}");
    let message = |number: u8| [number; CONTROL_LEN];
    for number in 0..16 {
        made.send(u64::from(number), &message(number), number == 15);
    }
    made.ring().unwrap();
    // Half of the messages find no entry and wait for one.
    let own = accepted.number();
    server.until_count(own, 1 + 8);
    let posted = server.hub.counters().receive_doorbells;
    accepted.post_receives(8).unwrap();
    assert_eq!(server.hub.counters().receive_doorbells, posted + 1, "one call for all of them");
    server.until_count(own, 1 + 16);
    let expected: Vec<Seen> =
        (0..16).map(|number| Seen::Control(message(number).to_vec())).collect();
    assert_eq!(server.of(own)[1..], expected);
    client.until(made.number(), &Seen::Sent(15));
    assert_eq!(client.hub.counters().doorbells, 1);
}

#[test]
fn completions_are_told_of_once_armed_and_none_is_missed() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (mut accepted, mut made) = connect(address, &mut server, &mut client, &SMALL);
    let window = accepted.window(4096).unwrap();
    accepted.post_receives(8).unwrap();
    for round in 1..=100 {
        write_inline(&mut made, b"ping", target(&window), round);
        // This waits only if nothing was pending after the queue was armed.
        server.until(accepted.number(), &Seen::Immediate(round));
        accepted.post_receives(1).unwrap();
        client.until(made.number(), &Seen::Sent(u64::from(round)));
    }
    let counters = server.hub.counters();
    assert!(counters.completion_events <= counters.arms, "{counters:?}");
    assert_eq!(counters.completions, 100);
    // All events were read, and no more follow.
    while server.hub.rest(|_, _| panic!("nothing was sent")).unwrap() > 0 {}
    if readable(&[server.hub.completions_fd()], Duration::ZERO) {
        server.hub.notified().unwrap();
        assert_eq!(server.hub.rest(|_, _| panic!("nothing was sent")).unwrap(), 0);
    }
    let idle = server.hub.counters().arms;
    assert_eq!(server.hub.rest(|_, _| {}).unwrap(), 0);
    assert_eq!(server.hub.counters().arms, idle, "it is armed once");
    assert!(!readable(&[server.hub.completions_fd()], Duration::ZERO));
    write_inline(&mut made, b"more", target(&window), 0);
    assert!(readable(&[server.hub.completions_fd()], crate::support::LONG));
}
