//! A ChargingDataRequest, and the forms in which it may be sent again (docs/charging-5g.md, "Names of sessions and requests").

use crate::group::door_faults::protocol::Copy;
use scurry_crash::clock;
use scurry_diameter_sim::load::{Kind, Part, Words};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

const RESOURCES: &str = "/nchf-convergedcharging/v3/chargingdata";

/// A charging data resource, as its consumer knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Resource {
    charging_id: u32,
    /// Path of the resource. None before the answer to its Create.
    pub(super) path: Option<String>,
}

/// invocationTimeStamps of a client: no two of its requests have the same.
#[derive(Debug, Default)]
pub(super) struct Clock {
    last_ms: i64,
}

/// A request.
#[derive(Clone, Debug)]
pub(in crate::group::door_faults) struct Message {
    pub(super) path: String,
    pub(super) words: Words,
    /// Number of the request in the load.
    pub(super) request: u32,
    body: Value,
    /// The consumer counts its requests.
    counts: bool,
    /// Time of a Create that was sent again with a later one, and has it from then on.
    later: Option<String>,
}

impl Resource {
    pub(super) fn new(charging_id: u32) -> Resource {
        Resource { charging_id, path: None }
    }

    /// Reports whether the consumer counts its requests in this session.
    fn counts(&self) -> bool {
        self.charging_id.is_multiple_of(2)
    }
}

impl Clock {
    /// Returns the time, ms since 1970, later than all before.
    pub(super) fn next_ms(&mut self) -> i64 {
        self.last_ms = clock::wall_ms().max(self.last_ms + 1);
        self.last_ms
    }
}

impl Message {
    pub(super) fn new(request: u32, words: &Words, resource: Resource, time_ms: i64) -> Message {
        let counts = resource.counts();
        let number = if counts { words.number } else { 0 };
        let usages: Vec<Value> = words.parts.iter().map(|part| usage(part, number)).collect();
        let account = words.account().unwrap_or_default();
        let mut body = json!({
            "subscriberIdentifier": String::from_utf8_lossy(&account),
            "nfConsumerIdentification": {"nodeFunctionality": "SMF", "nFName": words.host},
            "invocationTimeStamp": time_stamp(time_ms),
            "invocationSequenceNumber": number,
            "chargingId": resource.charging_id,
            "multipleUnitUsage": usages,
            "pDUSessionChargingInformation": {"pduSessionInformation": {"pduSessionID": 5, "dnnId": "internet"}},
        });
        let event = match words.kind {
            Kind::Debit => Some("IEC"),
            Kind::Settle => Some("PEC"),
            _ => None,
        };
        if let Some(event) = event {
            body["oneTimeEvent"] = json!(true);
            body["oneTimeEventType"] = json!(event);
        }
        let path = resource.path.unwrap_or_default();
        let path = match words.kind {
            Kind::Update => format!("{path}/update"),
            Kind::Termination => format!("{path}/release"),
            _ => RESOURCES.to_owned(),
        };
        Message { path, words: words.clone(), request, body, counts, later: None }
    }

    /// Returns invocationSequenceNumber.
    pub(super) fn number(&self) -> u64 {
        self.body["invocationSequenceNumber"].as_u64().unwrap_or(0)
    }

    /// Reports whether it is a Create that was sent again with a later time: a copy of the first one that arrives after it
    /// opens a session of its own.
    pub(super) fn is_later_create(&self) -> bool {
        self.later.is_some()
    }

    /// Returns the body of a copy: the same bytes, or with retransmissionIndicator, and with a later time where the rules
    /// allow one. Of a Create that is while no other copy is under way, and without use.
    pub(super) fn copy(&mut self, copy: Copy) -> Vec<u8> {
        let is_later = copy.is_marked && copy.number.is_multiple_of(4);
        let has_indicator = copy.is_marked && copy.number.is_multiple_of(2);
        let mut body = self.body.clone();
        let now = || time_stamp(clock::wall_ms());
        let time = match self.words.kind {
            Kind::Initial => {
                // With use, a session that had ended meanwhile would be charged twice.
                let may_be_later = copy.is_alone && self.words.used() == 0;
                if is_later && may_be_later && self.later.is_none() {
                    self.later = Some(now());
                }
                self.later.clone()
            }
            Kind::Update | Kind::Termination => (is_later && self.counts).then(now),
            _ => None,
        };
        if has_indicator || time.is_some() {
            body["retransmissionIndicator"] = json!(true);
        }
        if let Some(time) = time {
            body["invocationTimeStamp"] = json!(time);
        }
        body.to_string().into_bytes()
    }
}

