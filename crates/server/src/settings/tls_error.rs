//! Why TLS cannot be spoken with these files, and what to do about it.

use std::io;
use std::path::PathBuf;

/// A file of [`crate::TlsSettings`] that does not serve.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file cannot be read.
    #[error("cannot read {what} in {path}: {source}. Check the path and who may read it")]
    Read {
        /// Certificate, key or client CA.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{path} holds no {what} in PEM: it must have a line -----BEGIN {begin}-----")]
    Empty {
        /// Certificate or private key.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The line that is looked for.
        begin: &'static str,
    },
    /// The two files are not a pair.
    #[error(
        "the private key in {key} does not belong to the certificate in {certificate}: give the \
         key that the certificate was made for, and the server's own certificate first in its file"
    )]
    Mismatch {
        /// File of the certificate.
        certificate: PathBuf,
        /// File of the key.
        key: PathBuf,
    },
    /// The library refuses it.
    #[error("cannot use {what} in {path}: {source}. Make it anew, or give another file")]
    Refused {
        /// Certificate, key or client CA.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The library's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
