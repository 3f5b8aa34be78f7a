//! A CA and certificates for nodes on this machine.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use tempfile::TempDir;

/// Certificate files for all nodes of a group.
pub(crate) struct Certificates(TempDir);

impl Certificates {
    /// Makes new files. Certificates of two calls do not trust each other.
    pub(crate) fn make() -> Certificates {
        let files = Certificates(tempfile::tempdir().expect("a directory"));
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "nodes");
        files.write("ca.pem", &params.self_signed(&key).expect("it is signed").pem());
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &issuer).expect("it is signed");
        files.write("node.pem", &certificate.pem());
        files.write("node.key", &key.serialize_pem());
        files
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).expect("it is ours");
    }

    /// Replaces the files by others, one whole file after another, as an operator does.
    pub(crate) fn replace(&self, by: &Certificates) {
        for name in ["node.key", "node.pem", "ca.pem"] {
            let new = self.0.path().join("new");
            std::fs::copy(by.0.path().join(name), &new).expect("it is copied");
            std::fs::rename(&new, self.0.path().join(name)).expect("it is replaced");
        }
    }

    /// Returns the options of a node.
    pub(crate) fn options(&self) -> Vec<String> {
        self.named([
            ("--replicate-tls-cert", "node.pem"),
            ("--replicate-tls-key", "node.key"),
            ("--replicate-tls-ca", "ca.pem"),
        ])
    }

    /// Returns the options for the ports for clients.
    pub(crate) fn options_for_clients(&self) -> Vec<String> {
        self.named([("--tls-cert", "node.pem"), ("--tls-key", "node.key")])
    }

    fn named<const N: usize>(&self, options: [(&str, &str); N]) -> Vec<String> {
        let file = |name: &str| self.0.path().join(name).to_str().expect("text").to_owned();
        options.into_iter().flat_map(|(option, name)| [option.to_owned(), file(name)]).collect()
    }

    /// Returns the configuration of a client that trusts these.
    pub(crate) fn trust(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_file(self.0.path().join("ca.pem"));
        roots.add(ca.expect("a certificate")).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().expect("versions");
        Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
    }
}
