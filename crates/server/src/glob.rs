//! Patterns as in KEYS and CONFIG GET: `*`, `?`, `[a-z]`, `[^a]` and `\` before a character.

/// True when the whole text matches, in any case of letters. It takes at most the product of
/// both lengths, whatever the pattern.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // The last star, and where in the text it was last taken to end.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, t));
            p += 1;
        } else if let Some(len) = one(&pattern[p..], text[t]) {
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

/// Length of the pattern's first element if it matches this byte.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    let same = |a: u8, b: u8| a.eq_ignore_ascii_case(&b);
    match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'[', class @ ..] => {
            let (negated, members) = match class {
                [b'^', members @ ..] => (true, members),
                members => (false, members),
            };
            let end = members.iter().position(|&member| member == b']').unwrap_or(members.len());
            let byte = byte.to_ascii_lowercase();
            let mut found = false;
            let mut rest = &members[..end];
            while let [first, tail @ ..] = rest {
                if let [b'-', last, tail @ ..] = tail {
                    let (first, last) = (first.to_ascii_lowercase(), last.to_ascii_lowercase());
                    found |= (first.min(last)..=first.max(last)).contains(&byte);
                    rest = tail;
                } else {
                    found |= same(*first, byte);
                    rest = tail;
                }
            }
            let closing = usize::from(end < members.len());
            (found != negated).then_some(1 + usize::from(negated) + end + closing)
        }
        [b'\\', escaped, ..] => same(*escaped, byte).then_some(2),
        [other, ..] => same(*other, byte).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

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
            ("[^q-t]ave", "save", false),
            ("[^q]ave", "save", true),
            ("s\\*ve", "s*ve", true),
            ("s\\*ve", "save", false),
            ("**a**", "bab", true),
            ("[", "a", false),
            ("[a", "a", true),
            ("*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }
}
