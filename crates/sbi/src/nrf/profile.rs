//! The profile of a charging function: NFProfile of TS 29.510, 6.1.6.2.2.

use super::range::IdentityRange;
use super::settings_error::NrfSettingsError;
use crate::client::Scheme;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Name of the service, which is also that of its one instance.
const SERVICE: &str = "nchf-convergedcharging";
/// Versions of TS 32.291 that are served: in the path, and of its OpenAPI document.
const VERSIONS: [(&str, &str); 2] = [("v3", "3.1.6"), ("v2", "2.0.6")];

/// A profile, as it is registered.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    pub(crate) nf_instance_id: String,
    nf_type: &'static str,
    nf_status: &'static str,
    pub(crate) heart_beat_timer: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) plmn_list: Vec<PlmnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fqdn: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ipv4_addresses: Vec<Ipv4Addr>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ipv6_addresses: Vec<Ipv6Addr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<u32>,
    #[serde(skip_serializing_if = "ChfInfo::is_empty")]
    chf_info: ChfInfo,
    /// The list of releases before 16.
    nf_services: Vec<Service>,
    /// The same services by their ids, for NRFs of release 16 and later.
    nf_service_list: BTreeMap<&'static str, Service>,
}

/// Where consumers reach the function.
#[derive(Clone, Debug)]
pub(crate) struct Reachable {
    pub(crate) scheme: Scheme,
    pub(crate) host: Option<String>,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) port: u16,
    pub(crate) api_prefix: Option<String>,
}

/// PlmnId of TS 29.571.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct PlmnId {
    mcc: String,
    mnc: String,
}

/// ChfInfo: 6.1.6.2.32.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct ChfInfo {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    supi_range_list: Vec<IdentityRange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gpsi_range_list: Vec<IdentityRange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plmn_range_list: Vec<IdentityRange>,
}

/// NFService: 6.1.6.2.3.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Service {
    service_instance_id: &'static str,
    service_name: &'static str,
    versions: Vec<ServiceVersion>,
    scheme: Scheme,
    nf_service_status: &'static str,
    ip_end_points: Vec<IpEndPoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<u32>,
}

/// NFServiceVersion: 6.1.6.2.4.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct ServiceVersion {
    api_version_in_uri: &'static str,
    api_full_version: &'static str,
}

/// IpEndPoint: 6.1.6.2.5. Without an address it says the port of the host.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct IpEndPoint {
    #[serde(skip_serializing_if = "Option::is_none")]
    ipv4_address: Option<Ipv4Addr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ipv6_address: Option<Ipv6Addr>,
    transport: &'static str,
    port: u16,
}

impl Profile {
    pub(crate) fn new(instance_id: String, reachable: Reachable, heartbeat_s: u32) -> Profile {
        let addresses = reachable.addresses.iter();
        let (ipv4, ipv6) = (addresses.clone().filter_map(v4), addresses.filter_map(v6));
        let (ipv4_addresses, ipv6_addresses) = (ipv4.collect(), ipv6.collect());
        let service = Service::new(&reachable);
        Profile {
            nf_instance_id: instance_id,
            nf_type: "CHF",
            nf_status: "REGISTERED",
            heart_beat_timer: heartbeat_s,
            plmn_list: Vec::new(),
            fqdn: reachable.host,
            ipv4_addresses,
            ipv6_addresses,
            priority: None,
            capacity: None,
            chf_info: ChfInfo::default(),
            nf_services: vec![service.clone()],
            nf_service_list: BTreeMap::from([(SERVICE, service)]),
        }
    }

    /// Sets both numbers of the function and of its service.
    pub(crate) fn set_priority(&mut self, priority: Option<u32>, capacity: Option<u32>) {
        (self.priority, self.capacity) = (priority, capacity);
        for service in self.nf_services.iter_mut().chain(self.nf_service_list.values_mut()) {
            (service.priority, service.capacity) = (priority, capacity);
        }
    }

    pub(crate) fn set_ranges(
        &mut self,
        supi: Vec<IdentityRange>,
        gpsi: Vec<IdentityRange>,
        plmn: Vec<IdentityRange>,
    ) {
        self.chf_info =
            ChfInfo { supi_range_list: supi, gpsi_range_list: gpsi, plmn_range_list: plmn };
    }
}

impl Service {
    fn new(reachable: &Reachable) -> Service {
        let end_point = |ipv4_address, ipv6_address| IpEndPoint {
            ipv4_address,
            ipv6_address,
            transport: "TCP",
            port: reachable.port,
        };
        let addresses = reachable.addresses.iter();
        let mut ip_end_points: Vec<_> =
            addresses.map(|address| end_point(v4(address), v6(address))).collect();
        if ip_end_points.is_empty() {
            ip_end_points.push(end_point(None, None));
        }
        let version = |(api_version_in_uri, api_full_version)| ServiceVersion {
            api_version_in_uri,
            api_full_version,
        };
        Service {
            service_instance_id: SERVICE,
            service_name: SERVICE,
            versions: VERSIONS.map(version).to_vec(),
            scheme: reachable.scheme,
            nf_service_status: "REGISTERED",
            ip_end_points,
            api_prefix: reachable.api_prefix.clone(),
            priority: None,
            capacity: None,
        }
    }
}

impl ChfInfo {
    fn is_empty(&self) -> bool {
        *self == ChfInfo::default()
    }
}

impl PlmnId {
    /// Parses MCC and MNC, 5 or 6 digits.
    pub(crate) fn parse(text: &str) -> Result<PlmnId, NrfSettingsError> {
        let is_plmn = matches!(text.len(), 5 | 6) && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_plmn {
            return Err(NrfSettingsError::Plmn(text.to_owned()));
        }
        let (mcc, mnc) = text.split_at(3);
        Ok(PlmnId { mcc: mcc.to_owned(), mnc: mnc.to_owned() })
    }
}

fn v4(address: &IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(*address),
        IpAddr::V6(_) => None,
    }
}

fn v6(address: &IpAddr) -> Option<Ipv6Addr> {
    match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(*address),
    }
}
