//! Requests that a queue refuses, and requests that break the connection.

use crate::support::{MIB, SMALL, Seen, Side, address, connect, target, written};
use scurry_rdma_proto::fabric::{CONTROL_LEN, Queue, SendFlags, Staging as _, Target, Window as _};

const SIGNALLED: SendFlags = SendFlags { inline: false, signalled: true };

#[test]
fn a_write_with_the_key_of_another_connection_breaks_the_offender_only() {
    let Some(address) = address() else { return };
    let mut server = Side::new(address, MIB);
    let (mut honest, mut offender) = (Side::new(address, MIB), Side::new(address, MIB));
    let (mut accepted, mut made) = connect(address, &mut server, &mut honest, &SMALL);
    let (of_offender, mut offending) = connect(address, &mut server, &mut offender, &SMALL);

    let window = accepted.window(4096).unwrap();
    let wrong = offending.staging(b"stolen".to_vec()).unwrap();
    offending.write(1, &wrong, 0..6, target(&window), Some(6), SIGNALLED);
    offending.ring().unwrap();
    offender.until_count(offending.number(), 1);
    assert_eq!(offender.of(offending.number()), [Seen::Broken]);
    let why = offender.hub.why_broken(offending.number()).unwrap();
    assert!(why.contains("remote access error"), "{why}");
    server.until_count(of_offender.number(), 2);
    assert_eq!(server.of(of_offender.number()), [Seen::Established, Seen::Broken]);
    assert!(written(&window, 4096).iter().all(|&byte| byte == 0), "nothing was written");

    let right = made.staging(b"honest".to_vec()).unwrap();
    made.write(2, &right, 0..6, target(&window), Some(6), SIGNALLED);
    made.ring().unwrap();
    server.until(accepted.number(), &Seen::Immediate(6));
    assert_eq!(&written(&window, 4096)[..6], b"honest");
}

#[test]
fn a_write_behind_a_window_breaks_the_connection() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (mut accepted, mut made) = connect(address, &mut server, &mut client, &SMALL);
    let window = accepted.window(4096).unwrap();
    let staging = made.staging(vec![1; 16]).unwrap();
    let to = Target { address: window.address() + 4090, key: window.key() };
    made.write(1, &staging, 0..16, to, Some(16), SIGNALLED);
    made.ring().unwrap();
    server.until_count(accepted.number(), 2);
    assert_eq!(server.of(accepted.number()), [Seen::Established, Seen::Broken]);
    assert!(written(&window, 4096).iter().all(|&byte| byte == 0), "nothing was written");
}

#[test]
fn nothing_follows_what_broke() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (accepted, mut made) = connect(address, &mut server, &mut client, &SMALL);
    made.disconnect().unwrap();
    server.until_count(accepted.number(), 2);
    // Its eight receive entries are returned as well, but cause no further notice.
    for _ in 0..20 {
        server.look();
    }
    assert_eq!(server.of(accepted.number()), [Seen::Established, Seen::Broken]);
}

#[test]
fn what_has_moved_is_not_sent() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (mut accepted, mut made) = connect(address, &mut server, &mut client, &SMALL);
    let window = accepted.window(4096).unwrap();
    let mut staging = made.staging(Vec::with_capacity(16)).unwrap();
    staging.vector().extend_from_slice(b"here");
    assert!(staging.is_registered());
    staging.vector().reserve(1 << 20);
    assert!(!staging.is_registered());
    made.write(1, &staging, 0..4, target(&window), Some(4), SIGNALLED);
    let error = made.ring().unwrap_err();
    assert!(error.to_string().contains("has moved"), "{error}");
    assert_eq!(client.hub.counters().doorbells, 0);
}

#[test]
fn what_is_not_there_is_not_sent() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (mut accepted, mut made) = connect(address, &mut server, &mut client, &SMALL);
    let window = accepted.window(4096).unwrap();
    let staging = made.staging(b"four".to_vec()).unwrap();
    made.write(1, &staging, 2..5, target(&window), Some(3), SIGNALLED);
    assert!(made.ring().unwrap_err().to_string().contains("is not there"));
}

#[test]
fn more_requests_than_the_queue_holds_are_an_error() {
    let Some(address) = address() else { return };
    let (mut server, mut client) = (Side::new(address, MIB), Side::new(address, MIB));
    let (_accepted, mut made) = connect(address, &mut server, &mut client, &SMALL);
    for number in 0..u64::from(made.send_entries()) * 4 {
        made.send(number, &[0; CONTROL_LEN], false);
    }
    assert!(made.ring().unwrap_err().to_string().contains("cannot post work requests"));
}
