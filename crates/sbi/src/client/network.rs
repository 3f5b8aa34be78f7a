//! Networks of IP addresses.

use std::fmt;
use std::net::IpAddr;

/// Addresses that have a prefix in common (RFC 4632). A single address has a prefix of all its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    prefix_len: u8,
}

impl Network {
    pub(crate) const fn new(address: IpAddr, prefix_len: u8) -> Network {
        Network { address, prefix_len }
    }

    /// Returns the network of this address alone.
    pub(crate) fn of_one(address: IpAddr) -> Network {
        Network { address, prefix_len: bits_len(address) }
    }

    /// Parses `address/prefix`; None for another text, also if bits after the prefix are set.
    pub(crate) fn parse(text: &str) -> Option<Network> {
        let (address, prefix_len) = text.split_once('/')?;
        let network =
            Network { address: address.parse().ok()?, prefix_len: prefix_len.parse().ok()? };
        let is_valid = network.prefix_len <= bits_len(network.address)
            && bits(network.address) & !network.mask() == 0;
        is_valid.then_some(network)
    }

    /// Reports whether the address is one of the network's.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && (bits(self.address) ^ bits(address)) & self.mask() == 0
    }

    /// Reports whether all addresses of this network are addresses of the other.
    pub(crate) fn is_within(self, other: Network) -> bool {
        other.contains(self.address) && self.prefix_len >= other.prefix_len
    }

    /// Returns the bits of the prefix, above zeros.
    fn mask(self) -> u128 {
        let rest_len = u32::from(bits_len(self.address) - self.prefix_len);
        u128::MAX.checked_shl(rest_len).unwrap_or(0)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_len)
    }
}

fn bits_len(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_contains_what_has_its_prefix() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
            ("192.168.4.0/22", "192.168.7.255", "192.168.8.0"),
            ("10.1.2.3/32", "10.1.2.3", "10.1.2.2"),
            ("0.0.0.0/0", "255.1.2.3", "::1"),
            ("::/0", "fd00::1", "10.0.0.1"),
            ("fd00:1::/32", "fd00:1:ffff::1", "fd00:2::"),
            ("fd00::1/128", "fd00::1", "fd00::"),
        ] {
            let parsed = Network::parse(network).expect("a network");
            assert_eq!(parsed.to_string(), network);
            assert!(parsed.contains(address(inside)), "{network} {inside}");
            assert!(!parsed.contains(address(outside)), "{network} {outside}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "10.0.0.0",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "fd00::/129",
            "fd00::1/64",
            "a/8",
            "10.0.0.0/-1",
            "/",
        ] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }

    #[test]
    fn one_network_is_within_another() {
        let network = |text| Network::parse(text).expect("a network");
        assert!(network("127.0.0.0/8").is_within(network("127.0.0.0/8")));
        assert!(Network::of_one(address("127.0.0.1")).is_within(network("127.0.0.0/8")));
        assert!(!network("0.0.0.0/0").is_within(network("127.0.0.0/8")));
        assert!(!network("126.0.0.0/7").is_within(network("127.0.0.0/8")));
    }
}
