//! Inline requests, as a user types them over telnet, with Redis's rules for quotes.

use crate::args::ArgumentSpan;

/// Splits a line into arguments, and appends them unquoted to `out`. Returns `None` if a quote is not closed, or is
/// closed inside a word.
pub(crate) fn split(line: &[u8], out: &mut Vec<u8>, spans: &mut Vec<ArgumentSpan>) -> Option<()> {
    let mut rest = line;
    loop {
        rest = rest.trim_ascii_start();
        // Vertical tab is white space for Redis but not for Rust.
        while let [0x0b, tail @ ..] = rest {
            rest = tail.trim_ascii_start();
        }
        if rest.is_empty() {
            return Some(());
        }
        let start = out.len();
        rest = word(rest, out)?;
        spans.push(ArgumentSpan::new(start, out.len() - start));
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Unquotes one word, and returns the bytes after it.
fn word<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return Some(rest),
            [space, ..] if is_space(*space) => return Some(rest),
            [b'"', tail @ ..] => return double_quoted(tail, out),
            [b'\'', tail @ ..] => return single_quoted(tail, out),
            [byte, tail @ ..] => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
}

fn double_quoted<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return None,
            [b'\\', b'x', high, low, tail @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                out.push(hex(*high) << 4 | hex(*low));
                rest = tail;
            }
            [b'\\', escaped, tail @ ..] => {
                out.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                });
                rest = tail;
            }
            [b'"', tail @ ..] => return closed(tail),
            [byte, tail @ ..] => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return None,
            [b'\\', b'\'', tail @ ..] => {
                out.push(b'\'');
                rest = tail;
            }
            [b'\'', tail @ ..] => return closed(tail),
            [byte, tail @ ..] => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
}

/// Checks that a closing quote ends the word.
fn closed(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [] => Some(rest),
        [space, ..] if is_space(*space) => Some(rest),
        _ => None,
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
        let (mut out, mut spans) = (Vec::new(), Vec::new());
        split(line, &mut out, &mut spans)?;
        let word = |span: &ArgumentSpan| out[span.start as usize..][..span.len as usize].to_vec();
        Some(spans.iter().map(word).collect())
    }

    #[test]
    fn quotes_follow_redis() {
        let some =
            |words: &[&[u8]]| Some(words.iter().map(|word| word.to_vec()).collect::<Vec<_>>());
        assert_eq!(words(b""), some(&[]));
        assert_eq!(words(b" \t \x0b "), some(&[]));
        assert_eq!(words(b"  set a   b "), some(&[b"set", b"a", b"b"]));
        assert_eq!(words(br#"set a "b c""#), some(&[b"set", b"a", b"b c"]));
        assert_eq!(words(br#"echo "\x41\n\"\\\q""#), some(&[b"echo", b"A\n\"\\q"]));
        assert_eq!(words(br#"echo "\xZZ""#), some(&[b"echo", b"xZZ"]));
        assert_eq!(words(br"echo 'it\'s \n'"), some(&[b"echo", br"it's \n"]));
        assert_eq!(words(br#"echo """#), some(&[b"echo", b""]));
        assert_eq!(words(br#"fo"o bar""#), some(&[b"foo bar"]));
        assert_eq!(words(br#"echo "open"#), None);
        assert_eq!(words(br"echo 'open"), None);
        assert_eq!(words(br#"echo "a"b"#), None);
        assert_eq!(words(br#"echo "a\"#), None);
    }
}
