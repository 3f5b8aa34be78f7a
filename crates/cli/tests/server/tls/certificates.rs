//! Certificates made for the tests: good ones, and one of each bad kind.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Files of a certificate and its key.
pub(crate) type Pair = (String, String);

/// Paths of PEM files.
pub(crate) struct Certificates {
    pub(crate) ca: String,
    pub(crate) other_ca: String,
    pub(crate) server: Pair,
    pub(crate) expired_server: Pair,
    pub(crate) client: Pair,
    pub(crate) expired_client: Pair,
    /// Signed by the other CA.
    pub(crate) other_client: Pair,
}

/// A signer and the directory for its files.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    path: String,
}

fn path(test: &str, file: &str) -> String {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tls-{test}"));
    std::fs::create_dir_all(&directory).expect("a directory");
    directory.join(file).to_str().expect("UTF-8").to_owned()
}

fn write(path: String, text: &str) -> String {
    std::fs::write(&path, text).expect("it is written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("it is ours");
    path
}

impl Authority {
    fn new(test: &str, name: &str) -> Authority {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let certificate = params.self_signed(&key).expect("it is signed");
        let path = write(path(test, &format!("{name}.pem")), &certificate.pem());
        Authority { issuer: Issuer::new(params, key), path }
    }

    fn sign(&self, test: &str, name: &str, years: (i32, i32)) -> Pair {
        let key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("good names");
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).expect("it is signed");
        (
            write(path(test, &format!("{name}.pem")), &certificate.pem()),
            write(path(test, &format!("{name}.key")), &key.serialize_pem()),
        )
    }
}

impl Certificates {
    /// Makes the files in a directory for this test.
    pub(crate) fn make(test: &str) -> Certificates {
        let (good, past) = ((2020, 2120), (2010, 2020));
        let ca = Authority::new(test, "ca");
        let other = Authority::new(test, "other-ca");
        Certificates {
            server: ca.sign(test, "server", good),
            expired_server: ca.sign(test, "expired-server", past),
            client: ca.sign(test, "client", good),
            expired_client: ca.sign(test, "expired-client", past),
            other_client: other.sign(test, "other-client", good),
            ca: ca.path,
            other_ca: other.path,
        }
    }
}
