//! How the lab handles replicas, and writes that another process acknowledged in its place. The stores are the test's
//! own and give scripted replies.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::thread::scope;

use anyhow::Result;
use scurry_lab::audit::{Expected, audit_key_value, audit_replicas};
use scurry_lab::client::Client;
use scurry_lab::dialect::Dialect;
use scurry_lab::loader::{LoadPlan, Loader, Observer, Second};
use scurry_lab::resp::skip;
use scurry_lab::scenario::{KeyValue, Scenario};
use scurry_lab::workload::KeyValueWorkload;

struct Nobody;

impl Observer for Nobody {
    fn measuring(&mut self, _: bool) -> Result<()> {
        Ok(())
    }

    fn second(&mut self, _: &Second) {}
}

/// Serves one connection and answers each request with `answer`.
fn serve(listener: &TcpListener, mut answer: impl FnMut(&[u8]) -> String) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut bytes = Vec::new();
    let mut chunk = [0; 4_096];
    // The read fails when the client closes with unread data.
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        bytes.extend_from_slice(&chunk[..count]);
        let mut out = String::new();
        while let Ok(length) = skip(&bytes) {
            out.push_str(&answer(&bytes[..length]));
            bytes.drain(..length);
        }
        // The client may have closed already.
        if stream.write_all(out.as_bytes()).is_err() {
            return;
        }
    }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[test]
fn operations_on_too_few_copies_are_counted() {
    for (replicas, least, most) in [(&[1][..], 0.0, 0.0), (&[0], 1.0, 1.0), (&[1, 0], 0.3, 0.7)] {
        let (listener, address) = listen();
        let mut kv = Scenario::built_in("kv").unwrap().kv.unwrap();
        (kv.keys, kv.get_share, kv.set_share) = (10, 0, 1);
        let mut workload = KeyValueWorkload::new(&kv, 4, 1, false);
        let plan = LoadPlan {
            rdma: None,
            wire: scurry_lab::wire::Wire::Resp,
            addresses: vec![address],
            sessions: 4,
            connections: 1,
            depth: 4,
            rate: None,
            warmup_seconds: 0.0,
            seconds: 0.2,
            copies: Some(2),
        };
        let interrupted = AtomicBool::new(false);
        let (mut waits, mut others) = (0, 0);
        scope(|scope| {
            scope.spawn(|| {
                serve(&listener, |request| {
                    if request.starts_with(b"*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n") {
                        waits += 1;
                        format!(":{}\r\n", replicas[waits % replicas.len()])
                    } else {
                        others += 1;
                        "+OK\r\n".to_owned()
                    }
                });
            });
            let loader = Loader::connect(plan, &mut workload, &interrupted).unwrap();
            let result = loader.run(&mut Nobody).unwrap();
            let share = result.not_enough_copies.unwrap() as f64 / result.operations as f64;
            assert!((least..=most).contains(&share), "{replicas:?}: {share}");
        });
        // Four sessions, and none continues before the WAIT.
        assert!(others > 8 && 4 * waits == others, "{waits} for {others}");
    }
}

#[test]
fn totals_of_several_nodes_are_summed() {
    let totals = |available: i64, consumed: i64| {
        format!(
            "*2\r\n$5\r\nunits\r\n*1\r\n*6\r\n$6\r\noctets\r\n:{available}\r\n:0\r\n:10\r\n:0\r\n:{consumed}\r\n"
        )
    };
    let expected = Expected {
        unit: "octets",
        credited_per_account: 10,
        consumed: &[3, 2],
        consumed_total: 5,
        alone: true,
        without_credit: 0,
        as_created: None,
    };
    for (second, is_right) in [(totals(8, 2), true), (totals(7, 3), false), (totals(10, 0), false)]
    {
        let nodes = [listen(), listen()];
        let replies = [totals(7, 3), second];
        scope(|scope| {
            for ((listener, _), reply) in nodes.iter().zip(&replies) {
                scope.spawn(|| serve(listener, |_| reply.clone()));
            }
            let mut clients = nodes.each_ref().map(|(_, at)| Client::connect(*at).unwrap());
            let audit = audit_replicas(&mut clients, Dialect::Scur, &expected);
            assert_eq!(audit.is_ok(), is_right, "{audit:?}");
        });
    }
}

/// Audits three keys, of which the store holds these values, against a driver's report about them.
fn audit(store: [&str; 3], known: [i64; 3], wrong: u64) -> Result<()> {
    let (listener, address) = listen();
    let kv = KeyValue { keys: 3, value_size: 10, set_share: 1, ..KeyValue::default() };
    let mut workload = KeyValueWorkload::new(&kv, 1, 1, false);
    (0..3).for_each(|key| workload.append_first(key, &mut Vec::new()));
    workload.take(&known, wrong);
    scope(|threads| {
        threads.spawn(move || {
            let mut replies = store.into_iter();
            serve(&listener, |_| replies.next().unwrap().to_owned());
        });
        audit_key_value(&mut Client::connect(address)?, &workload, 1)
    })
}

#[test]
fn what_a_driver_knows_is_compared_with_the_store() {
    let seven = "$10\r\n00000007xx\r\n";
    let store = [seven, "$-1\r\n", seven];
    // The last write of the first key was the seventh, the second key is missing, and the third is unknown.
    audit(store, [7, 0, -1], 0).unwrap();
    for (known, wrong, expected) in [
        ([8, 0, -1], 0, "key 0 holds"),
        ([7, 7, -1], 0, "key 1 holds"),
        ([7, 0, 0], 0, "key 2 holds"),
        ([7, 0, -1], 1, "no value of this load"),
    ] {
        let error = audit(store, known, wrong).unwrap_err().to_string();
        assert!(error.contains(expected), "{known:?}: {error}");
    }
}
