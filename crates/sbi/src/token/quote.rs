//! Texts of others in our errors.

/// Characters of a text that an error shows.
const CHARS_MAX: usize = 64;

/// Returns a text in quotes with control characters escaped, shortened if it is long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Returns the beginning of a text, unquoted, with control characters escaped.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(2 * CHARS_MAX).flat_map(char::escape_debug).collect()
}
