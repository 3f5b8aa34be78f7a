//! HTTPS: the same certificate as RESP, the version of HTTP by ALPN, and clients that do not speak TLS.

use crate::http2::{HTTP1, curl};
use crate::store::{PATIENCE, Store, command, say};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use tempfile::TempDir;

/// Returns a store with TLS, and the configuration of a client that trusts it.
fn store(more: &str) -> (Store, Arc<ClientConfig>) {
    let (store, mut config) = store_with_tls(more);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    (store, Arc::new(config))
}

/// Returns a store with TLS, and the configuration of a client that trusts it and names no protocol.
fn store_with_tls(more: &str) -> (Store, ClientConfig) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let directory = TempDir::new().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("it is ours");
        path.to_str().expect("UTF-8").to_owned()
    };
    let (certificate, key) =
        (file("c.pem", &cert.pem()), file("k.pem", &signing_key.serialize_pem()));
    let settings = file("scurry.toml", more);
    let tls = ["--tls-cert", &certificate, "--tls-key", &key, "--config", &settings];
    let command = command(&directory, &tls);
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
    (Store::run(command, directory), config)
}

fn get(port: u16, config: &Arc<ClientConfig>, path: &str) -> String {
    let name = ServerName::try_from("localhost").expect("a name");
    let session = ClientConnection::new(Arc::clone(config), name).expect("a client");
    let socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out is set");
    let mut stream = StreamOwned::new(session, socket);
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer, and an end that TLS confirms");
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    answer
}

#[test]
fn https_has_the_certificate_of_resp_and_answers_nothing_in_the_clear() {
    let (store, config) = store("");
    let answer = get(store.http_port, &config, "/readyz");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ready\n"), "{answer}");
    let plain = say(store.http_port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(!plain.contains("HTTP/1.1") && !plain.contains("ok"), "{plain}");
    assert!(get(store.http_port, &config, "/metrics").contains("scurry_core_up{core=\"0\"} 1"));
}

#[test]
fn who_never_ends_the_handshake_is_closed_and_others_served() {
    let (store, config) = store("tls_handshake_ms_max = 300\n");
    let mut silent: Vec<TcpStream> = (0..20)
        .map(|_| TcpStream::connect(("127.0.0.1", store.http_port)).expect("it listens"))
        .collect();
    assert!(get(store.http_port, &config, "/healthz").ends_with("ok\n"));
    for stream in &mut silent {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out is set");
        let end = stream.read_to_end(&mut Vec::new());
        assert!(matches!(end, Ok(0)), "{end:?}");
    }
}

/// Sends bytes over TLS and returns the protocol that was chosen, and the beginning of the answer.
fn say_over_tls(store: &Store, config: &ClientConfig, bytes: &[u8]) -> (Option<Vec<u8>>, Vec<u8>) {
    let name = ServerName::try_from("localhost").expect("a name");
    let session = ClientConnection::new(Arc::new(config.clone()), name).expect("a client");
    let socket = TcpStream::connect(("127.0.0.1", store.http_port)).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out is set");
    let mut stream = StreamOwned::new(session, socket);
    stream.write_all(bytes).expect("it is sent");
    let mut answer = [0; 9];
    let len = stream.read(&mut answer).unwrap_or_default();
    (stream.conn.alpn_protocol().map(<[u8]>::to_vec), answer[..len].to_vec())
}

#[test]
fn over_tls_alpn_chooses_the_version() {
    let (store, mut config) = store_with_tls("");
    let get: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let preface: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    for (offered, sent, chosen, is_http2) in [
        (&["h2", "http/1.1"][..], preface, Some("h2"), true),
        (&["http/1.1", "h2"], preface, Some("h2"), true),
        (&["h2"], preface, Some("h2"), true),
        (&["http/1.1"], get, Some("http/1.1"), false),
        (&[], get, None, false),
    ] {
        config.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
        let (protocol, answer) = say_over_tls(&store, &config, sent);
        assert_eq!(protocol.as_deref(), chosen.map(str::as_bytes), "{offered:?}");
        // The door's first frame is SETTINGS.
        let is_settings = answer.get(3) == Some(&4);
        assert_eq!(is_settings, is_http2, "{offered:?}: {answer:?}");
        assert_eq!(answer.starts_with(b"HTTP/1.1 "), !is_http2, "{offered:?}: {answer:?}");
    }
    let url = format!("https://localhost:{}/metrics", store.http_port);
    for (version, status) in [("--http2", "http/2 200"), (HTTP1, "http/1.1 200")] {
        let (told, _, page) = curl(version, &url, &["--insecure"]);
        assert_eq!(told, status);
        assert!(page.contains("scurry_core_up{core=\"0\"} 1"), "{page}");
    }
}
