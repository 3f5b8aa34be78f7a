//! Clients with wrong certificates, clients that do not speak TLS, and handshakes that never end.

use super::{Certificates, Trust, closed, log_of, start, trust};
use crate::support::{Client, Server, array, connect, serve};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

/// Reports whether a client with this trust gets a reply.
pub(super) fn comes_in(trust: &Trust<'_>, port: u16) -> bool {
    let mut client = trust.connect(port);
    let stream = client.stream_mut();
    let sent = stream.write_all(b"PING\r\n").and_then(|()| stream.flush());
    let mut reply = [0; 7];
    sent.is_ok() && stream.read_exact(&mut reply).is_ok() && &reply == b"+PONG\r\n"
}

#[test]
fn only_certificates_of_the_ca_come_in_where_they_are_asked_for() {
    let files = Certificates::make("clients");
    let server = start(&files, &["--tls-client-ca", &files.ca]);
    for version in rustls::ALL_VERSIONS {
        for (own, expected) in [
            (None, false),
            (Some(&files.client), true),
            (Some(&files.expired_client), false),
            (Some(&files.other_client), false),
        ] {
            let own = own.map(|(certificate, key)| (certificate.as_str(), key.as_str()));
            let trust = Trust { own, versions: &[version], ..trust(&files) };
            assert_eq!(comes_in(&trust, server.port), expected, "{own:?}");
        }
    }
    let log = log_of(server);
    assert_eq!(closed(&log, "TLS handshake failed: "), 6, "{log}");
}

#[test]
fn a_server_is_known_by_its_certificate() {
    let files = Certificates::make("servers");
    let server = start(&files, &[]);
    assert!(comes_in(&trust(&files), server.port));
    assert!(!comes_in(&Trust { ca: &files.other_ca, ..trust(&files) }, server.port));
    let (certificate, key) = &files.expired_server;
    let server = Server::start(&["--tls-cert", certificate, "--tls-key", key]);
    assert!(!comes_in(&trust(&files), server.port));
}

#[test]
fn a_plain_client_on_a_tls_port_and_the_other_way_round_are_closed() {
    let files = Certificates::make("confused");
    let server = start(&files, &["--tls-listen", "127.0.0.1:0"]);
    let mut plain = connect(server.tls_port.expect("it has two"));
    plain.write_all(b"PING\r\n").expect("it is open");
    let mut rest = Vec::new();
    plain.read_to_end(&mut rest).expect("it is closed");
    assert!(rest.first().is_none_or(|&kind| kind == 0x15), "an alert at most: {rest:?}");
    assert!(!comes_in(&trust(&files), server.port));
    server.connect().ask("PING", "+PONG\r\n");
    let log = log_of(server);
    // One line per second is logged, with the last reason and the number of connections.
    assert_eq!(closed(&log, "TLS"), 2, "{log}");
    assert!(log.contains("does the client speak TLS on this port?"), "{log}");
}

/// Raises the limit of open files for a test.
fn make_room(files: u64) {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("there is a limit");
    if soft < files {
        setrlimit(Resource::RLIMIT_NOFILE, files.min(hard), hard).expect("it can be raised");
    }
}

