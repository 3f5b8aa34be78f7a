//! TLS on the RESP ports: files that say who the server is, and the transport that speaks it. Files of nodes of
//! a group are read here too.

mod certificates;
mod handshaker;
pub(crate) mod pem;
mod stream;
pub(crate) mod validity;

pub use certificates::Certificates;
pub(crate) use handshaker::Handshaker;
pub(crate) use stream::Tls;

/// True for the beginning of a TLS handshake: what a client sends that takes a plain port for
/// one with TLS. No command begins so.
pub(crate) fn is_client_hello(input: &[u8]) -> bool {
    // ContentType handshake, then the major version: RFC 8446 section 5.1.
    input.starts_with(&[0x16, 0x03])
}
