//! The section `[nchf.nrf]` of a settings file.

use super::profile::{PlmnId, Profile, Reachable};
use super::range::IdentityRange;
use super::settings_error::NrfSettingsError;
use crate::client::{
    AllowedTargets, Client, ClientSettings, ClientTlsError, ClientTlsFiles, Scheme, Target, name,
};
use std::net::IpAddr;
use std::path::PathBuf;

/// Most items of each list.
const ITEMS_MAX: usize = 64;
/// Most NRFs.
const NRFS_MAX: usize = 8;
/// Longest api_prefix, bytes.
const API_PREFIX_LEN_MAX: usize = 256;
/// Heartbeat that the NRF is asked for, s.
const HEARTBEAT_S_DEFAULT: u32 = 60;
pub(crate) const HEARTBEAT_S_MAX: u32 = 86_400;
const PRIORITY_MAX: u32 = 65_535;
const UUID_LEN: usize = 36;

/// `[nchf.nrf]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table of settings, [nchf.nrf]")]
pub struct NrfSection {
    /// apiRoot of each NRF, in the order of preference.
    pub uri: Vec<String>,
    /// nfInstanceId, a UUID.
    pub instance_id: Option<String>,
    /// Name by which consumers reach this server.
    pub host: Option<String>,
    /// Addresses by which consumers reach this server.
    pub addresses: Vec<IpAddr>,
    /// Port that consumers send requests to.
    pub port: Option<u16>,
    /// http, the default, or https.
    pub scheme: Option<Scheme>,
    /// apiPrefix: a path, or for consumers such as free5GC's SMF the whole apiRoot.
    pub api_prefix: Option<String>,
    /// SUPIs that are served; all by default.
    pub supi_ranges: Vec<IdentityRange>,
    /// GPSIs that are served.
    pub gpsi_ranges: Vec<IdentityRange>,
    /// Networks whose subscribers are served, each MCC and MNC.
    pub plmn_ranges: Vec<IdentityRange>,
    /// Networks of this function, each MCC and MNC.
    pub plmns: Vec<String>,
    /// The lower, the sooner consumers take this function: 0 to 65,535.
    pub priority: Option<u32>,
    /// Share of requests among functions with the same priority: 0 to 65,535.
    pub capacity: Option<u32>,
    /// Heartbeat that the NRF is asked for, s; it may answer with another one.
    pub heartbeat_s: Option<u32>,
    /// Roots of the NRF's certificate; the system's by default.
    pub tls_ca: Option<PathBuf>,
    /// Certificate that the NRF is shown.
    pub tls_cert: Option<PathBuf>,
    /// Its key.
    pub tls_key: Option<PathBuf>,
}

/// Settings of a registration, which are checked.
#[derive(Clone, Debug)]
pub struct NrfSettings {
    /// apiRoot of each NRF without `/` at its end.
    pub(crate) uris: Vec<String>,
    pub(crate) profile: Profile,
    tls: ClientTlsFiles,
}

impl NrfSettings {
    /// Returns a client for calls to the NRFs, which the operator has written.
    ///
    /// # Errors
    /// For files of TLS that cannot be used.
    pub fn client(&self) -> Result<Client, ClientTlsError> {
        let settings = ClientSettings::new(AllowedTargets::any());
        Client::new(&ClientSettings { tls: self.tls.clone(), ..settings })
    }
}

