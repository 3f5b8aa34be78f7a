//! The DATA of a session: its charging id, for those who read events, and where its consumer is notified.

use crate::version::Version;

/// Longest DATA of a session, bytes: a store must take it (blob_len_max).
pub(crate) const DATA_LEN_MAX: usize = 256;
/// First word.
const PROTOCOL: &str = "nchf";
/// In place of a charging id.
const NO_CHARGING_ID: &str = "-";

/// Returns the URI at which the consumer of a session is notified. None if its DATA is not of this door.
pub(crate) fn notify_uri(data: &[u8]) -> Option<&str> {
    let mut words = std::str::from_utf8(data).ok()?.splitn(4, ' ');
    let is_own = words.next()? == PROTOCOL;
    let (_version, _charging_id, uri) = (words.next()?, words.next()?, words.next()?);
    is_own.then_some(uri)
}

/// Returns the DATA of a session: words with a space between, the URI last and only if the consumer is to be notified. It does
/// not depend on the door that the request came to, so that a duplicate at another door is one. A URI or a charging id that is
/// too long is left out: the session is charged all the same.
pub(crate) fn data(
    version: Version,
    charging_id: Option<&str>,
    notify_uri: Option<&str>,
) -> Option<Vec<u8>> {
    let is_word = |word: &&str| !word.is_empty() && !word.contains(char::is_whitespace);
    let (charging_id, uri) = (charging_id.filter(is_word), notify_uri.filter(is_word));
    let data = |charging_id: Option<&str>, uri: Option<&str>| {
        let id = charging_id.unwrap_or(NO_CHARGING_ID);
        let mut data = format!("{PROTOCOL} {} {id}", version.word());
        if let Some(uri) = uri {
            data.push(' ');
            data.push_str(uri);
        }
        Some(data).filter(|data| data.len() <= DATA_LEN_MAX)
    };
    charging_id.or(uri)?;
    let found =
        data(charging_id, uri).or_else(|| data(None, uri)).or_else(|| data(charging_id, None));
    found.map(String::into_bytes)
}
