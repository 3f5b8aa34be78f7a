//! Kinds of addresses to which users are redirected.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The kind of an address, as Redirect-Address-Type of RFC 8506 section 8.38 has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectKind {
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address, without brackets.
    Ipv6,
    /// A URL: a scheme, `://` and a host.
    Url,
    /// A SIP URI: `sip:` or `sips:`.
    SipUri,
}

impl RedirectKind {
    /// Returns the kind of an address. None if it is of no kind.
    pub fn of(address: &str) -> Option<RedirectKind> {
        if address.parse::<Ipv4Addr>().is_ok() {
            return Some(RedirectKind::Ipv4);
        }
        if address.parse::<Ipv6Addr>().is_ok() {
            return Some(RedirectKind::Ipv6);
        }
        let (scheme, rest) = address.split_once(':')?;
        if scheme.eq_ignore_ascii_case("sip") || scheme.eq_ignore_ascii_case("sips") {
            return (!rest.is_empty()).then_some(RedirectKind::SipUri);
        }
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let host = rest.strip_prefix("//")?;
        let has_host = !host.is_empty() && !host.starts_with(['/', '?', '#', ':']);
        (is_scheme && has_host).then_some(RedirectKind::Url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_kind_that_its_text_shows() {
        for (address, kind) in [
            ("192.0.2.1", Some(RedirectKind::Ipv4)),
            ("2001:db8::1", Some(RedirectKind::Ipv6)),
            ("::ffff:192.0.2.1", Some(RedirectKind::Ipv6)),
            ("sip:topup@example.com", Some(RedirectKind::SipUri)),
            ("SIPS:topup@example.com", Some(RedirectKind::SipUri)),
            ("http://topup.example.com/?a=1", Some(RedirectKind::Url)),
            ("https://[2001:db8::1]:8443/", Some(RedirectKind::Url)),
            ("sip:", None),
            ("http://", None),
            ("http:///path", None),
            ("://host", None),
            ("1http://host", None),
            ("topup.example.com", None),
            ("topup.example.com:80", None),
            ("192.0.2.256", None),
            ("[2001:db8::1]", None),
            ("", None),
        ] {
            assert_eq!(RedirectKind::of(address), kind, "{address}");
        }
    }
}
