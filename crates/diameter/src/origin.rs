//! Who answers: the AVPs that begin each answer of ours are encoded once, when the server starts.

use crate::attribute::{ORIGIN_HOST, ORIGIN_REALM, ORIGIN_STATE_ID};
use crate::header::{Flags, Header};
use crate::writer::MessageWriter;

/// Host and realm of this server, and the state that it began with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    host: Box<str>,
    realm: Box<str>,
    state_id: Option<u32>,
    /// Origin-Host, Origin-Realm and Origin-State-Id.
    encoded: Box<[u8]>,
}

impl Origin {
    /// Creates the origin. `state_id` is Origin-State-Id: it increases whenever the server starts without the sessions
    /// that it had (RFC 6733, 8.16), so a server with durable sessions keeps it or leaves it out.
    #[must_use]
    pub fn new(host: &str, realm: &str, state_id: Option<u32>) -> Origin {
        let header =
            Header { flags: Flags(0), command: 0, application: 0, hop_by_hop: 0, end_to_end: 0 };
        let mut bytes = Vec::new();
        let mut writer = MessageWriter::begin(&mut bytes, header);
        writer.bytes(ORIGIN_HOST, host.as_bytes());
        writer.bytes(ORIGIN_REALM, realm.as_bytes());
        if let Some(state_id) = state_id {
            writer.u32(ORIGIN_STATE_ID, state_id);
        }
        writer.finish();
        let encoded = bytes.split_off(crate::header::HEADER_LEN).into_boxed_slice();
        Origin { host: host.into(), realm: realm.into(), state_id, encoded }
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the realm.
    #[must_use]
    pub fn realm(&self) -> &str {
        &self.realm
    }

    /// Returns Origin-State-Id.
    #[must_use]
    pub fn state_id(&self) -> Option<u32> {
        self.state_id
    }

    /// Writes Origin-Host, Origin-Realm and Origin-State-Id.
    pub fn write(&self, writer: &mut MessageWriter<'_>) {
        writer.encoded(&self.encoded);
    }
}
