//! The public keys of the NRF, read from files.

use super::algorithm::{KeyMisfit, TokenAlgorithm};
use super::key_error::KeyError;
use rustls_pki_types::pem::{PemObject, SectionKind};
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use webpki::EndEntityCert;

/// Public keys at most: a token without `kid` is tried with each of its kind.
pub const KEYS_MAX: usize = 16;

/// Bytes of a file of keys at most.
const FILE_LEN_MAX: u64 = 256 * 1024;

/// Word before the name of a key, in a line of its own before the key.
const KID: &str = "kid:";

/// The public keys that tokens are verified with, as the files were when they were read.
#[derive(Debug)]
pub struct TokenKeys(Vec<PublicKey>);

/// One key.
#[derive(Debug)]
pub(crate) struct PublicKey {
    algorithm: TokenAlgorithm,
    spki: SubjectPublicKeyInfoDer<'static>,
    /// Name of the key in tokens; None where the file has none.
    kid: Option<String>,
}

impl TokenKeys {
    /// Reads public keys in PEM. A file has public keys (`PUBLIC KEY`, RFC 7468 section 13), or a certificate, of which
    /// the key counts and not the validity: certificates that follow it are of its issuers, who sign no token. A line
    /// `kid: NAME` before the first of them names the keys of the file.
    ///
    /// # Errors
    /// For files that cannot be used, naming them.
    pub fn read(paths: &[PathBuf]) -> Result<TokenKeys, KeyError> {
        let mut keys = Vec::new();
        for path in paths {
            keys.extend(of_file(&text(path)?, path)?);
        }
        if keys.len() > KEYS_MAX {
            return Err(KeyError::TooMany { keys_max: KEYS_MAX });
        }
        Ok(TokenKeys(keys))
    }

    /// Returns the keys that may have signed a token with this algorithm and this `kid`: those of its kind, and of its
    /// name if both have one.
    pub(crate) fn of<'a>(
        &'a self,
        algorithm: TokenAlgorithm,
        kid: Option<&'a str>,
    ) -> impl Iterator<Item = &'a PublicKey> {
        self.0.iter().filter(move |key| {
            let is_other = matches!((&key.kid, kid), (Some(own), Some(kid)) if own != kid);
            key.algorithm == algorithm && !is_other
        })
    }
}

impl PublicKey {
    /// Reports whether the key has signed the message.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        self.algorithm.verifies(&self.spki, message, signature)
    }

    fn new(
        spki: SubjectPublicKeyInfoDer<'static>,
        kid: Option<String>,
        path: &Path,
    ) -> Result<PublicKey, KeyError> {
        let path = path.to_owned();
        for algorithm in TokenAlgorithm::ALL {
            match algorithm.fits(&spki) {
                Ok(()) => return Ok(PublicKey { algorithm, spki, kid }),
                Err(KeyMisfit::OtherKind) => {}
                Err(KeyMisfit::Form) => return Err(KeyError::Form { path }),
                Err(KeyMisfit::NoKey) => {
                    let why = "it is no SubjectPublicKeyInfo".to_owned();
                    return Err(KeyError::Damaged { path, what: "public key", why });
                }
            }
        }
        Err(KeyError::Kind { path })
    }
}

/// Reads a file, and no more of it than a file of keys has.
fn text(path: &Path) -> Result<Vec<u8>, KeyError> {
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_LEN_MAX + 1).read_to_end(&mut text))
        .map_err(|source| KeyError::Read { path: path.to_owned(), source })?;
    if text.len() as u64 > FILE_LEN_MAX {
        return Err(KeyError::TooLong { path: path.to_owned(), len_max: FILE_LEN_MAX });
    }
    Ok(text)
}

/// Returns the keys in the text of a file.
fn of_file(text: &[u8], path: &Path) -> Result<Vec<PublicKey>, KeyError> {
    let kid = kid(text);
    let mut keys = Vec::new();
    let mut certificate = None;
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(text) {
        let (kind, der) = section
            .map_err(|error| KeyError::Pem { path: path.to_owned(), why: error.to_string() })?;
        match kind {
            SectionKind::PublicKey => keys.push(PublicKey::new(der.into(), kid.clone(), path)?),
            SectionKind::Certificate => {
                certificate.get_or_insert(der);
            }
            SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey => {
                return Err(KeyError::Private { path: path.to_owned() });
            }
            _ => {}
        }
    }
    if let Some(certificate) = certificate {
        keys.push(PublicKey::new(key_of(certificate, path)?, kid, path)?);
    }
    if keys.is_empty() { Err(KeyError::NoKey { path: path.to_owned() }) } else { Ok(keys) }
}

/// Returns the public key of a certificate (RFC 5280, version 3).
fn key_of(der: Vec<u8>, path: &Path) -> Result<SubjectPublicKeyInfoDer<'static>, KeyError> {
    let der = CertificateDer::from(der);
    let certificate = EndEntityCert::try_from(&der).map_err(|error| KeyError::Damaged {
        path: path.to_owned(),
        what: "certificate",
        why: error.to_string(),
    })?;
    Ok(certificate.subject_public_key_info())
}

/// Returns the name in a line `kid: NAME` before the first section.
fn kid(text: &[u8]) -> Option<String> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut before = lines.take_while(|line| !line.starts_with(b"-----BEGIN"));
    let name = before.find_map(|line| line.strip_prefix(KID.as_bytes()))?.trim_ascii();
    std::str::from_utf8(name).ok().filter(|name| !name.is_empty()).map(str::to_owned)
}
