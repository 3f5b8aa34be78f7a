//! TLS on the RESP ports: handshakes, and the transport.

mod handshaker;
mod stream;

pub(crate) use handshaker::Handshaker;
pub(crate) use stream::Tls;

/// Reports whether the input begins a TLS handshake, as when a client takes a plain port for one with TLS. No command
/// begins so.
pub(crate) fn is_client_hello(input: &[u8]) -> bool {
    // ContentType handshake, then the major version: RFC 8446 section 5.1.
    input.starts_with(&[0x16, 0x03])
}
