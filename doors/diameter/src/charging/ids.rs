//! Ids of the ledger for ids of Diameter.

use scurry_ledger::{ID_LEN_MAX, Id};
use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_128;

/// Returns the id of the ledger's session: the Session-Id itself, or its digest if that is no id of the ledger.
pub(super) fn session(session_id: &str) -> Cow<'_, [u8]> {
    if Id::is_id(session_id.as_bytes()) {
        return Cow::Borrowed(session_id.as_bytes());
    }
    Cow::Owned(digest(session_id))
}

/// Reports whether the id of the ledger's session is not the Session-Id itself.
pub(super) fn is_digest(session_id: &str) -> bool {
    !Id::is_id(session_id.as_bytes())
}

/// Returns the transaction id of a request without a session.
pub(super) fn transaction(session_id: &str, request_number: u32) -> Vec<u8> {
    let text = format!("{session_id}/{request_number}");
    if text.len() <= ID_LEN_MAX && Id::is_id(text.as_bytes()) {
        return text.into_bytes();
    }
    let mut id = digest(session_id);
    id.extend_from_slice(format!("/{request_number}").as_bytes());
    id
}

fn digest(session_id: &str) -> Vec<u8> {
    format!("diameter-{:032x}", xxh3_128(session_id.as_bytes())).into_bytes()
}
