//! What is wrong with a file of public keys, with the cure.

use std::path::PathBuf;
use thiserror::Error;

/// A file of `keys` that cannot be used.
#[derive(Debug, Error)]
pub enum KeyError {
    /// It cannot be read.
    #[error("cannot read the public key of the NRF in {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is longer than any file of keys.
    #[error("{} has more than {len_max} bytes: name a file with a public key in PEM", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Bytes that are read.
        len_max: u64,
    },
    /// Its text is no PEM.
    #[error("{} is not in PEM ({why}): write the public key of the NRF there, in PEM", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// It has no public key and no certificate.
    #[error(
        "{} has no public key: it needs `-----BEGIN PUBLIC KEY-----` or `-----BEGIN CERTIFICATE-----`",
        path.display()
    )]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// It has a private key.
    #[error(
        "{} has a private key, which belongs to the NRF alone: name a file with its public key \
         (`openssl pkey -in FILE -pubout`)",
        path.display()
    )]
    Private {
        /// The file.
        path: PathBuf,
    },
    /// The certificate or key is damaged.
    #[error("the {what} in {} cannot be read ({why}): export it from the NRF again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was to be read.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The key is of a kind that no token is signed with.
    #[error(
        "the key in {} is neither RSA nor P-256: tokens are signed with RS256 or ES256, so have \
         the NRF use a key of one of these kinds",
        path.display()
    )]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// The key is of a right kind and yet of no use.
    #[error(
        "the key in {} is of no use: an RSA key needs 2048 to 8192 bits, a P-256 key an \
         uncompressed point (`openssl pkey -pubin -in FILE -ec_conv_form uncompressed`)",
        path.display()
    )]
    Form {
        /// The file.
        path: PathBuf,
    },
    /// There are more keys than a token is tried with.
    #[error(
        "there are more than {keys_max} public keys: remove those that the NRF signs with no more"
    )]
    TooMany {
        /// How many are allowed.
        keys_max: usize,
    },
}
