//! The client against a server that stalls: what had to wait must show.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// Answers every request with an error of one line once it may: one message opens the gate.
fn gated_server() -> (SocketAddr, Sender<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (open, gate): (Sender<()>, Receiver<()>) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4_096];
        let mut closed = true;
        while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
            if closed {
                closed = gate.recv().is_err();
            }
            if stream.write_all(b"-BUSY 50 later\r\n").is_err() {
                return;
            }
        }
    });
    (address, open)
}

#[test]
fn requests_that_had_to_wait_for_their_turn_count_from_when_they_were_due() {
    let (address, open) = gated_server();
    let plan = HealthyPlan { rate: 1_000.0, connections: 1, accounts: 1 };
    let client = HealthyClient::start(plan, address).unwrap();
    let shared = Arc::clone(&client.shared);
    // The server is silent for 100 requests' time, then answers at once.
    while shared.clock.nanos() < 100_000_000 {
        std::thread::yield_now();
    }
    shared.begin_phase();
    open.send(()).unwrap();
    client.shared.end.store(shared.clock.nanos(), Ordering::Relaxed);
    let healthy = client.thread.join().unwrap().unwrap();
    // Had only sent requests counted, the first phase had one slow one.
    let first = &healthy.phases[0];
    assert!(first.operations >= 90, "{first:?}");
    assert!(first.latency_us.p50 > 10_000.0, "{first:?}");
    assert_eq!(healthy.phases.len(), 2);
    let errors = healthy.workload.errors().count;
    assert_eq!(errors, healthy.phases.iter().map(|phase| phase.operations).sum::<u64>());
}

#[test]
fn a_wrong_answer_fails_the_client() {
    let (address, open) = gated_server();
    open.send(()).unwrap();
    let plan = HealthyPlan { rate: 1_000.0, connections: 1, accounts: 1 };
    let client = HealthyClient::start(plan, address).unwrap();
    while client.shared.clock.nanos() < 20_000_000 {
        std::thread::yield_now();
    }
    let error = client.finish().unwrap_err().to_string();
    assert!(error.contains("BUSY 50 later"), "{error}");
}

#[test]
fn phases_are_told_apart_by_when_a_request_was_due() {
    let end = AtomicU64::new(0);
    let shared = Shared { clock: Clock::start(), phases: Mutex::new(vec![0, 10, 20]), end };
    assert_eq!([0, 9, 10, 19, 20, 99].map(|time| shared.phase_of(time)), [0, 0, 1, 1, 2, 2]);
}
