//! ChargingDataRequest (TS 32.291 clause 6.1.6.2.1.1), limited to the members that this door reads. The others are for
//! charging records and are ignored.

use crate::number::Number;
use crate::problem::{incorrect, missing};
use crate::units::UnitAmounts;
use scurry_http::Problem;
use serde::Deserialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChargingDataRequest {
    /// The SUPI, for example `imsi-001010000000001`.
    pub(crate) subscriber_identifier: Option<String>,
    pub(crate) nf_consumer_identification: Consumer,
    invocation_time_stamp: String,
    pub(crate) invocation_sequence_number: u32,
    #[serde(default)]
    pub(crate) retransmission_indicator: bool,
    #[serde(default)]
    one_time_event: bool,
    one_time_event_type: Option<String>,
    pub(crate) notify_uri: Option<String>,
    pub(crate) supported_features: Option<String>,
    pub(crate) service_specification_info: Option<String>,
    charging_id: Option<Number>,
    #[serde(rename = "pDUSessionChargingInformation")]
    pdu_session: Option<PduSession>,
    #[serde(default)]
    pub(crate) multiple_unit_usage: Vec<MultipleUnitUsage>,
}

/// The network function that charges (NFIdentification). Members that are not listed here are ignored.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Consumer {
    pub(crate) node_functionality: String,
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
    charging_id: Option<Number>,
    #[serde(rename = "sMFchargingId")]
    smf_charging_id: Option<String>,
    pdu_session_information: Option<PduSessionInformation>,
}

/// PDUSessionInformation.
#[derive(Debug, Deserialize)]
struct PduSessionInformation {
    #[serde(rename = "pduSessionID")]
    pdu_session_id: Option<Number>,
}

/// MultipleUnitUsage.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MultipleUnitUsage {
    #[serde(default = "Number::bad")]
    pub(crate) rating_group: Number,
    pub(crate) requested_unit: Option<UnitAmounts>,
    /// Release 15 spelled it with a capital U.
    #[serde(default, alias = "UsedUnitContainer")]
    pub(crate) used_unit_container: Vec<UsedUnitContainer>,
    #[serde(rename = "uPFID")]
    pub(crate) upf_id: Option<Value>,
}

/// UsedUnitContainer. Its localSequenceNumber says nothing that the ledger needs, so its absence refuses nothing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsedUnitContainer {
    quota_management_indicator: Option<Value>,
    #[serde(flatten)]
    pub(crate) units: UnitAmounts,
}

/// What a container of used units is for (QuotaManagementIndicator).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuotaManagement {
    Online,
    /// The use is for charging records only.
    Offline,
    /// The use is debited, and nothing is granted.
    Suspended,
}

/// A request without a session (OneTimeEventType).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// Immediate event charging: units are debited.
    Immediate,
    /// Post event charging: use that has happened is debited.
    Post,
}

impl UsedUnitContainer {
    pub(crate) fn management(&self) -> QuotaManagement {
        match self.quota_management_indicator.as_ref().and_then(Value::as_str) {
            Some("OFFLINE_CHARGING") => QuotaManagement::Offline,
            Some("QUOTA_MANAGEMENT_SUSPENDED") => QuotaManagement::Suspended,
            _ => QuotaManagement::Online,
        }
    }
}

impl ChargingDataRequest {
    /// Returns invocationTimeStamp, ms since 1970.
    pub(crate) fn time_ms(&self) -> Result<i64, Problem> {
        let wrong = || incorrect("/invocationTimeStamp", "is not a date-time of RFC 3339");
        let time = OffsetDateTime::parse(&self.invocation_time_stamp, &Rfc3339);
        let time_ns = time.map_err(|_| wrong())?.unix_timestamp_nanos();
        // A time before 1970 is no time of a request.
        i64::try_from(time_ns.div_euclid(1_000_000)).ok().filter(|ms| *ms >= 0).ok_or_else(wrong)
    }

    /// Returns which event the request is. None for one of a session.
    pub(crate) fn event(&self) -> Result<Option<EventKind>, Problem> {
        if !self.one_time_event {
            return Ok(None);
        }
        match self.one_time_event_type.as_deref() {
            Some("IEC") => Ok(Some(EventKind::Immediate)),
            Some("PEC") => Ok(Some(EventKind::Post)),
            Some(_) => Err(incorrect("/oneTimeEventType", "is neither IEC nor PEC")),
            None => Err(missing("/oneTimeEventType", "is needed with oneTimeEvent: IEC or PEC")),
        }
    }

    /// Returns the charging id: of the request, else of its PDU session. None if there is none, as of an SMSF.
    pub(crate) fn charging_id(&self) -> Option<String> {
        let pdu = self.pdu_session.as_ref();
        let number = self.charging_id.or(pdu.and_then(|pdu| pdu.charging_id));
        let number = number.and_then(Number::u32).map(|id| id.to_string());
        number.or_else(|| pdu?.smf_charging_id.clone())
    }

    /// Returns the PDU session's id. None if there is none.
    pub(crate) fn pdu_session_id(&self) -> Option<u32> {
        let information = self.pdu_session.as_ref()?.pdu_session_information.as_ref()?;
        information.pdu_session_id?.u32()
    }

    /// Returns the Service-Context-Id by which the table of services has the service: that of the specification that
    /// the request names, else of its consumer's (TS 32.255, 32.256, 32.260, 32.274).
    pub(crate) fn context(&self) -> &str {
        if let Some(named) = self.service_specification_info.as_deref() {
            return named;
        }
        match &self.nf_consumer_identification.node_functionality[..] {
            "AMF" => "32256@3gpp.org",
            "SMSF" => "32274@3gpp.org",
            "IMS_Node" => "32260@3gpp.org",
            _ => "32255@3gpp.org",
        }
    }
}

impl Consumer {
    /// Returns its kind and name, for people.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.node_functionality, self.name()).trim_end().to_owned()
    }

    /// Returns the first identifier that is given: name, domain name, IPv4 address, IPv6 address. Empty if none is.
    pub(crate) fn name(&self) -> &str {
        let names = [&self.name, &self.fqdn, &self.v4, &self.v6];
        names.into_iter().find_map(Option::as_deref).unwrap_or_default()
    }
}
