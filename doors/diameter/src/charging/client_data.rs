//! The DATA of a session: which client has it, for requests of this server to it.

use super::ids;

/// Longest DATA, bytes: what a store takes by default (blob_len_max).
const DATA_LEN_MAX: usize = 256;

/// Returns the DATA of a session: words with a space between. Identities of Diameter have no spaces; the Session-Id
/// is the last word, if the ledger's session has another id. It does not depend on the door that the request came to, so
/// that a duplicate at another door is one. None if the names are too long: the session is charged all the same.
pub(super) fn client_data(host: &str, realm: &str, session_id: &str) -> Option<Vec<u8>> {
    let mut data = format!("diameter {host} {realm}");
    if ids::is_digest(session_id) {
        data.push(' ');
        data.push_str(session_id);
    }
    (data.len() <= DATA_LEN_MAX).then(|| data.into_bytes())
}
