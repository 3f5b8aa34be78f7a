//! The DATA of a session: which client has it, for requests of this server to it.

use super::ids;

/// Longest DATA of a session, bytes: a store must take it (blob_len_max).
pub const DATA_LEN_MAX: usize = 256;
/// First word.
const PROTOCOL: &str = "diameter";

/// The client of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionClient<'a> {
    /// Origin-Host of its requests.
    pub(crate) host: &'a str,
    /// Origin-Realm of its requests.
    pub(crate) realm: &'a str,
    /// Session-Id, if the ledger's session has another id.
    pub(crate) session_id: Option<&'a str>,
}

impl<'a> SessionClient<'a> {
    pub(super) fn new(host: &'a str, realm: &'a str, session_id: &'a str) -> SessionClient<'a> {
        let session_id = ids::is_digest(session_id).then_some(session_id);
        SessionClient { host, realm, session_id }
    }

    /// Reads the DATA of a session. None if it is not of this door.
    pub(crate) fn read(data: &'a [u8]) -> Option<SessionClient<'a>> {
        let mut words = std::str::from_utf8(data).ok()?.splitn(4, ' ');
        let is_own = words.next()? == PROTOCOL;
        let (host, realm, session_id) = (words.next()?, words.next()?, words.next());
        is_own.then_some(SessionClient { host, realm, session_id })
    }

    /// Returns the DATA: words with a space between. Identities of Diameter have no spaces; the Session-Id is the last
    /// word. It does not depend on the door that the request came to, so that a duplicate at another door is one. None
    /// if the names are too long: the session is charged all the same.
    pub(super) fn data(&self) -> Option<Vec<u8>> {
        let SessionClient { host, realm, session_id } = self;
        let mut data = format!("{PROTOCOL} {host} {realm}");
        if let Some(session_id) = session_id {
            data.push(' ');
            data.push_str(session_id);
        }
        (data.len() <= DATA_LEN_MAX).then(|| data.into_bytes())
    }
}