#[test]
fn a_thousand_handshakes_that_never_end_harm_nobody_and_are_closed() {
    let files = Certificates::make("handshakes");
    make_room(2_000);
    let path = format!("{}/tls-handshakes/settings.toml", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, "tls_handshake_ms_max = 2000\n").expect("it is written");
    let server = start(&files, &["--config", &path]);
    let mut hello = Vec::new();
    trust(&files).session().write_tls(&mut hello).expect("to memory");
    let mut client = trust(&files).connect(server.port);
    let mut stuck: Vec<TcpStream> = Vec::new();
    for number in 0..1_000 {
        let mut stream = connect(server.port);
        // Some send nothing, some half of a hello, some all of it and then nothing.
        stream.write_all(&hello[..hello.len() * (number % 3) / 2]).expect("it is open");
        stuck.push(stream);
        if number % 10 == 0 {
            client.ask("PING", "+PONG\r\n");
        }
    }
    for mut stream in stuck {
        // The server closes it: if it waited for ever, the read would time out.
        match stream.read_to_end(&mut Vec::new()) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
    client.ask("PING", "+PONG\r\n");
    drop(client);
    let log = log_of(server);
    assert_eq!(closed(&log, "a TLS handshake took too long"), 1_000, "{log}");
}

/// Without a password, a client counts as authenticated once its handshake is complete.
#[test]
fn handshakes_that_never_end_do_not_take_every_place() {
    let files = Certificates::make("places");
    let server = start(&files, &["--max-clients", "40"]);
    let mut hello = Vec::new();
    trust(&files).session().write_tls(&mut hello).expect("to memory");
    let mut client = trust(&files).connect(server.port);
    client.ask("PING", "+PONG\r\n");
    let mut stuck: Vec<TcpStream> = Vec::new();
    for number in 0..100 {
        let mut stream = connect(server.port);
        // The server may have closed it already.
        let _ = stream.write_all(&hello[..hello.len() * (number % 3) / 2]);
        stuck.push(stream);
        if number % 10 == 9 {
            trust(&files).connect(server.port).ask("PING", "+PONG\r\n");
        }
    }
    client.ask("PING", "+PONG\r\n");
    client.send("INFO clients\r\n");
    let text = client.bulk();
    let waiting = text.lines().find_map(|line| line.strip_prefix("unauthenticated_clients:"));
    let waiting: usize = waiting.and_then(|count| count.parse().ok()).expect("a number");
    assert!((1..=10).contains(&waiting), "{waiting} wait");
}

#[test]
fn a_client_that_never_reads_is_bounded_and_harms_nobody() {
    let files = Certificates::make("lazy");
    let server = start(&files, &[]);
    let mut lazy = trust(&files).connect(server.port);
    let mut other = trust(&files).connect(server.port);
    lazy.send(array(&[b"SET", b"big", &vec![b'v'; 900_000]]));
    lazy.expect("+OK\r\n");
    lazy.send(array(&[b"GET", b"big"]).repeat(2_000));
    for _ in 0..1_000 {
        other.ask("PING", "+PONG\r\n");
    }
    other.send("INFO memory\r\n");
    let resident = std::iter::repeat_with(|| other.line())
        .find_map(|line| line.strip_prefix("used_memory_rss:").map(str::to_owned))
        .expect("INFO has it");
    let resident: u64 = resident.parse().expect("a number");
    assert!(resident < 100_000_000, "{resident} bytes are resident");
    for _ in 0..20 {
        assert_eq!(lazy.line(), "$900000");
        assert_eq!(lazy.line().len(), 900_000);
    }
}

#[test]
fn garbage_after_the_handshake_ends_the_session() {
    let files = Certificates::make("garbage");
    let server = start(&files, &[]);
    let mut client = trust(&files).connect(server.port);
    client.ask("PING", "+PONG\r\n");
    client.stream_mut().sock.write_all(&[0x17, 3, 3, 0, 20, 1, 2]).expect("it is open");
    client.stream_mut().sock.write_all(&[9; 18]).expect("it is open");
    let end = client.stream_mut().read(&mut [0; 16]);
    assert!(!matches!(end, Ok(1..)), "{end:?}");
    let log = log_of(server);
    assert_eq!(closed(&log, "TLS session failed: "), 1, "{log}");
}

#[test]
fn a_tls_port_without_client_certificates_is_open_access_and_with_them_is_not() {
    let files = Certificates::make("open");
    let own =
        ["--listen", "0.0.0.0:0", "--tls-cert", &files.server.0, "--tls-key", &files.server.1];
    let start = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scurry"));
        command
            .args(["serve", "--durability", "none"])
            .args(own)
            .args(arguments)
            .env_remove("SCURRY_REQUIREPASS");
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let mut log = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        while !line.starts_with("listening on ")
            && let Some(Ok(next)) = log.next()
        {
            line = next;
        }
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        line
    };
    let refused = start(&[]);
    assert!(refused.contains("refusing to listen on 0.0.0.0:0"), "{refused}");
    assert!(refused.contains("--tls-client-ca"), "{refused}");
    let ca = ["--tls-client-ca", files.ca.as_str()];
    assert!(start(&ca).starts_with("listening on 0.0.0.0:"));
    let threads = start(&[&ca[..], &["--threads", "2"]].concat());
    assert!(threads.starts_with("listening on 0.0.0.0:"), "{threads}");
    // A TLS port with client certificates does not protect the plain port beside it.
    let beside = start(&[&ca[..], &["--tls-listen", "127.0.0.1:0"]].concat());
    assert!(beside.contains("refusing to listen on 0.0.0.0:0"), "{beside}");
}

