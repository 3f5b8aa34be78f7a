//! The response body, ChargingDataResponse (TS 32.291 clause 6.1.6.2.1.2).

use crate::request::RatingGroupItem;
use crate::units::UnitKind;
use scurry_door_json::Key;
use scurry_http::now;
use scurry_ledger::{Code, Final, ItemAnswers};
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// How long a grant is valid, s. Without a request the session expires after twice that time.
pub(crate) const VALIDITY_S: u32 = 600;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChargingDataResponse {
    invocation_time_stamp: String,
    invocation_sequence_number: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    multiple_unit_information: Vec<MultipleUnitInformation>,
}

/// The result for one rating group (MultipleUnitInformation).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MultipleUnitInformation {
    result_code: &'static str,
    rating_group: Key,
    #[serde(skip_serializing_if = "Option::is_none")]
    granted_unit: Option<Granted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validity_time: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_unit_indication: Option<FinalUnitIndication>,
}

/// GrantedUnit, with only the kind that was requested.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Granted {
    Time(i64),
    TotalVolume(i64),
    ServiceSpecificUnits(i64),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FinalUnitIndication {
    final_unit_action: &'static str,
}

impl ChargingDataResponse {
    /// Returns the response to a request with these items. `answers` has the ledger's answer to each item, in the same
    /// order. Each rating group gets the answer to its first item.
    pub(crate) fn new(
        sequence: u32,
        asked: &[RatingGroupItem],
        answers: &ItemAnswers,
    ) -> ChargingDataResponse {
        let is_first = |number: usize| {
            number == 0 || asked[number - 1].rating_group != asked[number].rating_group
        };
        let firsts = asked.iter().zip(answers).enumerate();
        let firsts = firsts.filter(|(number, _)| is_first(*number)).map(|(_, pair)| pair);
        let information = firsts.map(|(item, answer)| {
            // An item that only reports use, or gets nothing, has no grant.
            let granted = item.requested.filter(|requested| *requested > 0 && answer.granted > 0);
            MultipleUnitInformation {
                result_code: result_code(answer.code),
                rating_group: item.rating_group,
                granted_unit: granted.map(|_| match item.kind {
                    UnitKind::Volume => Granted::TotalVolume(answer.granted),
                    UnitKind::Time => Granted::Time(answer.granted),
                    UnitKind::Service => Granted::ServiceSpecificUnits(answer.granted),
                }),
                validity_time: granted.map(|_| VALIDITY_S),
                final_unit_indication: (granted.is_some() && answer.last == Final::Last)
                    .then_some(FinalUnitIndication { final_unit_action: "TERMINATE" }),
            }
        });
        // Milliseconds to nanoseconds.
        let at = i128::from(now().0) * 1_000_000;
        let at = OffsetDateTime::from_unix_timestamp_nanos(at).ok();
        ChargingDataResponse {
            invocation_time_stamp: at.and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_default(),
            invocation_sequence_number: sequence,
            multiple_unit_information: information.collect(),
        }
    }
}

/// Returns the ResultCode of a rating group (clause 6.1.6.3.14). Not all causes have the same name there.
fn result_code(code: Code) -> &'static str {
    match code {
        Code::ServiceDenied => "END_USER_SERVICE_DENIED",
        code => code.nchf(),
    }
}
