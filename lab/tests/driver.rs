//! What another process acknowledged in the lab's stead, compared with a store of the test's own.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::scope;

use anyhow::Result;
use scurry_lab::audit::audit_key_value;
use scurry_lab::client::Client;
use scurry_lab::resp::skip;
use scurry_lab::scenario::KeyValue;
use scurry_lab::workload::KeyValueWorkload;

/// Audits three keys, of which the store holds what is said here, by what a driver knows of them.
fn audit(store: [&str; 3], known: [i64; 3], wrong: u64) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let kv = KeyValue { keys: 3, value_size: 10, set_share: 1, ..KeyValue::default() };
    let mut workload = KeyValueWorkload::new(&kv, 1, 1, false);
    (0..3).for_each(|key| workload.append_first(key, &mut Vec::new()));
    workload.take(&known, wrong);
    scope(|threads| {
        threads.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut bytes, mut answered) = (Vec::new(), 0);
            let mut chunk = [0; 4_096];
            while let Ok(count @ 1..) = stream.read(&mut chunk) {
                bytes.extend_from_slice(&chunk[..count]);
                while let Ok(length) = skip(&bytes) {
                    bytes.drain(..length);
                    if stream.write_all(store[answered].as_bytes()).is_err() {
                        // The audit has found what it looked for, and gone.
                        return;
                    }
                    answered += 1;
                }
            }
        });
        audit_key_value(&mut Client::connect(address)?, &workload, 1)
    })
}

#[test]
fn what_a_driver_knows_is_compared_with_the_store() {
    let seven = "$10\r\n00000007xx\r\n";
    let store = [seven, "$-1\r\n", seven];
    // The last write of the first was the seventh, the second is absent, of the third nobody knows.
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