#[test]
fn wrong_files_are_named_with_a_cure() {
    let files = Certificates::make("files");
    let (certificate, key) = &files.server;
    let settings = format!("{}/tls-files/empty.pem", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&settings, "nothing\n").expect("it is written");
    let error = |arguments: &[&str]| {
        let output = serve(arguments).output().expect("it starts");
        assert!(!output.status.success(), "{arguments:?} should not work");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (certificate, key, expected) in [
        ("no-such.pem", key.as_str(), "cannot read the certificate in no-such.pem: "),
        (certificate, "no-such.key", "cannot read the private key in no-such.key: "),
        (&settings, key, "empty.pem holds no certificate in PEM"),
        (certificate, &settings, "empty.pem holds no private key in PEM"),
        (certificate, certificate, "server.pem holds no private key in PEM"),
        (certificate, &files.client.1, "client.key does not belong to the certificate in "),
    ] {
        let text = error(&["--tls-cert", certificate, "--tls-key", key]);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains(expected), "{text}");
    }
    let pair = ["--tls-cert", certificate, "--tls-key", key];
    let text = error(&[&pair[..], &["--tls-client-ca", &settings]].concat());
    assert!(text.contains("empty.pem holds no certificate"), "{text}");
    for alone in [
        &["--tls-cert", certificate.as_str()][..],
        &["--tls-key", key],
        &["--tls-listen", "127.0.0.1:0"],
        &["--tls-client-ca", &files.ca],
    ] {
        assert!(error(alone).contains("TLS needs both a certificate (--tls-cert) and its key"));
    }
}

#[test]
fn a_key_that_others_may_read_is_warned_of() {
    let files = Certificates::make("readers");
    assert!(!log_of(start(&files, &["--tls-listen", "127.0.0.1:0"])).contains("chmod"));
    let key = &files.server.1;
    std::fs::set_permissions(key, PermissionsExt::from_mode(0o644)).expect("it is ours");
    let pair = ["--tls-cert", &files.server.0, "--tls-key", key];
    let mut child = serve(&pair).spawn().expect("it starts");
    let log = BufReader::new(child.stderr.take().expect("stderr is piped"));
    // The three lines of the start come through another channel, before the warning or after it.
    let lines = log.lines().map(|line| line.expect("a line is read")).take(4);
    let found = lines.filter(|line| line.contains("may read the private key")).last();
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    assert!(found.is_some_and(|line| line.contains("chmod 600")), "there is no warning");
}

#[test]
fn a_pipeline_after_auth_waits_over_tls_too() {
    let files = Certificates::make("auth");
    let path =
        crate::access::settings("tls-auth", "", &[("alice", crate::access::CHEAP, "'read'")]);
    let server = start(&files, &["--config", path.to_str().expect("UTF-8")]);
    let mut client: Client<_> = trust(&files).connect(server.port);
    client.send("AUTH alice password\r\nPING\r\nSET k v\r\n");
    client.expect(
        "+OK\r\n+PONG\r\n-NOPERM User alice has no permissions to run the 'set' command: it needs the role charge, and \
         alice has read\r\n",
    );
}
