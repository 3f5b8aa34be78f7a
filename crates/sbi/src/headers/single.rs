//! Headers that a request has at most once.

use http::{HeaderMap, HeaderName};

/// Reads a header without the spaces around it; None if it is not there.
///
/// # Errors
/// What is wrong with it: it is there twice, or `read` does not accept it.
pub(crate) fn single<T>(
    headers: &HeaderMap,
    name: &HeaderName,
    read: impl FnOnce(&[u8]) -> Result<T, &'static str>,
) -> Result<Option<T>, &'static str> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err("it is there more than once");
    }
    read(value.as_bytes().trim_ascii()).map(Some)
}

/// Returns the number that digits write; None if there are none, more than `digits_max`, or other characters.
pub(crate) fn number(text: &[u8], digits_max: usize) -> Option<u32> {
    let is_number = (1..=digits_max).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| text.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')))
}
