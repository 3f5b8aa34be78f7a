//! The DATA of a session: which client has it, for requests of this server to it.

use super::ids;

/// First word of the DATA of sessions that came over Diameter.
const MARK: &str = "diameter";

/// The client of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientData {
    /// Origin-Host of the session's first request.
    pub(crate) host: String,
    /// Origin-Realm of that request.
    pub(crate) realm: String,
    /// Session-Id, if the ledger's session has another id.
    pub(crate) session_id: Option<String>,
}

impl ClientData {
    /// Returns the DATA: words with a space between. Identities of Diameter have no spaces; Session-Id is the last word.
    /// It does not depend on the door that the request came to, so that a duplicate at another door is one.
    pub(super) fn encode(host: &str, realm: &str, session_id: &str) -> Vec<u8> {
        if ids::is_digest(session_id) {
            format!("{MARK} {host} {realm} {session_id}").into_bytes()
        } else {
            format!("{MARK} {host} {realm}").into_bytes()
        }
    }

    /// Reads the DATA of a session. None if the session did not come over Diameter.
    #[expect(dead_code, reason = "requests of the server to clients need it")]
    pub(crate) fn read(data: &[u8]) -> Option<ClientData> {
        let mut words = std::str::from_utf8(data).ok()?.splitn(4, ' ');
        if words.next()? != MARK {
            return None;
        }
        let (host, realm) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some(ClientData { host, realm, session_id: words.next().map(str::to_owned) })
    }
}
