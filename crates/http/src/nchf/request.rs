//! ChargingDataRequest (TS 32.291 clause 6.1.6.2.1.1), as far as the ledger takes part in it. What
//! else a consumer says is for charging records, and is not looked at.

use super::problem::{incorrect, missing};
use super::units::{Kind, Units};
use crate::charging::Key;
use crate::problem::Problem;
use scurry_ledger::ItemRequest;
use serde::Deserialize;
use std::collections::BTreeSet;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use xxhash_rust::xxh3::xxh3_128;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChargingDataRequest {
    /// The SUPI, as `imsi-001010000000001`: the account.
    pub(crate) subscriber_identifier: Option<String>,
    pub(crate) nf_consumer_identification: Consumer,
    invocation_time_stamp: String,
    /// The request number of the ledger.
    pub(crate) invocation_sequence_number: u32,
    #[serde(default)]
    one_time_event: bool,
    charging_id: Option<u32>,
    #[serde(rename = "pDUSessionChargingInformation")]
    pdu_session: Option<PduSession>,
    #[serde(default)]
    multiple_unit_usage: Vec<Usage>,
}

/// The network function that charges (NFIdentification). Members that are not here do not matter.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Consumer {
    node_functionality: String,
    #[serde(rename = "nFName")]
    name: Option<String>,
    #[serde(rename = "nFFqdn")]
    fqdn: Option<String>,
    #[serde(rename = "nFIPv4Address")]
    v4: Option<String>,
    #[serde(rename = "nFIPv6Address")]
    v6: Option<String>,
}

/// PDUSessionChargingInformation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PduSession {
    charging_id: Option<u32>,
    #[serde(rename = "sMFchargingId")]
    smf_charging_id: Option<String>,
}

/// MultipleUnitUsage.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    rating_group: Key,
    requested_unit: Option<Units>,
    /// Release 15 wrote it with a capital.
    #[serde(default, alias = "UsedUnitContainer")]
    used_unit_container: Vec<Container>,
}

/// UsedUnitContainer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    #[expect(dead_code, reason = "it is mandatory, and says nothing that the ledger needs")]
    local_sequence_number: i64,
    quota_management_indicator: Option<String>,
    #[serde(flatten)]
    units: Units,
}

/// Report of one rating group in one kind: what an item of a command is.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) rating_group: Key,
    pub(crate) kind: Kind,
    pub(crate) used: Option<i64>,
    pub(crate) requested: Option<i64>,
}

impl ChargingDataRequest {
    /// Check of what stands in every request, and is wrong or not served.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if OffsetDateTime::parse(&self.invocation_time_stamp, &Rfc3339).is_err() {
            return Err(incorrect("/invocationTimeStamp", "is not a date-time of RFC 3339"));
        }
        if self.one_time_event {
            let why = "events without a session are not served: use a session, or a direct debit \
                       (POST /v1/accounts/{account}/debits)";
            return Err(incorrect("/oneTimeEvent", why));
        }
        let mut groups = BTreeSet::new();
        for (number, usage) in self.multiple_unit_usage.iter().enumerate() {
            if !groups.insert(usage.rating_group) {
                let place = format!("/multipleUnitUsage/{number}/ratingGroup");
                return Err(incorrect(&place, "stands twice"));
            }
        }
        Ok(())
    }

    /// The id that the consumer charges under.
    pub(crate) fn charging_id(&self) -> Result<String, Problem> {
        let pdu = self.pdu_session.as_ref();
        let number = self.charging_id.or_else(|| pdu?.charging_id).map(|id| id.to_string());
        number.or_else(|| pdu?.smf_charging_id.clone()).ok_or_else(|| {
            let why = "is needed here or in pDUSessionChargingInformation: a Create that is sent \
                       again is known by it";
            missing("/chargingId", why)
        })
    }

    /// The kind that is asked for first; volume where none is said.
    pub(crate) fn first_kind(&self) -> Kind {
        let asked = self.multiple_unit_usage.iter().filter_map(|usage| usage.requested_unit);
        asked.flat_map(|units| units.kinds().next()).next().unwrap_or(Kind::Volume)
    }

    /// Reports of each rating group, those of one behind each other; a container of several kinds is read as
    /// `preferred`.
    pub(crate) fn items(&self, preferred: Kind) -> Result<Vec<Item>, Problem> {
        let usages = self.multiple_unit_usage.iter().enumerate();
        let items: Result<Vec<_>, _> =
            usages.map(|(number, usage)| usage.items(number, preferred)).collect();
        Ok(items?.concat())
    }
}

