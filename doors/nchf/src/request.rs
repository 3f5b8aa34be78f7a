//! ChargingDataRequest (TS 32.291 clause 6.1.6.2.1.1), limited to the members that the ledger needs. The others are
//! for charging records and are ignored.

use crate::problem::{incorrect, missing};
use crate::units::{UnitAmounts, UnitKind};
use scurry_door_json::Key;
use scurry_http::Problem;
use scurry_ledger::ItemRequest;
use serde::Deserialize;
use std::collections::BTreeSet;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use xxhash_rust::xxh3::xxh3_128;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChargingDataRequest {
    /// The SUPI, for example `imsi-001010000000001`. It is the account id.
    pub(crate) subscriber_identifier: Option<String>,
    pub(crate) nf_consumer_identification: Consumer,
    invocation_time_stamp: String,
    /// The ledger's request number.
    pub(crate) invocation_sequence_number: u32,
    #[serde(default)]
    one_time_event: bool,
    charging_id: Option<u32>,
    #[serde(rename = "pDUSessionChargingInformation")]
    pdu_session: Option<PduSession>,
    #[serde(default)]
    multiple_unit_usage: Vec<MultipleUnitUsage>,
}

/// The network function that charges (NFIdentification). Members that are not listed here are ignored.
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
struct MultipleUnitUsage {
    rating_group: Key,
    requested_unit: Option<UnitAmounts>,
    /// Release 15 spelled it with a capital U.
    #[serde(default, alias = "UsedUnitContainer")]
    used_unit_container: Vec<UsedUnitContainer>,
}

/// UsedUnitContainer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsedUnitContainer {
    #[expect(dead_code, reason = "it is mandatory, and says nothing that the ledger needs")]
    local_sequence_number: i64,
    quota_management_indicator: Option<String>,
    #[serde(flatten)]
    units: UnitAmounts,
}

/// Use and request of one rating group in one kind of unit. It becomes one item of a ledger command.
#[derive(Clone, Debug)]
pub(crate) struct RatingGroupItem {
    pub(crate) rating_group: Key,
    pub(crate) kind: UnitKind,
    pub(crate) used: Option<i64>,
    pub(crate) requested: Option<i64>,
}

impl ChargingDataRequest {
    /// Checks the members that every request has. Returns a problem if one is wrong or asks for something that is not
    /// supported.
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

    /// Returns the consumer's charging id: of the request, else of its PDU session information. A missing one is a
    /// problem.
    pub(crate) fn charging_id(&self) -> Result<String, Problem> {
        let pdu = self.pdu_session.as_ref();
        let number = self.charging_id.or_else(|| pdu?.charging_id).map(|id| id.to_string());
        number.or_else(|| pdu?.smf_charging_id.clone()).ok_or_else(|| {
            let why = "is needed here or in pDUSessionChargingInformation: a Create that is sent \
                       again is known by it";
            missing("/chargingId", why)
        })
    }

    /// Returns the first kind of unit that is requested, or volume if none is.
    pub(crate) fn first_kind(&self) -> UnitKind {
        let asked = self.multiple_unit_usage.iter().filter_map(|usage| usage.requested_unit);
        asked.flat_map(|units| units.kinds().next()).next().unwrap_or(UnitKind::Volume)
    }

    /// Returns the items of all rating groups, grouped. A container of several kinds is read as `preferred` unless its
    /// rating group requests another kind in it.
    pub(crate) fn items(&self, preferred: UnitKind) -> Result<Vec<RatingGroupItem>, Problem> {
        let usages = self.multiple_unit_usage.iter().enumerate();
        let items: Result<Vec<_>, _> =
            usages.map(|(number, usage)| usage.items(number, preferred)).collect();
        Ok(items?.concat())
    }
}

impl MultipleUnitUsage {
    /// Returns the items of this rating group: first the requested kind, then other kinds with reported use. `number`
    /// is the index in `multipleUnitUsage`, for error messages.
    fn items(&self, number: usize, preferred: UnitKind) -> Result<Vec<RatingGroupItem>, Problem> {
        let at = |member: &str| format!("/multipleUnitUsage/{number}/{member}");
        let too_many = |member| incorrect(&at(member), "has an amount of more than 63 bits");
        let asked: Vec<UnitKind> =
            self.requested_unit.iter().flat_map(UnitAmounts::kinds).collect();
        if asked.len() > 1 {
            return Err(incorrect(&at("requestedUnit"), "asks for several kinds of units"));
        }
        // Use that was reported without quota is for charging records only.
        let counted = self.used_unit_container.iter().filter(|container| {
            container.quota_management_indicator.as_deref() != Some("OFFLINE_CHARGING")
        });
        let counted: Vec<&UnitAmounts> = counted.map(|container| &container.units).collect();
        let asked = asked.first().copied();
        // A container may have several kinds of units, but it is debited once: in the first kind of this order that it
        // has.
        let order = [
            asked.unwrap_or(preferred),
            preferred,
            UnitKind::Volume,
            UnitKind::Time,
            UnitKind::Service,
        ];
        let kind_of = |units: &UnitAmounts| order.into_iter().find(|kind| units.has(*kind));
        let reported = counted.iter().filter_map(|units| kind_of(units));
        let first = |kind: &UnitKind| order.iter().position(|other| other == kind);
        // Without a requested kind, the main item has the reported kind that is first in the order.
        let kind = asked.or_else(|| reported.min_by_key(first)).unwrap_or(preferred);
        let used = |of: UnitKind| -> Result<i64, Problem> {
            let read_so = counted.iter().filter(|units| kind_of(units) == Some(of));
            read_so.into_iter().try_fold(0i64, |sum, units| {
                // None here is an amount beyond 63 bits: `kind_of` has found that the kind is given.
                let amount = units.amount_of(of).ok().flatten();
                let sum = amount.and_then(|amount| sum.checked_add(amount));
                sum.ok_or_else(|| too_many("usedUnitContainer"))
            })
        };
        let requested = match &self.requested_unit {
            Some(units) => {
                let said = units.amount_of(kind).map_err(|_| too_many("requestedUnit"))?;
                Some(said.unwrap_or(kind.default_amount()))
            }
            None => None,
        };
        let rating_group = self.rating_group;
        let own = (!counted.is_empty()).then(|| used(kind)).transpose()?;
        let mut items = vec![RatingGroupItem { rating_group, kind, used: own, requested }];
        for other in UnitKind::ALL.into_iter().filter(|other| *other != kind) {
            if counted.iter().any(|units| kind_of(units) == Some(other)) {
                let used = Some(used(other)?);
                items.push(RatingGroupItem { rating_group, kind: other, used, requested: None });
            }
        }
        Ok(items)
    }
}

impl RatingGroupItem {
    /// Returns the item in the form of a ledger session request.
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
    /// Returns the first identifier that is given: name, domain name, IPv4 address, IPv6 address. Empty if none is.
    fn name(&self) -> &str {
        let names = [&self.name, &self.fqdn, &self.v4, &self.v6];
        names.into_iter().find_map(Option::as_deref).unwrap_or_default()
    }

    /// Returns the session id for this consumer and charging id, unique within the subscriber's account. It contains
    /// no time and no random part, so that a repeated Create means the same session.
    pub(crate) fn session(&self, charging_id: &str) -> String {
        let mut text = Vec::new();
        for part in [&self.node_functionality, self.name(), charging_id] {
            // The length prefixes make "ab", "c" differ from "a", "bc".
            text.extend_from_slice(&part.len().to_be_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        format!("nchf-{:032x}", xxh3_128(&text))
    }
}
