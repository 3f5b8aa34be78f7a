//! An answer of Nchf, in the terms of the load: results are those that Diameter has for the same code of the ledger.

use super::message::Message;
use crate::group::door_faults::protocol::{Answered, BUSY};
use anyhow::{Context, Result, ensure};
use scurry_diameter_sim::load::{Answer, ServiceAnswer};
use scurry_ledger::Code;
use serde_json::Value;

/// Doors that have done nothing, and those that do not know the outcome, answer with these.
const UNCLEAR: [u16; 2] = [503, 504];

/// Reads an answer.
///
/// # Errors
/// If it is not valid, or of another request.
pub(super) fn read(
    message: &Message,
    status: u16,
    place: Option<String>,
    body: &[u8],
) -> Result<Answered> {
    let told: Value = match body {
        [] => Value::Null,
        body => serde_json::from_slice(body)?,
    };
    let words = &message.words;
    let mut answer = Answer {
        end_to_end: message.request,
        session: words.session.clone(),
        number: words.number,
        ..Answer::default()
    };
    let code = told["code"].as_str().unwrap_or_default();
    let label = format!("{status} {code}").trim_end().to_owned();
    if UNCLEAR.contains(&status) {
        answer.result = BUSY;
        return Ok(Answered { answer, label, place: None });
    }
    if status >= 400 {
        answer.result = result(code)?;
        answer.said = label.clone().into_bytes();
        return Ok(Answered { answer, label, place: None });
    }
    answer.result = u32::from(Code::Ok.diameter());
    if status != 204 {
        let number = &told["invocationSequenceNumber"];
        ensure!(number.as_u64() == Some(message.number()), "the answer to {number}: {message:?}");
    }
    let groups = told["multipleUnitInformation"].as_array().map_or(&[][..], Vec::as_slice);
    answer.services = groups.iter().map(service).collect::<Result<_>>()?;
    // All but the door's clock.
    answer.said = format!("{place:?} {}", told["multipleUnitInformation"]).into_bytes();
    Ok(Answered { answer, label, place })
}

/// Returns the Result-Code of a code of the ledger.
fn result(code: &str) -> Result<u32> {
    let code = Code::ALL.iter().find(|known| known.name() == code);
    Ok(u32::from(code.context("a code of the ledger")?.diameter()))
}

fn service(information: &Value) -> Result<ServiceAnswer> {
    let group = information["ratingGroup"].as_u64().context("a rating group")?;
    let granted = match &information["grantedUnit"] {
        Value::Null => 0,
        granted => granted["totalVolume"].as_i64().context("a volume")?,
    };
    let nchf = information["resultCode"].as_str().context("a result")?;
    let code = Code::ALL.iter().find(|code| code.nchf() == nchf).context("a known result")?;
    let (rating_group, result) = (u32::try_from(group)?, u32::from(code.diameter()));
    Ok(ServiceAnswer { rating_group, result, granted, refund: Vec::new() })
}