impl Usage {
    /// First what is asked for, then what was used of other kinds.
    fn items(&self, number: usize, preferred: Kind) -> Result<Vec<Item>, Problem> {
        let at = |member: &str| format!("/multipleUnitUsage/{number}/{member}");
        let too_many = |member| incorrect(&at(member), "has an amount of more than 63 bits");
        let asked: Vec<Kind> = self.requested_unit.iter().flat_map(Units::kinds).collect();
        if asked.len() > 1 {
            return Err(incorrect(&at("requestedUnit"), "asks for several kinds of units"));
        }
        // What is reported without quota is for records.
        let counted = self.used_unit_container.iter().filter(|container| {
            container.quota_management_indicator.as_deref() != Some("OFFLINE_CHARGING")
        });
        let counted: Vec<&Units> = counted.map(|container| &container.units).collect();
        let asked = asked.first().copied();
        let order =
            [asked.unwrap_or(preferred), preferred, Kind::Volume, Kind::Time, Kind::Service];
        let kind_of = |units: &Units| order.into_iter().find(|kind| units.has(*kind));
        let reported = counted.iter().filter_map(|units| kind_of(units));
        let first = |kind: &Kind| order.iter().position(|other| other == kind);
        let kind = asked.or_else(|| reported.min_by_key(first)).unwrap_or(preferred);
        let used = |of: Kind| -> Result<i64, Problem> {
            let read_so = counted.iter().filter(|units| kind_of(units) == Some(of));
            read_so.into_iter().try_fold(0i64, |sum, units| {
                let amount = units.of(of).ok().flatten();
                let sum = amount.and_then(|amount| sum.checked_add(amount));
                sum.ok_or_else(|| too_many("usedUnitContainer"))
            })
        };
        let requested = match &self.requested_unit {
            Some(units) => {
                let said = units.of(kind).map_err(|_| too_many("requestedUnit"))?;
                Some(said.unwrap_or(kind.default_amount()))
            }
            None => None,
        };
        let rating_group = self.rating_group;
        let own = (!counted.is_empty()).then(|| used(kind)).transpose()?;
        let mut items = vec![Item { rating_group, kind, used: own, requested }];
        for other in Kind::ALL.into_iter().filter(|other| *other != kind) {
            if counted.iter().any(|units| kind_of(units) == Some(other)) {
                let used = Some(used(other)?);
                items.push(Item { rating_group, kind: other, used, requested: None });
            }
        }
        Ok(items)
    }
}

impl Item {
    /// Returns the item as a session's request has it.
    pub(crate) fn request(&self) -> ItemRequest {
        ItemRequest {
            key: self.rating_group.0,
            unit: self.kind.unit(),
            used: self.used,
            requested: self.requested,
            min: None,
        }
    }
}

impl Consumer {
    /// The first of what names it: name, domain name, addresses.
    fn name(&self) -> &str {
        let names = [&self.name, &self.fqdn, &self.v4, &self.v6];
        names.into_iter().find_map(Option::as_deref).unwrap_or_default()
    }

    /// The session that this consumer charges under this id, of one subscriber. No time is in it
    /// and nothing random: who repeats a Create means the same session.
    pub(crate) fn session(&self, charging_id: &str) -> String {
        let mut text = Vec::new();
        for part in [&self.node_functionality, self.name(), charging_id] {
            // The lengths keep "ab", "c" and "a", "bc" apart.
            text.extend_from_slice(&part.len().to_be_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        format!("nchf-{:032x}", xxh3_128(&text))
    }
}
