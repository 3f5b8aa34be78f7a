//! The crate as a door uses it. Keys of P-256 are made by the tests. Neither ring nor rcgen makes keys of RSA, so those
//! are files, made with openssl for these tests.

mod any_bytes;
mod claims;
mod headers;
mod keys;
mod rfc7515;
mod settings;
mod signers;
mod timestamps;
mod tokens;
