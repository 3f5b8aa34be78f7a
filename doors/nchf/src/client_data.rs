//! The DATA of a session: where its consumer is notified.

use crate::version::Version;

/// Longest DATA of a session, bytes: a store must take it (blob_len_max).
pub(crate) const DATA_LEN_MAX: usize = 256;
/// First word.
const PROTOCOL: &str = "nchf";

/// Returns the URI at which the consumer of a session is notified. None if its DATA is not of this door.
pub(crate) fn notify_uri(data: &[u8]) -> Option<&str> {
    let mut words = std::str::from_utf8(data).ok()?.splitn(3, ' ');
    let is_own = words.next()? == PROTOCOL;
    let (_version, uri) = (words.next()?, words.next()?);
    is_own.then_some(uri)
}

/// Returns the DATA of a session. It does not depend on the door that the request came to, so that a duplicate at another door is
/// one. None if the consumer is not to be notified, or the URI is too long: the session is charged all the same.
pub(crate) fn data(version: Version, notify_uri: Option<&str>) -> Option<Vec<u8>> {
    let uri = notify_uri.filter(|uri| !uri.is_empty() && !uri.contains(char::is_whitespace))?;
    let data = format!("{PROTOCOL} {} {uri}", version.word());
    (data.len() <= DATA_LEN_MAX).then(|| data.into_bytes())
}
