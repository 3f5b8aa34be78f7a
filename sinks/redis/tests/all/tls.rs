//! TLS: certificates of a CA of one's own, and what is said of others.

use crate::hand::{Hand, refused, unavailable};
use crate::peer::Peer;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use scurry_sink_redis::{RedisTarget, RedisTls};

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Authority {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("it is signed").pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// Returns a certificate and its key.
    fn sign(&self) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("good names");
        params.distinguished_name.push(DnType::CommonName, "node");
        let certificate = params.signed_by(&key, &self.issuer).expect("it is signed");
        (certificate.pem(), key.serialize_pem())
    }
}

#[test]
fn a_server_and_a_client_show_certificates() {
    let (authority, other) = (Authority::new(), Authority::new());
    let files = tempfile::TempDir::new().expect("a directory");
    let write = |name: &str, pem: &str| {
        let path = files.path().join(name);
        std::fs::write(&path, pem).expect("a file");
        path.to_str().expect("text").to_owned()
    };
    let (certificate, key) = authority.sign();
    let (certificate, key) = (write("server.pem", &certificate), write("server.key", &key));
    let ca = write("ca.pem", &authority.pem);
    let options = [
        "--tls-port",
        "NEXT",
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &ca,
    ];
    let peer = Peer::valkey(&options);
    let address = format!("rediss://127.0.0.1:{}", peer.port + 1);
    let hand = |roots: Option<&str>, client: Option<(String, String)>| {
        let mut target = RedisTarget::parse(&address, "events").expect("a target");
        target.tls = Some(RedisTls {
            roots: roots.map(|pem| pem.as_bytes().to_vec()),
            client: client.map(|(certificate, key)| (certificate.into_bytes(), key.into_bytes())),
        });
        Hand::to(target)
    };
    let mut known = hand(Some(&authority.pem), Some(authority.sign()));
    assert_eq!(known.resume(), Ok(String::new()));
    known.ship(&["1.0:1"]).expect("an event");
    assert_eq!(peer.events("events:0"), ["1.0:1"]);
    let said = unavailable(hand(Some(&other.pem), Some(authority.sign())).resume());
    assert!(said.contains("certificate"), "{said}");
    unavailable(hand(Some(&authority.pem), None).resume());
    unavailable(hand(Some(&authority.pem), Some(other.sign())).resume());
    let said = refused(hand(Some(&authority.pem), Some((String::new(), String::new()))).resume());
    assert!(said.contains("as the options say"), "{said}");
    // Without TLS the server closes the connection.
    unavailable(Hand::new(&address["rediss://".len()..]).resume());
}