fn usage(part: &Part, number: u32) -> Value {
    let mut usage = Map::new();
    usage.insert("ratingGroup".to_owned(), json!(part.rating_group));
    if part.asked.is_some() {
        usage.insert("requestedUnit".to_owned(), json!({ "totalVolume": part.asked() }));
    }
    if part.used.is_some() {
        // Reported by direction, as networks do.
        let (uplink, total) = (part.used() / 3, part.used());
        let container = json!({
            "localSequenceNumber": number,
            "quotaManagementIndicator": "ONLINE_CHARGING",
            "uplinkVolume": uplink,
            "downlinkVolume": total - uplink,
        });
        usage.insert("usedUnitContainer".to_owned(), json!([container]));
    }
    Value::Object(usage)
}

fn time_stamp(ms: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).ok();
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_diameter_sim::load::{Quantity, Subscriber};

    /// Time of the first copy.
    const FIRST_MS: i64 = 1_767_268_800_000;

    fn message(kind: Kind, charging_id: u32) -> Message {
        let octets = Some(Quantity::Octets(7));
        let used = octets.filter(|_| kind != Kind::Initial);
        let words = Words {
            host: "smf".to_owned(),
            subscriber: Subscriber::Imsi("1".to_owned()),
            session: "s".to_owned(),
            kind,
            number: 3,
            parts: vec![Part { rating_group: 10, used, asked: octets, ..Part::default() }],
            refund: Vec::new(),
        };
        Message::new(1, &words, Resource::new(charging_id), FIRST_MS)
    }

    fn copy(number: u64, is_alone: bool) -> Copy {
        Copy { number, is_marked: true, is_alone }
    }

    /// Returns whether a copy has retransmissionIndicator, and another time than the first.
    fn marks(message: &mut Message, copy: Copy) -> (bool, bool) {
        let body: Value = serde_json::from_slice(&message.copy(copy)).expect("JSON");
        let is_later = body["invocationTimeStamp"] != json!(time_stamp(FIRST_MS));
        (body["retransmissionIndicator"] == true, is_later)
    }

    #[test]
    fn copies_differ_only_as_the_rules_allow() {
        let (counts, writes_zeros) = (2, 3);
        for kind in [Kind::Initial, Kind::Update, Kind::Termination, Kind::Debit, Kind::Settle] {
            for charging_id in [counts, writes_zeros] {
                let mut message = message(kind, charging_id);
                assert_eq!(message.number(), if charging_id == counts { 3 } else { 0 });
                let first = message.copy(Copy { number: 4, is_marked: false, is_alone: true });
                assert_eq!(message.copy(copy(1, true)), first, "the same bytes");
                assert_eq!(marks(&mut message, copy(2, true)), (true, false));
                let is_of_counting =
                    charging_id == counts && !matches!(kind, Kind::Debit | Kind::Settle);
                let may_be_later = if kind == Kind::Initial { false } else { is_of_counting };
                assert_eq!(marks(&mut message, copy(4, false)), (true, may_be_later), "{kind:?}");
            }
        }
    }

    #[test]
    fn a_create_that_is_alone_may_have_a_later_time_and_keeps_it() {
        let mut message = message(Kind::Initial, 3);
        assert!(!message.is_later_create());
        let later = message.copy(copy(4, true));
        assert!(message.is_later_create() && message.copy(copy(1, false)) == later);
        assert_eq!(marks(&mut message, copy(8, true)), (true, true));
        assert_eq!(message.copy(copy(12, true)), later);
    }
}
