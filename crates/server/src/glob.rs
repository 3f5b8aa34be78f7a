//! Patterns of SCAN and CONFIG GET: `*`, `?`, `[a-z]`, `[^a]` and `\` before a character, with the corner cases of
//! Redis: a class without its end extends to the end of the pattern, the bytes of a range are signed, and only the
//! empty pattern matches the empty text.

use std::fmt;

/// Maximum number of matching steps of one command, about 5 ms: the product of the lengths of a pattern and a text can
/// be a thousand times as large, and the core serves no other client meanwhile.
const STEPS_MAX: u64 = 5_000_000;

/// Matching steps that are left to a command, for all texts that it examines.
pub(crate) struct Budget {
    steps_left: u64,
}

impl Budget {
    pub(crate) fn of_a_command() -> Budget {
        Budget { steps_left: STEPS_MAX }
    }

    fn spend(&mut self, steps: usize) -> Result<(), BudgetSpent> {
        self.steps_left = self.steps_left.checked_sub(steps as u64).ok_or(BudgetSpent)?;
        Ok(())
    }
}

/// The budget is exhausted: whether the text matches is unknown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BudgetSpent;

impl fmt::Display for BudgetSpent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERR the pattern takes more than {STEPS_MAX} steps of matching")
    }
}

/// Reports whether the whole text matches, in any case of letters. Stars alone match the empty text too.
pub(crate) fn matches(
    pattern: &[u8],
    text: &[u8],
    budget: &mut Budget,
) -> Result<bool, BudgetSpent> {
    if text.is_empty() {
        budget.spend(pattern.len())?;
        return Ok(pattern.iter().all(|&byte| byte == b'*'));
    }
    Matcher { any_case: true }.matches(pattern, text, budget)
}

/// Reports whether the whole text matches exactly, as for MATCH of SCAN.
pub(crate) fn matches_exactly(
    pattern: &[u8],
    text: &[u8],
    budget: &mut Budget,
) -> Result<bool, BudgetSpent> {
    if text.is_empty() {
        return Ok(pattern.is_empty());
    }
    Matcher { any_case: false }.matches(pattern, text, budget)
}

#[derive(Clone, Copy)]
struct Matcher {
    any_case: bool,
}

impl Matcher {
    /// Matches the text. Every byte that is examined is a step; the bytes of a class count each time that it is read.
    fn matches(
        self,
        pattern: &[u8],
        text: &[u8],
        budget: &mut Budget,
    ) -> Result<bool, BudgetSpent> {
        let (mut p, mut t) = (0, 0);
        // The last star, and where in the text its match was last assumed to end.
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            if pattern.get(p) == Some(&b'*') {
                budget.spend(1)?;
                star = Some((p, t));
                p += 1;
                if p == pattern.len() {
                    return Ok(true);
                }
                continue;
            }
            let (len, is_match) = self.one(&pattern[p..], text[t]);
            budget.spend(len.max(1))?;
            if is_match {
                p += len;
                t += 1;
            // No match: let the last star cover one more byte of the text, and try again from there.
            } else if let Some((star_p, star_t)) = star {
                star = Some((star_p, star_t + 1));
                (p, t) = (star_p + 1, star_t + 1);
            } else {
                return Ok(false);
            }
        }
        // The text has ended: only stars may be left.
        budget.spend(pattern.len() - p)?;
        Ok(pattern[p..].iter().all(|&byte| byte == b'*'))
    }

    fn fold(self, byte: u8) -> i8 {
        let byte = if self.any_case { byte.to_ascii_lowercase() } else { byte };
        i8::from_ne_bytes([byte])
    }

    /// Returns the length of the pattern's first element, and whether it matches this byte.
    fn one(self, pattern: &[u8], byte: u8) -> (usize, bool) {
        let byte = self.fold(byte);
        match pattern {
            [] => (0, false),
            [b'?', ..] => (1, true),
            [b'[', class @ ..] => {
                let (len, matched) = self.class(class, byte);
                (1 + len, matched)
            }
            [b'\\', escaped, ..] => (2, self.fold(*escaped) == byte),
            [other, ..] => (1, self.fold(*other) == byte),
        }
    }

    /// Returns the length of a class after its bracket, and whether the byte is in it.
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
    use super::{Budget, BudgetSpent};

    fn matches(pattern: &[u8], text: &[u8]) -> bool {
        super::matches(pattern, text, &mut Budget::of_a_command()).expect("it is short")
    }

    fn matches_exactly(pattern: &[u8], text: &[u8]) -> bool {
        super::matches_exactly(pattern, text, &mut Budget::of_a_command()).expect("it is short")
    }

    /// Returns the outcome of a match with this many steps, and the number of steps used.
    fn within(steps: u64, pattern: &[u8], text: &[u8]) -> (Result<bool, BudgetSpent>, u64) {
        let mut budget = Budget { steps_left: steps };
        let outcome = super::matches_exactly(pattern, text, &mut budget);
        (outcome, steps - budget.steps_left)
    }

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

    #[test]
    fn a_match_takes_the_steps_that_it_is_given_and_no_more() {
        let text = [b'a'; 400];
        let product = [&b"*"[..], &[b'a'; 199], b"b"].concat();
        let (outcome, steps) = within(1_000_000, &product, &text);
        assert_eq!(outcome, Ok(false));
        assert!((40_000..80_000).contains(&steps), "about the half of the product: {steps}");
        assert_eq!(within(steps, &product, &text), (Ok(false), steps));
        assert_eq!(within(steps - 1, &product, &text).0, Err(BudgetSpent));
        // Common patterns cost as many steps as they are long.
        assert_eq!(within(1, b"*", &text), (Ok(true), 1));
        assert_eq!(within(5, b"aaaa*", &text), (Ok(true), 5));
        assert_eq!(within(802, b"*b", &text).0, Ok(false));
        // A class costs its length for each byte that it is compared with.
        let class = [&b"*["[..], &[b'b'; 998], b"]"].concat();
        let (outcome, steps) = within(1_000_000, &class, &text);
        assert_eq!(outcome, Ok(false));
        assert!(steps >= 400 * 1_000, "{steps}");
        let stars = [b'*'; 300];
        assert_eq!(within(300, &stars, b"a"), (Ok(true), 300));
        assert_eq!(within(299, &stars, b"a").0, Err(BudgetSpent));
    }
}
