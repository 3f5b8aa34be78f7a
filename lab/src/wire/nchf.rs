//! Nchf_ConvergedCharging (TS 32.291): RESERVE, UPDATE and TERMINATE of one item become Create, Update and Release. The
//! subscriber is the account's id, and the reference of a session is that of the Location of its Create. Numbers count
//! from 0, and the time stamp is the same in all requests, so that a load is repeatable from its seed.

mod http1;
mod http2;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use scurry_service::SessionStep;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::charge::{Charge, write_reply};
pub(super) use http1::NchfHttp1;
pub(super) use http2::NchfHttp2;

const RESOURCES: &str = "/nchf-convergedcharging/v3/chargingdata";
/// Members that every request has.
const CONSUMER: &str = "\"nfConsumerIdentification\":{\"nodeFunctionality\":\"SMF\",\"nFName\":\"smf-1\"},\
                        \"invocationTimeStamp\":\"2026-01-01T12:00:00Z\"";
/// Longest body of an answer, bytes.
const BODY_LEN_MAX: usize = 64 * 1024;

/// Version of HTTP that carries the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.1; requests in flight on a connection are pipelined.
    Http1,
    /// HTTP/2 by prior knowledge; each request is a stream.
    Http2,
}

/// Requests of a connection: what is sent, and what an answer means.
#[derive(Debug, Default)]
struct Consumer {
    /// References of the sessions that are open, by the session of the load.
    references: BTreeMap<u32, String>,
}

/// Head of an answer, as far as the load needs it.
#[derive(Debug, Default, PartialEq, Eq)]
struct AnswerHead {
    status: u16,
    location: Option<String>,
    /// True for an answer from before.
    is_replayed: bool,
}

impl AnswerHead {
    /// Takes over a header field; names are in lower case.
    fn field(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b":status" => {
                let status = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.status = status.unwrap_or(0);
            }
            b"location" => self.location = Some(String::from_utf8_lossy(value).into_owned()),
            b"idempotency-replayed" => self.is_replayed = value == b"true",
            _ => {}
        }
    }
}

impl Consumer {
    /// Writes the path and the body of a request.
    fn request(&self, session: u32, request: &[u8], path: &mut Vec<u8>, body: &mut Vec<u8>) {
        path.clear();
        body.clear();
        path.extend_from_slice(RESOURCES.as_bytes());
        // The door refuses an empty body: another command of the lab is an error in its tally.
        let Some(charge) = Charge::read(request) else { return };
        let reference = self.references.get(&session).map_or("none", String::as_str);
        match charge.step {
            SessionStep::Reserve => {}
            SessionStep::Update => write(path, format_args!("/{reference}/update")),
            SessionStep::Terminate => write(path, format_args!("/{reference}/release")),
        }
        write_body(&charge, body);
    }

    /// Reads an answer and appends the reply in RESP.
    fn answer(&mut self, session: u32, head: &AnswerHead, body: &[u8], reply: &mut Vec<u8>) {
        let (code, granted) = match head.status {
            201 => {
                let segment = head.location.as_deref().and_then(|text| text.rsplit('/').next());
                match (segment, outcome(body)) {
                    (Some(reference), Some(outcome)) => {
                        self.references.insert(session, reference.to_owned());
                        outcome
                    }
                    _ => return error(head, body, reply),
                }
            }
            200 => match outcome(body) {
                Some(outcome) => outcome,
                None => return error(head, body, reply),
            },
            204 => {
                self.references.remove(&session);
                ("OK", 0)
            }
            403 if is_without_credit(body) => (NO_CREDIT, 0),
            _ => return error(head, body, reply),
        };
        write_reply(reply, code, head.is_replayed, granted);
    }
}

const NO_CREDIT: &str = "CREDIT_LIMIT_REACHED";

fn write(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes every byte");
}

