//! Under which names a door is asked, and by whose pages. A browser asks any address that a web page
//! names: one of this machine too, under a name of the page's own that leads here (DNS rebinding), or
//! across sites. What such a request cannot choose is its Host and its Origin.

use crate::front::Front;
use crate::start_error::StartError;
use axum::http::uri::{Authority, Scheme, Uri};
use axum::http::{HeaderMap, HeaderValue, header};
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Names that the settings can add.
const NAMES_MAX: usize = 64;
/// Of a name that is refused, as much is shown, characters.
const SHOWN_MAX: usize = 80;

/// The names that a door answers to.
pub(crate) struct Hosts {
    named: Vec<String>,
    /// Other names than these are refused where nobody says who he is.
    is_closed: bool,
    /// The option that adds names.
    option: &'static str,
}

/// Why a request is not answered, with what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// A request that was meant for another server.
    Host(String),
    /// A request that was sent by a page of somebody else.
    Page(String),
}

impl Hosts {
    /// Names are looked at on loopback, where only they tell a page from a client, and wherever some are
    /// given. With TLS the certificate does that: no browser takes it for a page's own name.
    pub(crate) fn new(front: &Front) -> Result<Hosts, StartError> {
        let named: Option<Vec<String>> = front.hosts.iter().map(|host| name(host)).collect();
        let named = named.filter(|named| named.len() <= NAMES_MAX);
        let refused = || StartError::Hosts(front.hosts_option, NAMES_MAX);
        let named = named.ok_or_else(refused)?;
        let is_looked_at = front.listen.ip().is_loopback() || !named.is_empty();
        let is_closed = is_looked_at && front.tls.is_none();
        Ok(Hosts { named, is_closed, option: front.hosts_option })
    }

    /// Servers that a request from somebody unknown says it is for: the target's own authority (RFC 9112
    /// clause 3.2.2) and every Host. Nobody's page leaves both away.
    pub(crate) fn check_names(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Foreign> {
        if !self.is_closed {
            return Ok(());
        }
        if let Some(authority) = target.authority().filter(|authority| !self.is_ours(authority)) {
            return Err(Foreign::Host(shown(authority.as_str())));
        }
        for value in headers.get_all(header::HOST) {
            if !authority(value).is_some_and(|authority| self.is_ours(&authority)) {
                return Err(Foreign::Host(shown(&String::from_utf8_lossy(value.as_bytes()))));
            }
        }
        Ok(())
    }

    /// The page that a browser says it asks for (RFC 6454 clause 7): one of this door's own, or of a host
    /// that the settings name. `null` is a page that hides where it is from.
    pub(crate) fn check_page(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Foreign> {
        for value in headers.get_all(header::ORIGIN) {
            if !Origin::read(value).is_some_and(|origin| self.lets(&origin, target, headers)) {
                return Err(Foreign::Page(shown(&String::from_utf8_lossy(value.as_bytes()))));
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

    /// An address is ours: a page that was loaded from it came from there. `localhost` and what is under it
    /// belong to nobody (RFC 6761 clause 6.3).
    fn is_ours(&self, authority: &Authority) -> bool {
        let host = authority.host();
        let is_of_us = |name: String| {
            name == "localhost" || name.ends_with(".localhost") || self.named.contains(&name)
        };
        is_plain(authority) && (address(host).is_some() || name(host).is_some_and(is_of_us))
    }

    /// For people.
    pub(crate) fn advice(&self, foreign: &Foreign) -> String {
        let option = self.option;
        match foreign {
            Foreign::Host(host) => format!(
                "this door does not answer to the name `{host}`, which a web page could have made up: \
                 ask it by its address or as localhost, or start it with {option} and the name"
            ),
            Foreign::Page(origin) => format!(
                "a page of `{origin}` asks, and this door answers to pages of its own alone: start it \
                 with {option} and the name of the page's host, if that is yours"
            ),
        }
    }
}

/// Owner of a page: scheme, host and port.
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

    /// The page was loaded from there. Behind a proxy that speaks TLS its scheme is not ours.
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

/// A host and maybe a port, and no user before them.
fn plain(text: &str) -> Option<Authority> {
    Authority::from_str(text).ok().filter(is_plain)
}

/// The kept parser lets more pass than a browser does.
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

fn address(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok().filter(IpAddr::is_ipv4),
    }
}

/// The name of a host in small letters, without the dot of the root.
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
