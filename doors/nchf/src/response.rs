//! The response body, ChargingDataResponse (TS 32.291 clause 6.1.6.2.1.2).

use crate::entry::{Entries, Entry, LeftOut};
use crate::request::ChargingDataRequest;
use crate::units::UnitKind;
use crate::version::Version;
use scurry_http::now;
use scurry_ledger::{Code, ItemAnswer};
use scurry_quota::{Items, Share, TableResult, table_result};
use scurry_service_table::{FinalAction, RedirectKind, ServiceTerms};
use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChargingDataResponse<'a> {
    /// Release 15 has it in the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    nf_consumer_identification: Option<Value>,
    invocation_time_stamp: String,
    invocation_sequence_number: u32,
    /// What was left out of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    invocation_result: Option<Value>,
    /// Any door before the same store continues the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_failover: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supported_features: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    multiple_unit_information: Vec<MultipleUnitInformation<'a>>,
}

/// The result for one entry (MultipleUnitInformation).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MultipleUnitInformation<'a> {
    result_code: &'static str,
    rating_group: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    granted_unit: Option<Granted>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    triggers: Vec<Trigger>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validity_time: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota_holding_time: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_unit_indication: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_quota_threshold: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume_quota_threshold: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit_quota_threshold: Option<i64>,
    #[serde(rename = "uPFID", skip_serializing_if = "Option::is_none")]
    upf_id: Option<&'a Value>,
}

/// GrantedUnit, with only the kind that was requested.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Granted {
    Time(i64),
    TotalVolume(i64),
    ServiceSpecificUnits(i64),
    #[serde(untagged)]
    Directions {
        #[serde(rename = "uplinkVolume")]
        uplink: i64,
        #[serde(rename = "downlinkVolume")]
        downlink: i64,
    },
}

/// Trigger: when the consumer reports. Some consumers install nothing of a grant without its trigger.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trigger {
    trigger_type: &'static str,
    trigger_category: &'static str,
}

impl<'a> ChargingDataResponse<'a> {
    /// Returns the response about a session. `answers` has the ledger's answer to each item.
    pub(crate) fn new(
        version: Version,
        request: &ChargingDataRequest,
        entries: &'a Entries,
        items: &Items,
        answers: &[ItemAnswer],
    ) -> ChargingDataResponse<'a> {
        let shares = items.divide(answers, entries.asked());
        let mut at = 0;
        let information = entries.entries.iter().map(|entry| {
            // Its first service is the one that it is answered about.
            let own = shares.get(at).copied().flatten();
            at += entry.services.len();
            information(entry, own)
        });
        ChargingDataResponse {
            multiple_unit_information: information.collect(),
            session_failover: Some("FAILOVER_SUPPORTED"),
            ..ChargingDataResponse::bare(version, request, &entries.left_out)
        }
    }

    /// Returns the response about an event: every entry has the same result, and what was debited.
    pub(crate) fn of_event(
        version: Version,
        request: &ChargingDataRequest,
        entries: &'a Entries,
        is_debit: bool,
    ) -> ChargingDataResponse<'a> {
        let information = entries.entries.iter().map(|entry| {
            let amount = entry.asked().next().and_then(|asked| asked.debit());
            let granted = amount.filter(|_| is_debit).unwrap_or(0);
            let share = Share { code: Code::Ok, granted, is_final: false };
            MultipleUnitInformation {
                triggers: Vec::new(),
                validity_time: None,
                quota_holding_time: None,
                time_quota_threshold: None,
                volume_quota_threshold: None,
                unit_quota_threshold: None,
                ..information(entry, Some(share))
            }
        });
        ChargingDataResponse {
            multiple_unit_information: information.collect(),
            ..ChargingDataResponse::bare(version, request, &entries.left_out)
        }
    }

    fn bare(
        version: Version,
        request: &ChargingDataRequest,
        left_out: &[LeftOut],
    ) -> ChargingDataResponse<'a> {
        // Milliseconds to nanoseconds.
        let at = i128::from(now().0) * 1_000_000;
        let at = OffsetDateTime::from_unix_timestamp_nanos(at).ok();
        ChargingDataResponse {
            nf_consumer_identification: (version == Version::V2)
                .then(|| json!({ "nodeFunctionality": "CHF" })),
            invocation_time_stamp: at.and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_default(),
            invocation_sequence_number: request.invocation_sequence_number,
            invocation_result: (!left_out.is_empty()).then(|| invocation_result(left_out)),
            session_failover: None,
            // None of the optional features.
            supported_features: request.supported_features.as_ref().map(|_| "0"),
            multiple_unit_information: Vec::new(),
        }
    }
}

/// Returns InvocationResult: the request was served, and this was left out of it.
fn invocation_result(left_out: &[LeftOut]) -> Value {
    let params = left_out.iter().map(|one| json!({ "param": one.pointer, "reason": one.reason }));
    json!({
        "error": {
            "status": 400,
            "title": "Bad Request",
            "detail": "what invalidParams names was left out; all else was done",
            "cause": "OPTIONAL_IE_INCORRECT",
            "invalidParams": params.collect::<Vec<Value>>(),
        },
        "failureHandling": "CONTINUE",
    })
}