/// Writes ChargingDataRequest (TS 32.291, 6.1.6.2.1.1) with one rating group.
fn write_body(charge: &Charge<'_>, out: &mut Vec<u8>) {
    let Charge { account, number, rating_group, .. } = charge;
    write(
        out,
        format_args!(
            "{{\"subscriberIdentifier\":\"{account}\",{CONSUMER},\"invocationSequenceNumber\":{number},"
        ),
    );
    if charge.step == SessionStep::Reserve {
        write(out, format_args!("\"chargingId\":{},", charging_id(charge.session)));
    }
    write(out, format_args!("\"multipleUnitUsage\":[{{\"ratingGroup\":{rating_group}"));
    if let Some(requested) = charge.requested {
        write(out, format_args!(",\"requestedUnit\":{{\"totalVolume\":{requested}}}"));
    }
    if let Some(used) = charge.used {
        write(
            out,
            format_args!(
                ",\"usedUnitContainer\":[{{\"localSequenceNumber\":{number},\"totalVolume\":{used}}}]"
            ),
        );
    }
    out.extend_from_slice(b"}]}");
}

/// Returns the charging id of a session: its number, of which 32 bits are left.
fn charging_id(session: &str) -> u32 {
    let number = session.get(1..).and_then(|digits| u64::from_str_radix(digits, 36).ok());
    u32::try_from(number.unwrap_or(0) & u64::from(u32::MAX)).unwrap_or(0)
}

/// ChargingDataResponse (TS 32.291, 6.1.6.2.1.2), as far as the load needs it.
#[derive(Debug, Deserialize)]
struct ChargingDataResponse<'a> {
    #[serde(rename = "multipleUnitInformation", borrow)]
    information: [UnitInformation<'a>; 1],
    /// What was left out of the request: nothing may be.
    #[serde(rename = "invocationResult")]
    left_out: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct UnitInformation<'a> {
    #[serde(rename = "resultCode", borrow)]
    result: Cow<'a, str>,
    #[serde(rename = "grantedUnit")]
    granted: Option<GrantedUnit>,
}

#[derive(Debug, Deserialize)]
struct GrantedUnit {
    #[serde(rename = "totalVolume")]
    total_volume: u64,
}

#[derive(Debug, Deserialize)]
struct Problem<'a> {
    #[serde(borrow)]
    cause: Cow<'a, str>,
}

/// Returns the code and the granted units of the rating group; None for an answer that the load does not expect.
fn outcome(body: &[u8]) -> Option<(&'static str, u64)> {
    let response: ChargingDataResponse<'_> = serde_json::from_slice(body).ok()?;
    let [information] = response.information;
    let granted = information.granted.map_or(0, |granted| granted.total_volume);
    match (&*information.result, response.left_out) {
        ("SUCCESS", None) => Some(("OK", granted)),
        ("QUOTA_LIMIT_REACHED", None) => Some((NO_CREDIT, granted)),
        _ => None,
    }
}

fn is_without_credit(body: &[u8]) -> bool {
    let problem: Option<Problem<'_>> = serde_json::from_slice(body).ok();
    problem.is_some_and(|problem| problem.cause == "QUOTA_LIMIT_REACHED")
}

