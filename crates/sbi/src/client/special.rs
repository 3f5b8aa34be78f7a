//! Addresses that a service of another machine never has, or that tell secrets of the machine itself.

use super::network::Network;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix_len: u8) -> Network {
    Network::new(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix_len)
}

const fn v6(segments: [u16; 8], prefix_len: u8) -> Network {
    let [a, b, c, d, e, f, g, h] = segments;
    Network::new(IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), prefix_len)
}

const METADATA: &str = "an address where clouds answer with the secrets of this machine";
const LINK_LOCAL: &str = "an address of the link";
const LOOPBACK: &str = "an address of this machine";
const MULTICAST: &str = "an address of many machines";

/// Networks that are not called unless a setting names them by address (RFC 6890), each with what it is. Metadata
/// services stand before the networks that contain them.
const SPECIAL: [(Network, &str); 15] = [
    (v4(169, 254, 169, 254, 32), METADATA),
    (v4(100, 100, 100, 200, 32), METADATA),
    (v4(168, 63, 129, 16, 32), METADATA),
    (v4(192, 0, 0, 192, 32), METADATA),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), METADATA),
    (v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128), METADATA),
    (v4(127, 0, 0, 0, 8), LOOPBACK),
    (v4(0, 0, 0, 0, 8), LOOPBACK),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), LOOPBACK),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), LOOPBACK),
    (v4(169, 254, 0, 0, 16), LINK_LOCAL),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), LINK_LOCAL),
    (v4(224, 0, 0, 0, 4), MULTICAST),
    (v4(255, 255, 255, 255, 32), MULTICAST),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), MULTICAST),
];

/// Returns the special networks that contain the address, with what each is.
pub(crate) fn special_networks(address: IpAddr) -> impl Iterator<Item = (Network, &'static str)> {
    SPECIAL.into_iter().filter(move |(network, _)| network.contains(address))
}

/// Returns the address that packets go to: IPv4 inside IPv6 (RFC 4291, 2.5.5; RFC 6052, 2.1; RFC 3056, 2) is IPv4.
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address.to_canonical() else { return address.to_canonical() };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => IpAddr::V6(v6),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..]
        | [0, 0, 0, 0, 0, 0, high, low] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        _ => IpAddr::V6(v6),
    }
}
