//! HTTPS: the same certificate as RESP, and clients that do not speak TLS.

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
    let mut config = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (Store::run(command, directory), Arc::new(config))
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
