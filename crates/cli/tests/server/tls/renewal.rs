//! Certificates that are renewed while the server runs.

use super::bad_clients::comes_in;
use super::{Certificates, Trust, start, trust};
use crate::reload::reload;
use crate::support::Server;
use std::fs;

const TAKEN: &str = "the certificates are taken";
const NOT_TAKEN: &str = "the certificates stay as they were: ";

/// Returns the port of the HTTP door from the next log line that names it.
fn door(server: &mut Server) -> u16 {
    loop {
        let line = server.log_line();
        let Some(rest) = line.strip_prefix("https://127.0.0.1:") else { continue };
        return rest.split_whitespace().next().and_then(|port| port.parse().ok()).expect("a port");
    }
}

/// Reports whether a client that trusts this CA gets an answer over HTTPS.
fn is_answered(trust: &Trust<'_>, port: u16) -> bool {
    use std::io::{Read, Write};
    let mut client = trust.connect(port);
    let stream = client.stream_mut();
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let sent = stream.write_all(request).and_then(|()| stream.flush());
    let mut reply = [0; 12];
    sent.is_ok() && stream.read_exact(&mut reply).is_ok() && &reply == b"HTTP/1.1 200"
}

#[test]
fn sighup_takes_certificates_and_leaves_connections() {
    let (old, new) = (Certificates::make("renewal"), Certificates::make("renewal-new"));
    let arguments = ["--threads", "2", "--http-listen", "127.0.0.1:0"];
    let mut server = start(&old, &arguments);
    let port = door(&mut server);
    let mut before = trust(&old).connect(server.port);
    before.ask("PING", "+PONG\r\n");
    assert!(is_answered(&trust(&old), port));

    // Only half of a pair is replaced: the key does not match the certificate.
    fs::copy(&new.server.0, &old.server.0).expect("it is written");
    let said = reload(&mut server, NOT_TAKEN);
    assert!(said.contains("does not belong to the certificate"), "{said}");
    assert!(comes_in(&trust(&old), server.port) && is_answered(&trust(&old), port));

    fs::copy(&new.server.1, &old.server.1).expect("it is written");
    reload(&mut server, TAKEN);
    before.ask("PING", "+PONG\r\n");
    for _ in 0..2 {
        assert!(comes_in(&trust(&new), server.port) && is_answered(&trust(&new), port));
        assert!(!comes_in(&trust(&old), server.port) && !is_answered(&trust(&old), port));
    }
    fs::remove_file(&old.server.0).expect("it was there");
    let said = reload(&mut server, NOT_TAKEN);
    assert!(said.contains("cannot read the certificate in "), "{said}");
    assert!(comes_in(&trust(&new), server.port) && is_answered(&trust(&new), port));
    before.ask("PING", "+PONG\r\n");
}

/// Returns the expiry of the certificates by name, from the page of metrics.
fn ends(trust: &Trust<'_>, port: u16) -> Vec<String> {
    use std::io::{Read, Write};
    let mut client = trust.connect(port);
    let stream = client.stream_mut();
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).and_then(|()| stream.flush()).expect("it is open");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    let begin = "scurry_certificate_expiry_timestamp_seconds{certificate=";
    page.lines().filter_map(|line| line.strip_prefix(begin)).map(str::to_owned).collect()
}

/// The server keeps running, and so do clients that do not check, and its plain ports.
#[test]
fn a_certificate_that_has_expired_is_told_at_the_start_and_at_sighup_and_shown_as_a_metric() {
    let files = Certificates::make("expiry");
    let (expired, good) = (&files.expired_server, &files.server);
    let kept = (format!("{}.kept", expired.0), format!("{}.kept", expired.1));
    let copy = |from: &(String, String), to: &(String, String)| {
        fs::copy(&from.0, &to.0).and_then(|_| fs::copy(&from.1, &to.1)).expect("it is written");
    };
    copy(expired, &kept);
    let own = ["--tls-cert", &expired.0, "--tls-key", &expired.1];
    let more = ["--tls-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"];
    let mut server = Server::start(&[own, more].concat());
    let port = door(&mut server);
    let told = format!(
        "ERROR the certificate in {} expired at 2020-01-01T00:00:00Z, and clients refuse it: put a new one",
        expired.0
    );
    while !server.log_line().contains(&told) {}
    server.connect().ask("PING", "+PONG\r\n");

    copy(good, expired);
    // One line for both doors.
    let line = reload(&mut server, "certificate");
    assert!(line.contains(TAKEN), "{line}");
    let ends = ends(&trust(&files), port);
    assert_eq!(ends, ["\"clients\"} 4733510400", "\"http\"} 4733510400"]);

    copy(&kept, expired);
    reload(&mut server, TAKEN);
    // The warning comes before the files are read once more.
    let line = reload(&mut server, "certificate");
    assert!(line.contains(&told) && line.contains("send SIGHUP"), "{line}");
}

#[test]
fn sighup_takes_another_ca_of_clients() {
    let files = Certificates::make("renewal-ca");
    let mut server = start(&files, &["--tls-client-ca", &files.ca]);
    let own = |(certificate, key)| Some((certificate, key));
    let of_ca = Trust { own: own((&*files.client.0, &*files.client.1)), ..trust(&files) };
    let other = (&*files.other_client.0, &*files.other_client.1);
    // The CA of clients has changed; the server's own certificate is still trusted.
    let kept = format!("{}.kept", files.ca);
    fs::copy(&files.ca, &kept).expect("it is written");
    let of_ca = Trust { ca: &kept, ..of_ca };
    let of_other = Trust { own: own(other), ca: &kept, ..trust(&files) };
    let mut before = of_ca.connect(server.port);
    before.ask("PING", "+PONG\r\n");
    assert!(!comes_in(&of_other, server.port));
    fs::copy(&files.other_ca, &files.ca).expect("it is written");
    reload(&mut server, TAKEN);
    before.ask("PING", "+PONG\r\n");
    assert!(comes_in(&of_other, server.port));
    assert!(!comes_in(&of_ca, server.port));
}
