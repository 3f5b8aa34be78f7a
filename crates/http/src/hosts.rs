//! Checks of Host and Origin: under which names clients may reach a door, and which web pages may send requests to it.
//! A browser sends requests to any address that a web page names: to one on this machine too, under a name of the
//! page's own that resolves to it (DNS rebinding), or across sites. The page cannot choose the Host and the Origin of
//! such a request.

use crate::front::DoorSettings;
use crate::start_error::StartError;
use axum::http::uri::{Authority, Scheme, Uri};
use axum::http::{HeaderMap, HeaderValue, header};
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Maximum number of names in the settings.
const NAMES_MAX: usize = 64;
/// Maximum length of a refused name in a message, characters.
const SHOWN_MAX: usize = 80;

/// The host names that a door answers to.
pub(crate) struct Hosts {
    named: Vec<String>,
    /// Requests without credentials are refused under other names.
    is_closed: bool,
    /// Name of the option that adds names, for messages.
    option: &'static str,
}

/// Why a request is refused. [`Hosts::advice`] says what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ForeignOrigin {
    /// A request for another host, by this name.
    Host(String),
    /// A request from a web page of this foreign origin.
    Page(String),
}

impl Hosts {
    /// Reads the names of the settings. Names are checked on loopback, where only they distinguish a page from a
    /// client, and wherever the settings name some. With TLS the certificate does that: no browser accepts it for
    /// another page's name.
    pub(crate) fn new(front: &DoorSettings) -> Result<Hosts, StartError> {
        let named: Option<Vec<String>> = front.hosts.iter().map(|host| name(host)).collect();
        let named = named.filter(|named| named.len() <= NAMES_MAX);
        let refused = || StartError::Hosts(front.hosts_option, NAMES_MAX);
        let named = named.ok_or_else(refused)?;
        let is_looked_at = front.listen.ip().is_loopback() || !named.is_empty();
        let is_closed = is_looked_at && front.tls.is_none();
        Ok(Hosts { named, is_closed, option: front.hosts_option })
    }

    /// Checks the hosts that a request without credentials is for: the authority of its target (RFC 9112 clause 3.2.2)
    /// and every Host. No web page can send a request without either.
    pub(crate) fn check_names(
        &self,
        target: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), ForeignOrigin> {
        if !self.is_closed {
            return Ok(());
        }
        if let Some(authority) = target.authority().filter(|authority| !self.is_ours(authority)) {
            return Err(ForeignOrigin::Host(shown(authority.as_str())));
        }
        for value in headers.get_all(header::HOST) {
            if !authority(value).is_some_and(|authority| self.is_ours(&authority)) {
                return Err(ForeignOrigin::Host(shown(&String::from_utf8_lossy(value.as_bytes()))));
            }
        }
        Ok(())
    }

    /// Checks the origin of a browser's request (RFC 6454 clause 7): it must be this door's own, or of a host that the
    /// settings name. A page with the origin `null` hides its own, and is refused.
    pub(crate) fn check_page(
        &self,
        target: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), ForeignOrigin> {
        for value in headers.get_all(header::ORIGIN) {
            if !Origin::read(value).is_some_and(|origin| self.lets(&origin, target, headers)) {
                return Err(ForeignOrigin::Page(shown(&String::from_utf8_lossy(value.as_bytes()))));
            }
        }
        Ok(())
    }

    fn lets(&self, origin: &Origin, target: &Uri, headers: &HeaderMap) -> bool {
        let is_named = name(origin.authority.host()).is_some_and(|host| self.named.contains(&host));
        let own = || {
            let of_header = || headers.get(header::HOST).and_then(authority);
            target.authority().cloned().or_else(of_header)
        };
        is_named || own().is_some_and(|own| origin.is_of(&own))
    }

    /// Reports whether a name is ours. Any IP address is: a page at an address was loaded from that address. No one can
    /// own `localhost` and the names below it (RFC 6761 clause 6.3).
    fn is_ours(&self, authority: &Authority) -> bool {
        let host = authority.host();
        let is_of_us = |name: String| {
            name == "localhost" || name.ends_with(".localhost") || self.named.contains(&name)
        };
        is_plain(authority) && (address(host).is_some() || name(host).is_some_and(is_of_us))
    }

    /// Returns a message for people: why the request is refused, and how to change that.
    pub(crate) fn advice(&self, foreign: &ForeignOrigin) -> String {
        let option = self.option;
        match foreign {
            ForeignOrigin::Host(host) => format!(
                "this door does not answer to the name `{host}`, which a web page could have made up: \
                 ask it by its address or as localhost, or start it with {option} and the name"
            ),
            ForeignOrigin::Page(origin) => format!(
                "a page of `{origin}` asks, and this door answers to pages of its own alone: start it \
                 with {option} and the name of the page's host, if that is yours"
            ),
        }
    }
}

/// Origin of a web page: scheme, host and port.
struct Origin {
    scheme: Scheme,
    authority: Authority,
}

impl Origin {
    fn read(value: &HeaderValue) -> Option<Origin> {
        let (scheme, rest) = value.to_str().ok()?.split_once("://")?;
        let scheme = Scheme::from_str(scheme).ok()?;
        Some(Origin { scheme, authority: plain(rest)? })
    }

    /// Reports whether the page was loaded from this authority. The scheme is not compared: a proxy in front may speak
    /// TLS.
    fn is_of(&self, own: &Authority) -> bool {
        let usual = if self.scheme == Scheme::HTTPS { 443 } else { 80 };
        let port = |authority: &Authority| authority.port_u16().unwrap_or(usual);
        let (host, own_host) = (self.authority.host(), own.host());
        host.eq_ignore_ascii_case(own_host) && port(&self.authority) == port(own)
    }
}

fn authority(value: &HeaderValue) -> Option<Authority> {
    plain(value.to_str().ok()?)
}

/// Parses a host with an optional port, and without a user.
fn plain(text: &str) -> Option<Authority> {
    Authority::from_str(text).ok().filter(is_plain)
}

/// Reports whether an authority is no more than a host and an optional port. The parser of the library accepts more
/// than a browser does.
fn is_plain(authority: &Authority) -> bool {
    let (text, host) = (authority.as_str(), authority.host());
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && authority.port_u16().is_some()
    };
    let rest = text.strip_prefix(host);
    let has_end =
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
    has_end && (address(host).is_some() || name(host).is_some())
}

/// Parses an IPv4 address, or an IPv6 address in brackets.
fn address(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok().filter(IpAddr::is_ipv4),
    }
}

/// Returns a valid host name in lower case, without the final dot. None when it is not valid.
fn name(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.len() <= 63 && label.bytes().all(is_known)
    };
    (host.len() <= 253 && host.split('.').all(is_label)).then_some(host)
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}

#[cfg(test)]
mod tests;