fn information(entry: &Entry, share: Option<Share>) -> MultipleUnitInformation<'_> {
    let asked = entry.asked().next();
    let result_code = match (asked.as_ref().and_then(table_result), share) {
        _ if entry.is_offline => "QUOTA_MANAGEMENT_NOT_APPLICABLE",
        (Some(TableResult::Unknown), _) => "RATING_FAILED",
        (Some(TableResult::NotApplicable), _) => "QUOTA_MANAGEMENT_NOT_APPLICABLE",
        (None, Some(share)) => result_code(share.code),
        (None, None) => "SUCCESS",
    };
    let mut information = MultipleUnitInformation {
        result_code,
        rating_group: entry.rating_group,
        granted_unit: None,
        triggers: Vec::new(),
        validity_time: None,
        quota_holding_time: None,
        final_unit_indication: None,
        time_quota_threshold: None,
        volume_quota_threshold: None,
        unit_quota_threshold: None,
        upf_id: entry.upf_id.as_ref(),
    };
    let terms = asked.and_then(|asked| asked.charged());
    if let (Some(terms), Some(share)) = (terms, share) {
        information.grant(entry, terms, share);
    }
    information
}

impl MultipleUnitInformation<'_> {
    fn grant(&mut self, entry: &Entry, terms: &ServiceTerms, share: Share) {
        let is_grant = share.granted > 0;
        let is_denied = share.code == Code::CreditLimitReached;
        let is_final = is_grant && share.is_final;
        // Without units the action is taken at once; what ends a service needs no word then.
        if is_final || is_denied && terms.final_action != FinalAction::Terminate {
            self.final_unit_indication = Some(final_unit(&terms.final_action));
        }
        let Some(kind) = UnitKind::of(terms.measure).filter(|_| is_grant) else { return };
        self.granted_unit = Some(granted(kind, share.granted, entry.directions));
        self.validity_time = Some(terms.validity_s);
        self.quota_holding_time = terms.quota_holding_s;
        let left = terms.threshold_of(share.granted).filter(|_| !share.is_final);
        match kind {
            UnitKind::Volume => self.volume_quota_threshold = left,
            UnitKind::Time => self.time_quota_threshold = left,
            UnitKind::Service => self.unit_quota_threshold = left,
        }
        let trigger = |trigger_type| Trigger { trigger_type, trigger_category: "IMMEDIATE_REPORT" };
        let triggers = [
            Some("QUOTA_EXHAUSTED"),
            left.map(|_| "QUOTA_THRESHOLD"),
            Some("VALIDITY_TIME"),
            terms.quota_holding_s.map(|_| "QHT"),
            is_final.then_some("FINAL"),
        ];
        self.triggers = triggers.into_iter().flatten().map(trigger).collect();
    }
}

fn granted(kind: UnitKind, amount: i64, directions: Option<(i64, i64)>) -> Granted {
    match (kind, directions) {
        (UnitKind::Time, _) => Granted::Time(amount),
        (UnitKind::Service, _) => Granted::ServiceSpecificUnits(amount),
        (UnitKind::Volume, None) => Granted::TotalVolume(amount),
        (UnitKind::Volume, Some((up, down))) => {
            // In the proportion in which they were requested.
            let (up, sum) = (i128::from(up), i128::from(up) + i128::from(down));
            let uplink = if sum == 0 { 0 } else { i128::from(amount) * up / sum };
            let uplink = i64::try_from(uplink).unwrap_or(0).min(amount);
            Granted::Directions { uplink, downlink: amount - uplink }
        }
    }
}

/// Returns FinalUnitIndication.
fn final_unit(action: &FinalAction) -> Value {
    match action {
        FinalAction::Terminate => json!({ "finalUnitAction": "TERMINATE" }),
        FinalAction::Redirect(address) => {
            let kind = match RedirectKind::of(address) {
                Some(RedirectKind::Ipv4) => "IPV4",
                Some(RedirectKind::Ipv6) => "IPV6",
                Some(RedirectKind::SipUri) => "URI",
                Some(RedirectKind::Url) | None => "URL",
            };
            json!({
                "finalUnitAction": "REDIRECT",
                "redirectServer": { "redirectAddressType": kind, "redirectServerAddress": address },
            })
        }
        FinalAction::Restrict { rules, filters } => {
            let mut indication = json!({ "finalUnitAction": "RESTRICT_ACCESS" });
            if let Some(rule) = rules.first() {
                indication["restrictionFilterRule"] = json!(rule);
                indication["restrictionFilterRuleList"] = json!(rules);
            }
            if let Some(filter) = filters.first() {
                indication["filterId"] = json!(filter);
                indication["filterIdList"] = json!(filters);
            }
            indication
        }
    }
}

/// Returns the ResultCode of an entry (clause 6.1.6.3.14). Not all causes have the same name there.
fn result_code(code: Code) -> &'static str {
    match code {
        Code::ServiceDenied => "END_USER_SERVICE_DENIED",
        // More rating groups than are granted at once.
        Code::Busy => "END_USER_SERVICE_REJECTED",
        code => code.nchf(),
    }
}
