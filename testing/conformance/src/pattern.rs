//! The expected result at the end of a line: parses it and compares it with a reply.

use crate::text::{kept_name, relative, unquote};
use crate::value::{Value, pairs};

/// An expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `_`: any value.
    Any,
    /// Integer, or a time relative to the start.
    Int(i128),
    /// String.
    Word(Vec<u8>),
    /// `nil`.
    Nil,
    /// `[a, b]`. With `...` at the end more elements are allowed.
    Array(Vec<Pattern>, Remainder),
    /// `{k: v}`. With `...` at the end more entries and any order are allowed.
    Map(Vec<(Vec<u8>, Pattern)>, Remainder),
    /// `!CODE` or `!CODE "part"`: an error with this first word and this part of its text.
    Error {
        /// First word of the error.
        code: String,
        /// Part of its text. May be empty.
        part: String,
    },
    /// `$name`: any string, which is stored, or the string stored under this name before.
    Kept(String),
}

/// Whether the pattern ends with `...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// No more elements are allowed.
    Closed,
    /// More elements are allowed.
    Open,
}

impl Pattern {
    /// Parses an expected result.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        if let Some(name) = kept_name(text) {
            return Ok(Pattern::Kept(name.to_owned()));
        }
        let mut parser = Parser { rest: text };
        let pattern = parser.pattern()?;
        match parser.peek() {
            None => Ok(pattern),
            Some(_) => Err(format!("unexpected after the result: {}", parser.rest)),
        }
    }

    /// Reports whether the reply matches. A flat array of RESP2 matches a map. Stored replies are compared by the run,
    /// not here.
    pub fn matches(&self, value: &Value) -> bool {
        match (self, value) {
            (Pattern::Any, _) | (Pattern::Nil, Value::Nil) => true,
            (Pattern::Int(expected), Value::Int(actual)) => expected == actual,
            // A number beyond 64 bits is a big number in RESP3 and a string of digits in RESP2.
            (Pattern::Int(expected), Value::Word(actual)) => {
                i64::try_from(*expected).is_err() && expected.to_string().as_bytes() == actual
            }
            (Pattern::Word(expected), Value::Word(actual)) => expected == actual,
            (Pattern::Array(expected, more), Value::Array(actual)) => {
                (expected.len() == actual.len()
                    || (*more == Remainder::Open && expected.len() < actual.len()))
                    && expected.iter().zip(actual).all(|(pattern, value)| pattern.matches(value))
            }
            (Pattern::Map(expected, more), Value::Map(actual)) => map(expected, *more, actual),
            (Pattern::Map(expected, more), Value::Array(flat)) => {
                flat.len() % 2 == 0 && map(expected, *more, &pairs(flat.clone()))
            }
            (Pattern::Error { code, part }, Value::Error(text)) => {
                text.split(' ').next() == Some(code) && text.contains(part.as_str())
            }
            _ => false,
        }
    }

    /// Returns the expected code: that of an error, or the first word of an array.
    pub fn code(&self) -> Option<String> {
        match self {
            Pattern::Error { code, .. } => Some(code.clone()),
            Pattern::Array(items, _) => match items.first() {
                Some(Pattern::Word(word)) => String::from_utf8(word.clone()).ok(),
                _ => None,
            },
            _ => None,
        }
    }
}

