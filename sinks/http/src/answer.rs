//! The answer of a receiver.

use std::time::Duration;

/// Longest wait that a receiver may ask for (Retry-After).
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(300);
/// How many bytes of a body are shown.
const SHOWN_MAX: usize = 512;

/// The answer of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// How long it asks to wait, within [`WAIT_MAX`].
    pub(crate) wait: Option<Duration>,
    /// The first bytes of its body, without control characters.
    pub(crate) text: String,
}

/// Returns the wait of a header Retry-After in seconds. None for a date: the pauses of the shipper apply then.
pub(crate) fn wait_of(header: Option<&http::HeaderValue>) -> Option<Duration> {
    let seconds = header?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(WAIT_MAX))
}

/// Returns the first bytes of a body as they are shown.
pub(crate) fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN_MAX)]).into_owned();
    let clean = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    clean.collect::<String>().trim().to_owned()
}
