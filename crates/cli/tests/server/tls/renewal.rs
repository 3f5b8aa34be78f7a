//! Certificates that are renewed while the server runs.

use super::bad_clients::comes_in;
use super::{Certificates, Trust, start, trust};
use crate::reload::reload;
use std::fs;

const TAKEN: &str = "the certificates are taken";
const NOT_TAKEN: &str = "the certificates stay as they were: ";

/// The port in the next line that says where the HTTP door is.
fn door(server: &mut crate::support::Server) -> u16 {
    loop {
        let line = server.log_line();
        let Some(rest) = line.strip_prefix("https://127.0.0.1:") else { continue };
        return rest.split_whitespace().next().and_then(|port| port.parse().ok()).expect("a port");
    }
}

/// True when a client that trusts this CA gets an answer over HTTPS.
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

    // Half of a pair: the key does not belong to the certificate.
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

#[test]
fn sighup_takes_another_ca_of_clients() {
    let files = Certificates::make("renewal-ca");
    let mut server = start(&files, &["--tls-client-ca", &files.ca]);
    let own = |(certificate, key)| Some((certificate, key));
    let of_ca = Trust { own: own((&*files.client.0, &*files.client.1)), ..trust(&files) };
    let other = (&*files.other_client.0, &*files.other_client.1);
    // What signs clients is another now; the server's own certificate is trusted as before.
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