impl NrfSection {
    /// Returns the settings, which are checked. `port` is the one that the server listens on; the section's goes first.
    ///
    /// # Errors
    /// The first setting that is wrong, in words.
    pub fn into_settings(self, port: Option<u16>) -> Result<NrfSettings, NrfSettingsError> {
        if self.uri.is_empty() {
            return Err(NrfSettingsError::NoUri);
        }
        self.check_lists()?;
        let uris: Result<Vec<_>, _> = self.uri.iter().map(|uri| api_root(uri)).collect();
        let instance_id = self.instance_id.as_deref().ok_or(NrfSettingsError::NoInstanceId)?;
        let plmns: Result<Vec<_>, _> = self.plmns.iter().map(|plmn| PlmnId::parse(plmn)).collect();
        let heartbeat_s = number("heartbeat_s", self.heartbeat_s, 1, HEARTBEAT_S_MAX)?;
        let mut profile = Profile::new(
            uuid(instance_id)?,
            self.reachable(port)?,
            heartbeat_s.unwrap_or(HEARTBEAT_S_DEFAULT),
        );
        profile.set_priority(
            number("priority", self.priority, 0, PRIORITY_MAX)?,
            number("capacity", self.capacity, 0, PRIORITY_MAX)?,
        );
        profile.set_ranges(self.supi_ranges, self.gpsi_ranges, self.plmn_ranges);
        profile.plmn_list = plmns?;
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err(NrfSettingsError::TlsPair);
        }
        let tls = ClientTlsFiles { ca: self.tls_ca, certificate: self.tls_cert, key: self.tls_key };
        Ok(NrfSettings { uris: uris?, profile, tls })
    }

    fn check_lists(&self) -> Result<(), NrfSettingsError> {
        for (name, len, len_max) in [
            ("uri", self.uri.len(), NRFS_MAX),
            ("addresses", self.addresses.len(), ITEMS_MAX),
            ("supi_ranges", self.supi_ranges.len(), ITEMS_MAX),
            ("gpsi_ranges", self.gpsi_ranges.len(), ITEMS_MAX),
            ("plmn_ranges", self.plmn_ranges.len(), ITEMS_MAX),
            ("plmns", self.plmns.len(), ITEMS_MAX),
        ] {
            if len > len_max {
                return Err(NrfSettingsError::TooMany(name, len_max));
            }
        }
        for (name, ranges, digits) in [
            ("supi_ranges", &self.supi_ranges, 1..=15),
            ("gpsi_ranges", &self.gpsi_ranges, 1..=15),
            ("plmn_ranges", &self.plmn_ranges, 5..=6),
        ] {
            ranges.iter().try_for_each(|range| range.check(name, digits.clone()))?;
        }
        Ok(())
    }

    /// Returns where consumers reach this server.
    fn reachable(&self, port: Option<u16>) -> Result<Reachable, NrfSettingsError> {
        if self.host.is_none() && self.addresses.is_empty() {
            return Err(NrfSettingsError::NoHost);
        }
        if let Some(host) = self.host.as_deref().filter(|host| !is_host(host)) {
            return Err(NrfSettingsError::Host(host.to_owned()));
        }
        let is_nowhere = |address: &&IpAddr| address.is_unspecified() || address.is_multicast();
        if let Some(address) = self.addresses.iter().find(is_nowhere) {
            return Err(NrfSettingsError::Address(*address));
        }
        if let Some(prefix) = self.api_prefix.as_deref().filter(|prefix| !is_api_prefix(prefix)) {
            return Err(NrfSettingsError::ApiPrefix(prefix.to_owned()));
        }
        let port = self.port.or(port).filter(|&port| port != 0).ok_or(NrfSettingsError::NoPort)?;
        Ok(Reachable {
            scheme: self.scheme.unwrap_or(Scheme::Http),
            host: self.host.clone(),
            addresses: self.addresses.clone(),
            port,
            api_prefix: self.api_prefix.clone(),
        })
    }
}

/// Returns the URI that paths of services are appended to.
fn api_root(uri: &str) -> Result<String, NrfSettingsError> {
    let wrong = |why: &str| NrfSettingsError::Uri(uri.to_owned(), why.to_owned());
    let root = uri.trim_end_matches('/');
    if root.contains(['?', '#']) {
        return Err(wrong("it has a query or a fragment"));
    }
    if root.contains("/nnrf-") {
        return Err(wrong("it has the path of a service, which is appended to it"));
    }
    // The bound of a URI is that of the longest one that is called.
    let longest = instance_uri(root, &"0".repeat(UUID_LEN));
    Target::parse(&longest).map_err(|error| wrong(&error.to_string()))?;
    Ok(root.to_owned())
}

/// Returns the URI of a profile: TS 29.510, 6.1.3.3.2.
pub(crate) fn instance_uri(root: &str, instance_id: &str) -> String {
    format!("{root}/nnrf-nfm/v1/nf-instances/{instance_id}")
}

/// Returns a UUID in lower case: RFC 9562, 4.
fn uuid(text: &str) -> Result<String, NrfSettingsError> {
    let lens = text.split('-').map(str::len);
    let is_uuid = lens.eq([8, 4, 4, 4, 12])
        && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    if is_uuid {
        return Ok(text.to_ascii_lowercase());
    }
    Err(NrfSettingsError::InstanceId(text.to_owned()))
}

fn is_host(text: &str) -> bool {
    name(text).is_some() && text.parse::<IpAddr>().is_err()
}

fn is_api_prefix(text: &str) -> bool {
    let is_path = text.starts_with('/') && text.parse::<http::uri::PathAndQuery>().is_ok();
    let is_uri = Target::parse(text).is_ok();
    text.len() <= API_PREFIX_LEN_MAX
        && !text.contains(['?', '#'])
        && !text.ends_with('/')
        && (is_path || is_uri)
}

fn number(
    name: &'static str,
    value: Option<u32>,
    min: u32,
    max: u32,
) -> Result<Option<u32>, NrfSettingsError> {
    match value {
        Some(value) if !(min..=max).contains(&value) => {
            Err(NrfSettingsError::Bound(name, min, max))
        }
        value => Ok(value),
    }
}