fn map(expected: &[(Vec<u8>, Pattern)], more: Remainder, actual: &[(Value, Value)]) -> bool {
    let is = |key: &[u8], value: &Value| matches!(value, Value::Word(word) if word == key);
    match more {
        Remainder::Open => expected.iter().all(|(key, pattern)| {
            actual.iter().any(|(found, value)| is(key, found) && pattern.matches(value))
        }),
        Remainder::Closed => {
            expected.len() == actual.len()
                && expected.iter().zip(actual).all(|((key, pattern), (found, value))| {
                    is(key, found) && pattern.matches(value)
                })
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// Skips blanks and commas, and returns the next character.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        self.rest.chars().next()
    }

    fn eat(&mut self, text: &str) -> bool {
        self.peek();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn bare(&mut self) -> Result<&'a str, String> {
        self.peek();
        let ends = |c: char| c.is_whitespace() || ",[]{}:\"".contains(c);
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.is_empty() { Err("a result is missing".to_owned()) } else { Ok(word) }
    }

    fn quoted(&mut self) -> Result<Option<Vec<u8>>, String> {
        if !self.eat("\"") {
            return Ok(None);
        }
        let (bytes, rest) = unquote(self.rest)?;
        self.rest = rest;
        Ok(Some(bytes))
    }

    fn pattern(&mut self) -> Result<Pattern, String> {
        if self.eat("[") {
            return self.array();
        }
        if self.eat("{") {
            return self.map();
        }
        if self.eat("!") {
            let code = self.bare()?.to_owned();
            let part = self.quoted()?.unwrap_or_default();
            let part = String::from_utf8(part).map_err(|_| "part of a message must be text")?;
            return Ok(Pattern::Error { code, part });
        }
        if let Some(bytes) = self.quoted()? {
            return Ok(Pattern::Word(bytes));
        }
        let word = self.bare()?;
        if let Some(time) = relative(word) {
            return Ok(Pattern::Int(i128::from(time)));
        }
        if let Ok(value) = word.parse::<i128>() {
            return Ok(Pattern::Int(value));
        }
        match word {
            "_" => Ok(Pattern::Any),
            "nil" => Ok(Pattern::Nil),
            word if word.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                Ok(Pattern::Word(word.as_bytes().to_vec()))
            }
            other => Err(format!("{other} is neither a number nor a word: quote it")),
        }
    }

    fn array(&mut self) -> Result<Pattern, String> {
        let mut items = Vec::new();
        loop {
            if self.eat("]") {
                return Ok(Pattern::Array(items, Remainder::Closed));
            }
            if self.eat("...") {
                return if self.eat("]") {
                    Ok(Pattern::Array(items, Remainder::Open))
                } else {
                    Err("... must stand at the end of an array".to_owned())
                };
            }
            if self.peek().is_none() {
                return Err("an array does not end".to_owned());
            }
            items.push(self.pattern()?);
        }
    }

    fn map(&mut self) -> Result<Pattern, String> {
        let mut entries = Vec::new();
        loop {
            if self.eat("}") {
                return Ok(Pattern::Map(entries, Remainder::Closed));
            }
            if self.eat("...") {
                return if self.eat("}") {
                    Ok(Pattern::Map(entries, Remainder::Open))
                } else {
                    Err("... must stand at the end of a map".to_owned())
                };
            }
            if self.peek().is_none() {
                return Err("a map does not end".to_owned());
            }
            let key = match self.quoted()? {
                Some(key) => key,
                None => self.bare()?.as_bytes().to_vec(),
            };
            if !self.eat(":") {
                return Err(format!("a colon is missing after {}", key.escape_ascii()));
            }
            entries.push((key, self.pattern()?));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, reply: &[u8]) -> bool {
        let value = Value::read_whole(reply).expect(pattern);
        Pattern::parse(pattern).expect(pattern).matches(&value)
    }

    #[test]
    fn what_is_shown_is_read_back_and_matches() {
        for reply in [
            &b"*4\r\n+OK\r\n:0\r\n:2\r\n*1\r\n*2\r\n:7\r\n$-1\r\n"[..],
            b"%2\r\n$1\r\na\r\n:1700000000000\r\n$2\r\nb c\r\n*0\r\n",
            b"-INVALID 10 amount must be at least 1\r\n",
            b"$4\r\nt-17\r\n",
            b"$2\r\n\x00\xff\r\n",
        ] {
            let Ok(Some((value, _))) = Value::read(reply) else { continue };
            let text = value.to_string();
            assert!(Pattern::parse(&text).expect(&text).matches(&value), "{text}");
        }
    }

    #[test]
    fn any_and_more() {
        let reply = b"*3\r\n+OK\r\n:1\r\n:2\r\n";
        for good in
            ["[OK, 1, 2]", "[OK 1 2]", "[OK, _, 2]", "[OK, ...]", "[...]", "[OK,1,2,...]", "_"]
        {
            assert!(matches(good, reply), "{good}");
        }
        for bad in [
            "[OK, 1]",
            "[OK, 1, 2, 3, ...]",
            "[OK, 1, 3]",
            "[NO, ...]",
            "nil",
            "OK",
            "{OK: 1, ...}",
        ] {
            assert!(!matches(bad, reply), "{bad}");
        }
        for map in [&b"%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n"[..], b"*4\r\n+a\r\n:1\r\n+b\r\n:2\r\n"] {
            for good in ["{a: 1, b: 2}", "{b: 2, ...}", "{...}", "{a: _, b: _}"] {
                assert!(matches(good, map), "{good}");
            }
            for bad in ["{b: 2, a: 1}", "{a: 1}", "{a: 2, ...}", "{c: _, ...}"] {
                assert!(!matches(bad, map), "{bad}");
            }
        }
        assert!(!matches("[a, 1]", b"%1\r\n+a\r\n:1\r\n"), "a map of RESP3 is no array");
        assert!(matches("!INVALID \"amount\"", b"-INVALID 10 amount must be\r\n"));
        assert!(!matches("!INVALID \"floor\"", b"-INVALID 10 amount must be\r\n"));
        assert!(!matches("!INVALID", b"-INVALIDATE 10\r\n"));
        assert!(matches("9223372036854775808", b"$19\r\n9223372036854775808\r\n"));
        assert!(matches("9223372036854775808", b"(9223372036854775808\r\n"));
        assert!(!matches("12", b"$2\r\n12\r\n"), "what fits is an integer");
    }

    #[test]
    fn bad_results_are_refused() {
        for bad in
            ["", "[", "[OK", "{a 1}", "{a: 1", "[..., 1]", "OK OK", "!", "\"open", "-", "1x", "]"]
        {
            assert!(Pattern::parse(bad).is_err(), "{bad}");
        }
    }
}
