//! Reads certificates and keys from PEM files, with errors that name the file.

use crate::settings::TlsError;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where systems keep the certificates of public CAs: Debian, Fedora, openSUSE, Alpine.
const SYSTEM_FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Permission bits that a private key should not have: any for users other than owner and group.
const OTHERS: u32 = 0o007;

/// Reads the bytes of a file. `what` names it in errors.
///
/// # Errors
/// When it cannot be read.
pub fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Read { what, path: path.to_owned(), source })
}

/// Parses all certificates in a file's text, of which there must be at least one.
///
/// # Errors
/// When there is none, or one is not in PEM.
pub fn certificates(text: &[u8], path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        _ => Err(empty("certificate", path, "CERTIFICATE")),
    }
}

/// Parses the certificates in a file's text as trust roots.
///
/// # Errors
/// When there is none, or one cannot be a root.
pub fn roots(what: &'static str, text: &[u8], path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for root in certificates(text, path)? {
        roots.add(root).map_err(|error| refused(what, path, error))?;
    }
    Ok(roots)
}

/// Returns the system's roots. There may be none: then no certificate is trusted.
pub fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let text = SYSTEM_FILES.iter().find_map(|path| std::fs::read(Path::new(path)).ok());
    for root in CertificateDer::pem_slice_iter(&text.unwrap_or_default()).flatten() {
        // The system's list may have certificates that the library refuses, beside hundreds that it takes.
        let _ = roots.add(root);
    }
    roots
}

/// Parses the private key in a file's text.
///
/// # Errors
/// When there is none.
pub fn private_key(text: &[u8], path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(text).map_err(|_| empty("private key", path, "PRIVATE KEY"))
}

/// Returns the error for contents of a file that the library refuses.
pub fn refused(
    what: &'static str,
    path: &Path,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> TlsError {
    TlsError::Refused { what, path: path.to_owned(), source: source.into() }
}

/// Returns the error for a certificate and key that the library refuses.
pub fn no_pair(error: rustls::Error, certificate: &Path, key: &Path) -> TlsError {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            TlsError::Mismatch { certificate: certificate.to_owned(), key: key.to_owned() }
        }
        rustls::Error::InvalidCertificate(_) => refused("the certificate", certificate, error),
        _ => refused("the private key", key, error),
    }
}

/// Warns of a private key that every user may read.
pub fn warn_of_readers(key: &Path) {
    let Ok(metadata) = std::fs::metadata(key) else { return };
    if metadata.permissions().mode() & OTHERS != 0 {
        let key = key.display();
        tracing::warn!("every user of this machine may read the private key {key}: chmod 600 it");
    }
}

fn empty(what: &'static str, path: &Path, begin: &'static str) -> TlsError {
    TlsError::Empty { what, path: PathBuf::from(path), begin }
}
