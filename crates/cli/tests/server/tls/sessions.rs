//! Data over TLS arrives as it does without, and connections end correctly.

use super::{Certificates, Trust, start, trust};
use crate::support::array;
use nix::sys::signal::Signal;
use std::io::{Read, Write};

#[test]
fn both_versions_carry_a_session() {
    let files = Certificates::make("versions");
    let server = start(&files, &[]);
    for version in rustls::ALL_VERSIONS {
        let trust = Trust { versions: &[version], ..trust(&files) };
        let mut client = trust.connect(server.port);
        client.ask("PING", "+PONG\r\n");
        assert_eq!(client.stream().conn.protocol_version(), Some(version.version));
        client.ask("SET k v", "+OK\r\n");
        client.ask("GET k", "$1\r\nv\r\n");
        // QUIT ends with close_notify, without which reading to the end would fail.
        client.ask("QUIT", "+OK\r\n");
        assert_eq!(client.rest(), "");
    }
}

#[test]
fn a_port_beside_the_plain_one() {
    let files = Certificates::make("beside");
    let server = start(&files, &["--tls-listen", "127.0.0.1:0"]);
    let mut plain = server.connect();
    let mut client = trust(&files).connect(server.tls_port.expect("it has two"));
    plain.ask("SET k plain", "+OK\r\n");
    client.ask("GET k", "$5\r\nplain\r\n");
}

#[test]
fn ten_thousand_requests_at_once_and_the_end_of_sending() {
    let files = Certificates::make("pipeline");
    let server = start(&files, &[]);
    for version in rustls::ALL_VERSIONS {
        let trust = Trust { versions: &[version], ..trust(&files) };
        let mut client = trust.connect(server.port);
        let mut input = Vec::new();
        let mut expected = String::new();
        for number in 0..10_000 {
            let number = number.to_string();
            input.extend_from_slice(&array(&[b"ECHO", number.as_bytes()]));
            expected += &format!("${}\r\n{number}\r\n", number.len());
        }
        client.send(&input);
        client.stream_mut().conn.send_close_notify();
        client.stream_mut().flush().expect("the server takes it");
        let rest = client.rest();
        assert!(rest == expected, "{} bytes came", rest.len());
    }
}

#[test]
fn large_values_both_ways() {
    let files = Certificates::make("large");
    let server = start(&files, &[]);
    let mut client = trust(&files).connect(server.port);
    for round in 0..5_u8 {
        let value: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 241) as u8 ^ round).collect();
        client.send(array(&[b"SET", b"big", &value]));
        client.expect("+OK\r\n");
        client.send(array(&[b"GET", b"big"]).repeat(3));
        for _ in 0..3 {
            client.expect("$1000000\r\n");
            let got = client.bytes(value.len());
            assert!(got == value, "the value has changed");
            client.expect("\r\n");
        }
    }
}

#[test]
fn one_byte_at_a_time() {
    let files = Certificates::make("bytes");
    let server = start(&files, &[]);
    let mut session = trust(&files).session();
    let mut stream = crate::support::connect(server.port);
    session.writer().write_all(b"PING\r\nECHO hello\r\n").expect("it is kept");
    let mut got = Vec::new();
    while got.len() < 18 {
        let mut records = Vec::new();
        while session.wants_write() {
            session.write_tls(&mut records).expect("to memory");
        }
        for byte in records {
            stream.write_all(&[byte]).expect("the server takes it");
        }
        session.read_tls(&mut stream).expect("the server answers");
        let state = session.process_new_packets().expect("good records");
        let mut plain = vec![0; state.plaintext_bytes_to_read()];
        session.reader().read_exact(&mut plain).expect("as many as were said");
        got.extend(plain);
    }
    assert_eq!(String::from_utf8_lossy(&got), "+PONG\r\n$5\r\nhello\r\n");
}

#[test]
fn stopping_tells_clients_the_end() {
    let files = Certificates::make("stopping");
    let server = start(&files, &[]);
    let mut client = trust(&files).connect(server.port);
    let mut idle = trust(&files).connect(server.port);
    idle.ask("PING", "+PONG\r\n");
    client.send(b"PING\r\n".repeat(5_000));
    client.expect("+PONG\r\n");
    server.signal(Signal::SIGTERM);
    assert_eq!(client.rest(), "+PONG\r\n".repeat(4_999));
    assert_eq!(idle.rest(), "");
    drop((client, idle));
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
}
