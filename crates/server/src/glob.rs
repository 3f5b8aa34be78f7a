//! Patterns as in SCAN and CONFIG GET: `*`, `?`, `[a-z]`, `[^a]` and `\` before a character, with
//! the corners of Redis: a class without its end ends with the pattern, the bytes of a range
//! are signed, and nothing but the empty pattern matches the empty text.

/// True when the whole text matches, in any case of letters, the empty text by stars alone too.
/// It takes at most the product of both lengths, whatever the pattern.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    if text.is_empty() {
        return pattern.iter().all(|&byte| byte == b'*');
    }
    Matcher { any_case: true }.matches(pattern, text)
}

/// True when the whole text matches as it is written, as MATCH of SCAN has it.
pub(crate) fn matches_exactly(pattern: &[u8], text: &[u8]) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    Matcher { any_case: false }.matches(pattern, text)
}

#[derive(Clone, Copy)]
struct Matcher {
    any_case: bool,
}

impl Matcher {
    fn matches(self, pattern: &[u8], text: &[u8]) -> bool {
        let (mut p, mut t) = (0, 0);
        // The last star, and where in the text it was last taken to end.
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            if pattern.get(p) == Some(&b'*') {
                star = Some((p, t));
                p += 1;
            } else if let Some(len) = self.one(&pattern[p..], text[t]) {
                p += len;
                t += 1;
            } else if let Some((star_p, star_t)) = star {
                star = Some((star_p, star_t + 1));
                (p, t) = (star_p + 1, star_t + 1);
            } else {
                return false;
            }
        }
        pattern[p..].iter().all(|&byte| byte == b'*')
    }

    fn fold(self, byte: u8) -> i8 {
        let byte = if self.any_case { byte.to_ascii_lowercase() } else { byte };
        i8::from_ne_bytes([byte])
    }

    /// Length of the pattern's first element if it matches this byte.
    fn one(self, pattern: &[u8], byte: u8) -> Option<usize> {
        let byte = self.fold(byte);
        match pattern {
            [] => None,
            [b'?', ..] => Some(1),
            [b'[', class @ ..] => {
                let (len, matched) = self.class(class, byte);
                matched.then_some(1 + len)
            }
            [b'\\', escaped, ..] => (self.fold(*escaped) == byte).then_some(2),
            [other, ..] => (self.fold(*other) == byte).then_some(1),
        }
    }

    /// Length of a class behind its bracket, and whether the byte is in it.
    fn class(self, class: &[u8], byte: i8) -> (usize, bool) {
        let negated = class.first() == Some(&b'^');
        let mut at = usize::from(negated);
        let mut found = false;
        loop {
            at += match &class[at..] {
                [] => return (at, found != negated),
                [b']', ..] => return (at + 1, found != negated),
                [b'\\', escaped, ..] => {
                    found |= self.fold(*escaped) == byte;
                    2
                }
                [first, b'-', last, ..] => {
                    let (first, last) = (self.fold(*first), self.fold(*last));
                    found |= (first.min(last)..=first.max(last)).contains(&byte);
                    3
                }
                [member, ..] => {
                    found |= self.fold(*member) == byte;
                    1
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{matches, matches_exactly};

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "save", true),
            ("max*", "maxmemory", true),
            ("MAX*y", "maxmemory", true),
            ("max*x", "maxmemory", false),
            ("?ave", "save", true),
            ("[q-t]ave", "save", true),
            ("[t-q]ave", "save", true),
            ("[^q-t]ave", "save", false),
            ("[^q]ave", "save", true),
            ("s\\*ve", "s*ve", true),
            ("s\\*ve", "save", false),
            ("**a**", "bab", true),
            ("[", "a", false),
            ("[^", "a", true),
            ("[a", "a", true),
            ("[a-]", "]", true),
            ("[\\]]", "]", true),
            ("[]a", "a", false),
            ("a\\", "a\\", true),
            ("*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn keys_are_matched_as_they_are_written() {
        for (pattern, text, expected) in [
            (&b"A*"[..], &b"ab"[..], false),
            (b"[A-Z]", b"a", false),
            (b"a?", b"ab", true),
            (b"*", b"", false),
            (b"", b"", true),
            // Signed: 0xff is -1, just below 0.
            (b"[\xff-\x01]", b"\x00", true),
            (b"[\x7f-\x80]", b"a", true),
        ] {
            assert_eq!(matches_exactly(pattern, text), expected, "{pattern:?} {text:?}");
        }
    }
}
