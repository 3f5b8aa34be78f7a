//! TLS: a peer is the one that its certificate names.

use super::support::*;
use crate::metrics::ConnectionFault;
use crate::peer_rule::PeerRule;
use crate::serving::Serving;
use crate::settings::{Settings, UnknownPeers};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use scurry_tls::TlsSettings;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Authority(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        (params.signed_by(&key, &self.0).expect("a certificate"), key)
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("a root");
        roots
    }
}

/// Files of a test, which are removed at its end.
struct Files(PathBuf);

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Files {
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}

fn open(authority: &Authority, name: &str) -> (Serving, Files) {
    let files =
        Files(std::env::temp_dir().join(format!("scurry-diameter-{name}-{}", std::process::id())));
    std::fs::create_dir_all(&files.0).expect("a directory");
    let (certificate, key) = authority.issue(HOST);
    let tls = TlsSettings {
        certificate: files.write("certificate.pem", &certificate.pem()),
        key: files.write("key.pem", &key.serialize_pem()),
        client_ca: Some(files.write("ca.pem", &authority.0.pem())),
        listen: None,
        handshake_ms_max: 60_000,
    };
    let rule = PeerRule {
        host: "alias.example".to_owned(),
        certificate: Some("gateway.example".to_owned()),
        needs_tls: true,
        ..PeerRule::default()
    };
    let settings = Settings {
        listen: None,
        tls_listen: Some(local(0)),
        tls: Some(tls),
        peers: vec![rule],
        unknown_peers: Some(UnknownPeers::Admit),
        ..settings()
    };
    (serve(settings, &StandIn::open()), files)
}

fn connect(
    door: &Serving,
    authority: &Authority,
    name: Option<&str>,
) -> Client<StreamOwned<ClientConnection, TcpStream>> {
    let builder =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(authority.roots());
    let config = match name {
        None => builder.with_no_client_auth(),
        Some(name) => {
            let (certificate, key) = authority.issue(name);
            let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
            let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
            builder.with_client_auth_cert(chain, key).expect("a pair")
        }
    };
    let server = ServerName::try_from(HOST).expect("a name");
    let session = ClientConnection::new(Arc::new(config), server).expect("a session");
    let stream = TcpStream::connect(door.tls_address.expect("it listens")).expect("it accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    Client::new(StreamOwned::new(session, stream))
}

#[test]
fn a_peer_has_the_name_of_its_certificate() {
    let authority = Authority::new();
    let (door, _files) = open(&authority, "names");
    for (certificate, host, result) in [
        (PGW, "PGW.visited.example", 2001),
        (PGW, "other.visited.example", 5003),
        ("gateway.example", "alias.example", 2001),
        ("alias.example", "alias.example", 5003),
        ("127.0.0.1", "127.0.0.1", 5003),
    ] {
        let mut client = connect(&door, &authority, Some(certificate));
        client.send(&cer(host, None));
        assert_eq!(client.receive().summary(), (257, Some(result)), "{certificate} {host}");
        if result == 2001 {
            client.send(&ccr(1));
            assert_eq!(client.receive().summary(), (272, Some(2001)));
        }
    }
    assert!(door.peers.views().iter().all(|view| view.tls));
    door.close();
}

#[test]
fn a_handshake_does_not_hold_up_the_end() {
    let authority = Authority::new();
    let (door, _files) = open(&authority, "ends");
    let stream = TcpStream::connect(door.tls_address.expect("it listens")).expect("it accepts");
    wait_until(&door, "it is accepted", |counts| counts.accepted == 1);
    door.close();
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    Client::new(stream).ends();
}

#[test]
fn a_handshake_that_fails_is_counted() {
    let authority = Authority::new();
    let (door, _files) = open(&authority, "handshakes");
    let mut plain =
        Client::new(TcpStream::connect(door.tls_address.expect("it listens")).expect("it accepts"));
    plain.send(&cer(PGW, None));
    wait_fault(&door, ConnectionFault::Tls, 1);
    drop(plain);
    let mut without = connect(&door, &authority, None);
    // The client learns of the refusal when it writes or reads.
    let _ = std::io::Write::write_all(&mut without.stream, &cer(PGW, None));
    wait_fault(&door, ConnectionFault::Tls, 2);
    let stranger = Authority::new();
    let mut forged = connect(&door, &authority, None);
    drop(std::mem::replace(&mut forged, connect(&door, &stranger, Some(PGW))));
    let _ = std::io::Write::write_all(&mut forged.stream, &cer(PGW, None));
    wait_fault(&door, ConnectionFault::Tls, 4);
    door.close();
}
