//! Conversion of addresses to C and back.

#[path = "../../src/address.rs"]
#[expect(dead_code, reason = "the crate uses the rest")]
mod rules;

use rules::{Address, read};
use std::mem;
use std::net::SocketAddr;

#[test]
fn an_address_comes_back() {
    for text in ["10.77.0.1:6390", "[fd77::1]:6390", "[fe80::1%3]:1"] {
        let address: SocketAddr = text.parse().unwrap();
        assert_eq!(read(&Address::new(address).0), Some(address), "{text}");
    }
    // SAFETY: all zeros is a valid storage without a family.
    assert_eq!(read(&unsafe { mem::zeroed() }), None);
}