/// Appends an error reply with the status and the body, on one line.
fn error(head: &AnswerHead, body: &[u8], reply: &mut Vec<u8>) {
    let body = body.escape_ascii();
    write(reply, format_args!("-NCHF {} {body}\r\n", head.status));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::encode;

    const GRANTED: &str = r#"{"invocationSequenceNumber":1,"multipleUnitInformation":[{"resultCode":"SUCCESS","ratingGroup":5,"grantedUnit":{"totalVolume":1000},"validityTime":600}]}"#;
    const UPDATE: &str = "SCUR.UPDATE acc:1 s0000010 1 ITEM 5 octet USED 900 REQUESTED 1000";

    fn asked(consumer: &Consumer, line: &str) -> (String, serde_json::Value) {
        let words: Vec<&str> = line.split(' ').collect();
        let (mut path, mut body) = (Vec::new(), Vec::new());
        consumer.request(7, &encode(&words), &mut path, &mut body);
        let body = serde_json::from_slice(&body).unwrap_or_default();
        (String::from_utf8(path).unwrap(), body)
    }

    fn answered(consumer: &mut Consumer, head: &AnswerHead, body: &str) -> String {
        let mut reply = Vec::new();
        consumer.answer(7, head, body.as_bytes(), &mut reply);
        String::from_utf8(reply).unwrap().replace("\r\n", "|")
    }

    fn of(status: u16) -> AnswerHead {
        AnswerHead { status, ..AnswerHead::default() }
    }

    #[test]
    fn a_session_uses_the_reference_of_its_create_until_its_release() {
        let mut consumer = Consumer::default();
        let (path, body) =
            asked(&consumer, "SCUR.RESERVE acc:1 s0000010 0 ITEM 5 octet REQUESTED 1000");
        assert_eq!(path, RESOURCES);
        assert_eq!(
            (&body["chargingId"], &body["subscriberIdentifier"]),
            (&36.into(), &"acc:1".into())
        );
        assert_eq!(body["multipleUnitUsage"][0]["requestedUnit"]["totalVolume"], 1000);
        let mut created = of(201);
        created.field(b"location", format!("http://h{RESOURCES}/acc:1.x.v.0").as_bytes());
        let reply = answered(&mut consumer, &created, GRANTED);
        assert_eq!(reply, "*4|+OK|:0|:0|*1|*5|:1|+OK|:1000|:0|:0|");
        let (path, body) = asked(&consumer, UPDATE);
        assert_eq!(path, format!("{RESOURCES}/acc:1.x.v.0/update"));
        let usage = &body["multipleUnitUsage"][0];
        assert_eq!(usage["usedUnitContainer"][0]["totalVolume"], 900);
        assert_eq!(
            (&usage["ratingGroup"], &body["invocationSequenceNumber"]),
            (&5.into(), &1.into())
        );
        let (path, body) =
            asked(&consumer, "SCUR.TERMINATE acc:1 s0000010 2 ITEM 5 octet USED 700");
        assert_eq!(path, format!("{RESOURCES}/acc:1.x.v.0/release"));
        assert!(body["multipleUnitUsage"][0]["requestedUnit"].is_null());
        assert!(answered(&mut consumer, &of(204), "").starts_with("*4|+OK|:0|"));
        assert_eq!(asked(&consumer, UPDATE).0, format!("{RESOURCES}/none/update"));
    }

    #[test]
    fn denials_replays_and_errors_are_told_apart() {
        let mut consumer = Consumer::default();
        let denied = r#"{"status":403,"cause":"QUOTA_LIMIT_REACHED"}"#;
        assert!(
            answered(&mut consumer, &of(403), denied).starts_with("*4|+CREDIT_LIMIT_REACHED|:0|")
        );
        let limit = r#"{"multipleUnitInformation":[{"resultCode":"QUOTA_LIMIT_REACHED"}]}"#;
        let reply = answered(&mut consumer, &of(200), limit);
        assert_eq!(
            reply,
            "*4|+CREDIT_LIMIT_REACHED|:0|:0|*1|*5|:1|+CREDIT_LIMIT_REACHED|:0|:0|:0|"
        );
        let mut replayed = of(200);
        replayed.field(b"idempotency-replayed", b"true");
        assert!(answered(&mut consumer, &replayed, GRANTED).starts_with("*4|+OK|:1|"));
        let left_out = GRANTED.replacen('{', r#"{"invocationResult":{},"#, 1);
        for (status, body) in [
            (201, GRANTED),
            (200, ""),
            (200, &left_out),
            (403, r#"{"cause":"END_USER_REQUEST_DENIED"}"#),
            (404, r#"{"cause":"CONTEXT_NOT_FOUND"}"#),
        ] {
            let reply = answered(&mut consumer, &of(status), body);
            assert!(reply.starts_with(&format!("-NCHF {status} ")), "{reply}");
        }
        assert_eq!(asked(&consumer, "SCUR.GET acc:1"), (RESOURCES.to_owned(), Default::default()));
    }
}
