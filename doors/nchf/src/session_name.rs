//! The id of the ledger's session of a Create. A repeated Create has the same id; one of a consumer that has restarted,
//! and counts its charging ids from 1 again, has another.

use crate::request::ChargingDataRequest;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_128;

/// Id of a session: `nchf-`, the digest of what names it but the time, and the time of its Create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionName {
    digest: u128,
    /// invocationTimeStamp of the Create, ms since 1970.
    pub(crate) created_ms: i64,
}

const PREFIX: &str = "nchf-";

impl SessionName {
    /// Returns the name of a Create. `body` is the request as it came: without a charging id, it alone tells one request
    /// from another.
    pub(crate) fn of(request: &ChargingDataRequest, created_ms: i64, body: &[u8]) -> SessionName {
        let consumer = &request.nf_consumer_identification;
        let charging_id = match request.charging_id() {
            Some(charging_id) => charging_id,
            None => format!("-{:032x}", digest_of_body(body)),
        };
        let pdu_session = request.pdu_session_id().map(|id| id.to_string()).unwrap_or_default();
        let mut text = Vec::new();
        for part in [&consumer.node_functionality, consumer.name(), &charging_id, &pdu_session] {
            // The length prefixes make "ab", "c" differ from "a", "bc".
            text.extend_from_slice(&part.len().to_be_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        SessionName { digest: xxh3_128(&text), created_ms }
    }

    /// Returns the transaction id of an event with this number.
    pub(crate) fn of_event(&self, number: u32) -> String {
        format!("{}-{number}", self.id())
    }

    /// Returns the id of the ledger's session.
    pub(crate) fn id(&self) -> String {
        format!("{PREFIX}{:032x}-{:x}", self.digest, self.created_ms)
    }

    /// Reads an id. None if it is of no session of this door.
    pub(crate) fn read(id: &str) -> Option<SessionName> {
        let (digest, created) = id.strip_prefix(PREFIX)?.split_once('-')?;
        let is_hex = |text: &str| text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if digest.len() != 32 || !is_hex(digest) || !is_hex(created) {
            return None;
        }
        let digest = u128::from_str_radix(digest, 16).ok()?;
        let name = SessionName { digest, created_ms: i64::from_str_radix(created, 16).ok()? };
        (name.id() == id).then_some(name)
    }

    /// Reports whether another name is that of the same consumer, charging id and PDU session, at whatever time.
    pub(crate) fn is_of_same(&self, other: &SessionName) -> bool {
        self.digest == other.digest
    }
}

/// Returns the digest of a body without what differs when it is sent again.
fn digest_of_body(body: &[u8]) -> u128 {
    let mut members: Map<String, Value> = serde_json::from_slice(body).unwrap_or_default();
    members.remove("retransmissionIndicator");
    members.remove("invocationTimeStamp");
    xxh3_128(&serde_json::to_vec(&members).unwrap_or_default())
}
