//! Escapes text from servers and users before it reaches a terminal, so that no control sequence in it takes effect.

use std::fmt::Write;

/// Escapes a text onto one line, with control characters as `\xNN`.
pub(crate) fn escaped(text: &str) -> String {
    escaped_except(text, |_| false)
}

/// Escapes a text of several lines and keeps its line breaks.
pub(crate) fn escaped_lines(text: &str) -> String {
    escaped_except(text, |letter| letter == '\n')
}

fn escaped_except(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if !letter.is_control() || stays(letter) {
            out.push(letter);
            continue;
        }
        for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        assert_eq!(escaped("a\x1b[2J\r\n\u{9b}é\t"), "a\\x1b[2J\\x0d\\x0a\\xc2\\x9bé\\x09");
        assert_eq!(escaped_lines("a\n\x07b\n"), "a\n\\x07b\n");
    }
}
