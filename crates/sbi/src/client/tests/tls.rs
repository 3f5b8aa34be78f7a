//! TLS: whom the client trusts, what it shows, and which version of HTTP it takes.

use super::stand_in::Received;
use super::*;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use scurry_tls::TlsError;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

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

    /// Returns a server's side for a name, which asks for certificates of `clients`.
    fn acceptor(
        &self,
        name: &str,
        protocols: &[&[u8]],
        clients: Option<&Authority>,
    ) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(clients.0.der().clone()).expect("a root");
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
            }
        };
        let (certificate, key) = self.issue(name);
        let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let mut config = builder.with_single_cert(chain, key).expect("a pair");
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

struct Files(TempDir);

impl Files {
    fn new() -> Files {
        Files(TempDir::new().expect("a directory"))
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn ca(&self, authority: &Authority) -> ClientTlsFiles {
        let ca = Some(self.write("ca.pem", &authority.0.pem()));
        ClientTlsFiles { ca, ..ClientTlsFiles::default() }
    }

    /// Adds a certificate of `authority`.
    fn with_certificate(&self, files: ClientTlsFiles, authority: &Authority) -> ClientTlsFiles {
        let (certificate, key) = authority.issue("chf.example");
        ClientTlsFiles {
            certificate: Some(self.write("certificate.pem", &certificate.pem())),
            key: Some(self.write("key.pem", &key.serialize_pem())),
            ..files
        }
    }
}

fn client_with(tls: ClientTlsFiles) -> Client {
    let settings = ClientSettings { tls, ..settings(AllowedTargets::any()) };
    Client::new(&settings).expect("files")
}

async fn peer(acceptor: TlsAcceptor) -> StandIn {
    StandIn::start_with(Some(acceptor), Semaphore::MAX_PERMITS, |_| ok()).await
}

fn https(peer: &StandIn) -> String {
    format!("https://{}/a?b", peer.address)
}

async fn call(client: &Client, peer: &StandIn) -> Received {
    client.send(post(&https(peer), "{}")).await.expect("an answer");
    peer.last()
}

#[tokio::test]
async fn http_2_goes_first_and_http_1_serves() {
    let (authority, files) = (Authority::new(), Files::new());
    let (h2, h1): (&[u8], &[u8]) = (b"h2", b"http/1.1");
    for (protocols, version) in [
        (&[h2, h1][..], http::Version::HTTP_2),
        (&[h2], http::Version::HTTP_2),
        (&[h1], http::Version::HTTP_11),
        (&[], http::Version::HTTP_11),
    ] {
        let peer = peer(authority.acceptor("127.0.0.1", protocols, None)).await;
        let client = client_with(files.ca(&authority));
        for _ in 0..3 {
            let request = call(&client, &peer).await;
            assert_eq!((request.version, &request.body[..]), (version, &b"{}"[..]));
            assert_eq!(request.path(), "/a");
            if version == http::Version::HTTP_11 {
                assert_eq!(request.headers["host"], peer.address.to_string());
            }
        }
        assert_eq!(peer.connections(), 1, "{protocols:?}");
    }
}

#[tokio::test]
async fn calls_by_http_1_wait_for_each_other() {
    let (authority, files) = (Authority::new(), Files::new());
    let peer = peer(authority.acceptor("127.0.0.1", &[], None)).await;
    let client = client_with(files.ca(&authority));
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (client, uri) = (client.clone(), https(&peer));
            tokio::spawn(async move { client.send(post(&uri, "{}")).await })
        })
        .collect();
    for call in calls {
        call.await.expect("it does not panic").expect("an answer");
    }
    assert_eq!((peer.requests(), peer.connections()), (8, 1));
}

#[tokio::test]
async fn certificates_of_unknown_cas_and_of_other_names_are_refused() {
    let (authority, stranger, files) = (Authority::new(), Authority::new(), Files::new());
    let client = client_with(files.ca(&authority));
    for (issuer, name, words) in [
        (&stranger, "127.0.0.1", "unknown CA"),
        (&authority, "other.example", "not valid for name"),
    ] {
        let peer = peer(issuer.acceptor(name, &[b"h2"], None)).await;
        let error = error_of(&client, &https(&peer)).await;
        assert!(matches!(error, CallError::Tls { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(peer.requests(), 0);
    }
    // The system's CAs know neither.
    let peer = peer(authority.acceptor("127.0.0.1", &[b"h2"], None)).await;
    let error = error_of(&client_with(ClientTlsFiles::default()), &https(&peer)).await;
    assert!(error.to_string().contains("unknown CA"), "{error}");
}

#[tokio::test]
async fn a_certificate_is_shown_to_peers_that_ask() {
    let (authority, files) = (Authority::new(), Files::new());
    let acceptor = || authority.acceptor("127.0.0.1", &[b"h2"], Some(&authority));
    let tls = files.with_certificate(files.ca(&authority), &authority);
    call(&client_with(tls), &peer(acceptor()).await).await;
    let asking = peer(acceptor()).await;
    let error = error_of(&client_with(files.ca(&authority)), &https(&asking)).await;
    assert!(matches!(error, CallError::Exchange { .. } | CallError::Tls { .. }), "{error}");
    assert_eq!(asking.requests(), 0);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let (authority, files) = (Authority::new(), Files::new());
    let error = |tls| {
        let settings = ClientSettings { tls, ..settings(AllowedTargets::any()) };
        Client::new(&settings).expect_err("it is refused")
    };
    let ca = Some(files.0.path().join("none.pem"));
    let missing = error(ClientTlsFiles { ca, ..ClientTlsFiles::default() });
    assert!(matches!(missing, ClientTlsError::File(TlsError::Read { .. })), "{missing}");
    let pair = files.with_certificate(files.ca(&authority), &authority);
    let alone = error(ClientTlsFiles { key: None, ..pair.clone() });
    assert!(matches!(alone, ClientTlsError::Pair), "{alone}");
    files.write("key.pem", &KeyPair::generate().expect("a key").serialize_pem());
    let other = error(pair);
    assert!(matches!(other, ClientTlsError::File(TlsError::Mismatch { .. })), "{other}");
}
