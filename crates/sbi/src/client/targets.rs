//! Which addresses may be called. URIs of notifications are written by clients, and no client may reach through this
//! server what it could not reach itself.

use super::network::Network;
use super::special::{canonical, special_networks};
use super::uri::{Host, Origin, name};
use std::net::IpAddr;

/// Most entries of a setting.
pub const TARGETS_MAX: usize = 256;

/// Addresses that may be called.
#[derive(Clone, Debug)]
pub struct AllowedTargets(Rule);

#[derive(Clone, Debug)]
enum Rule {
    /// The operator has written the URIs.
    Any,
    /// Other machines have.
    Listed { setting: &'static str, entries: Vec<Entry> },
}

/// One entry of the setting.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    scope: Scope,
    /// None allows all ports.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Scope {
    Name(String),
    /// All names that end with a dot and this.
    Subdomains(String),
    Network(Network),
}

impl AllowedTargets {
    /// Allows all addresses, for URIs that the operator has written.
    pub fn any() -> AllowedTargets {
        AllowedTargets(Rule::Any)
    }

    /// Parses the entries of a setting with this name: `host`, `*.domain`, an IP address or a network such as
    /// `10.0.0.0/8`, each with `:port` or without. IPv6 with a port stands in brackets: `[fd00::/8]:8080`. Without
    /// entries nothing may be called.
    ///
    /// # Errors
    /// The first entry that is wrong, in words.
    pub fn parse(
        setting: &'static str,
        entries: &[impl AsRef<str>],
    ) -> Result<AllowedTargets, TargetsError> {
        if entries.len() > TARGETS_MAX {
            return Err(TargetsError::TooMany(setting));
        }
        let parsed = |entry: &str| {
            Entry::parse(entry).ok_or_else(|| TargetsError::Entry(setting, entry.to_owned()))
        };
        let entries: Result<_, _> = entries.iter().map(|entry| parsed(entry.as_ref())).collect();
        Ok(AllowedTargets(Rule::Listed { setting, entries: entries? }))
    }

    /// Checks a host before its name is resolved: a name that no entry can allow is not asked for.
    ///
    /// # Errors
    /// Why it is not called.
    pub(crate) fn check_host(&self, origin: &Origin) -> Result<(), TargetRefusal> {
        let Rule::Listed { setting, entries } = &self.0 else { return Ok(()) };
        let Host::Name(host) = &origin.host else { return Ok(()) };
        if entries.is_empty() {
            return Err(TargetRefusal::Nothing { setting, target: origin.to_string() });
        }
        let may_allow = |entry: &Entry| {
            let is_network = matches!(entry.scope, Scope::Network(_));
            entry.has_port(origin.port) && (is_network || entry.names(host))
        };
        if entries.iter().any(may_allow) {
            return Ok(());
        }
        Err(TargetRefusal::NotListed { setting, target: origin.to_string() })
    }

    /// Checks an address that a host has.
    ///
    /// # Errors
    /// Why it is not called.
    pub(crate) fn check_address(
        &self,
        origin: &Origin,
        address: IpAddr,
    ) -> Result<(), TargetRefusal> {
        let Rule::Listed { setting, entries } = &self.0 else { return Ok(()) };
        let (setting, target) = (*setting, origin.to_string());
        if entries.is_empty() {
            return Err(TargetRefusal::Nothing { setting, target });
        }
        let address = canonical(address);
        let mut entries = entries.iter().filter(|entry| entry.has_port(origin.port));
        let networks = entries.clone().filter_map(Entry::network);
        for (special, what) in special_networks(address) {
            let is_named =
                |network: Network| network.is_within(special) && network.contains(address);
            if !networks.clone().any(is_named) {
                return Err(TargetRefusal::Special { setting, target, address, what });
            }
        }
        let allows = |entry: &Entry| match (&entry.scope, &origin.host) {
            (Scope::Network(network), _) => network.contains(address),
            (_, Host::Name(host)) => entry.names(host),
            (_, Host::Address(_)) => false,
        };
        if entries.any(allows) {
            return Ok(());
        }
        match origin.host {
            Host::Name(_) => Err(TargetRefusal::Address { setting, target, address }),
            Host::Address(_) => Err(TargetRefusal::NotListed { setting, target }),
        }
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Entry> {
        let (scope, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (scope, rest) = rest.split_once(']')?;
                if !scope.contains(':') {
                    return None;
                }
                (scope, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
            }
            None => match text.split_once(':') {
                // With a second colon it is an address of IPv6.
                Some((scope, port)) if !port.contains(':') => (scope, Some(port)),
                _ => (text, None),
            },
        };
        let port = match port {
            None => None,
            Some(port) => Some(port.parse().ok().filter(|&port: &u16| port != 0)?),
        };
        Some(Entry { scope: Scope::parse(scope)?, port })
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }

    /// Reports whether it allows this name of a host.
    fn names(&self, host: &str) -> bool {
        match &self.scope {
            Scope::Name(name) => name == host,
            Scope::Subdomains(domain) => {
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
            Scope::Network(_) => false,
        }
    }

    fn network(&self) -> Option<Network> {
        match self.scope {
            Scope::Network(network) => Some(network),
            Scope::Name(_) | Scope::Subdomains(_) => None,
        }
    }
}

impl Scope {
    fn parse(text: &str) -> Option<Scope> {
        if text.contains('/') {
            return Network::parse(text).map(Scope::Network);
        }
        if let Ok(address) = text.parse() {
            return Some(Scope::Network(Network::of_one(canonical(address))));
        }
        match text.strip_prefix("*.") {
            Some(domain) => name(domain).map(Scope::Subdomains),
            None => name(text).map(Scope::Name),
        }
    }
}

/// A setting of allowed targets that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetsError {
    /// There are too many entries.
    #[error("{0} has more than {TARGETS_MAX} entries: write networks in place of addresses")]
    TooMany(&'static str),
    /// An entry is none.
    #[error(
        "{0} has {1:?}: an entry is a host, *.domain, an address, or a network with zeros after its prefix \
         (10.0.0.0/8), each with :port or without. IPv6 with a port is [address]:port"
    )]
    Entry(&'static str, String),
}

/// A target that may not be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetRefusal {
    /// The setting is empty.
    #[error(
        "{target} is not called, because no address may be: list what may be called, \
         such as {setting} = [\"10.0.0.0/8\", \"*.5gc.example:8080\"]"
    )]
    Nothing {
        /// Name of the setting.
        setting: &'static str,
        /// Host and port.
        target: String,
    },
    /// No entry allows the host.
    #[error("{target} may not be called: add \"{target}\", or a network, to {setting}")]
    NotListed {
        /// Name of the setting.
        setting: &'static str,
        /// Host and port.
        target: String,
    },
    /// No entry allows the address of the host.
    #[error(
        "{target} has the address {address}, which may not be called: add one of both to {setting}"
    )]
    Address {
        /// Name of the setting.
        setting: &'static str,
        /// Host and port.
        target: String,
        /// Its address.
        address: IpAddr,
    },
    /// The address is called only if an entry is this address, or a network of such addresses alone.
    #[error(
        "{target} is {address}, {what}: it is called only if \"{address}\" itself is in {setting}"
    )]
    Special {
        /// Name of the setting.
        setting: &'static str,
        /// Host and port.
        target: String,
        /// Its address.
        address: IpAddr,
        /// What the address is.
        what: &'static str,
    },
}

#[cfg(test)]
mod tests;
