//! Splits a line of input into the words of a command.

use anyhow::{Context, Result, bail};
use std::iter::{Copied, Peekable};
use std::slice::Iter;

type Rest<'a> = Peekable<Copied<Iter<'a, u8>>>;

/// Splits a line at blanks. Quotes keep them.
///
/// # Errors
/// If a quote is not closed, a closing quote is not followed by a blank, or an escape is unknown.
pub(super) fn split(line: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut rest = line.iter().copied().peekable();
    let mut words = Vec::new();
    loop {
        while rest.next_if(u8::is_ascii_whitespace).is_some() {}
        let Some(&first) = rest.peek() else { return Ok(words) };
        words.push(match first {
            b'"' | b'\'' => quoted(&mut rest, first)?,
            _ => plain(&mut rest),
        });
    }
}

fn plain(rest: &mut Rest<'_>) -> Vec<u8> {
    std::iter::from_fn(|| rest.next_if(|byte| !byte.is_ascii_whitespace())).collect()
}

fn quoted(rest: &mut Rest<'_>, quote: u8) -> Result<Vec<u8>> {
    rest.next();
    let mut word = Vec::new();
    loop {
        let byte = rest.next().context("a quote is not closed")?;
        if byte == quote {
            break;
        }
        let is_escape = byte == b'\\' && quote == b'"';
        word.push(if is_escape { escaped(rest)? } else { byte });
    }
    if rest.peek().is_some_and(|byte| !byte.is_ascii_whitespace()) {
        bail!("a closing quote is followed by something: put a blank between");
    }
    Ok(word)
}

fn escaped(rest: &mut Rest<'_>) -> Result<u8> {
    Ok(match rest.next().context("a quote is not closed")? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'x' => {
            let digits = [rest.next(), rest.next()].map(|digit| digit.map(char::from));
            let digit = |at: usize| digits[at].and_then(|digit: char| digit.to_digit(16));
            let value = digit(0).zip(digit(1)).map(|(high, low)| 16 * high + low);
            let value = value.context("\\x is not followed by two hexadecimal digits")?;
            u8::try_from(value).unwrap_or_default()
        }
        other @ (b'"' | b'\\') => other,
        other => bail!("\\{} is no escape: write \\\\ for a backslash", char::from(other)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_blanks_and_kept_together_by_quotes() {
        let words = |line: &str| -> Vec<Vec<u8>> { split(line.as_bytes()).unwrap() };
        assert_eq!(words("  \t\n"), Vec::<Vec<u8>>::new());
        assert_eq!(words("GET  a\n"), [b"GET".to_vec(), b"a".to_vec()]);
        assert_eq!(
            words(r#"SET a "" 'b c' "d \"\\\n\x00\xfF""#)[2..],
            [Vec::new(), b"b c".to_vec(), b"d \"\\\n\x00\xff".to_vec()]
        );
        assert_eq!(split(b"GET caf\xe9\n").unwrap()[1], b"caf\xe9");
        // Inside a word quotes are ordinary bytes, and '...' has no escapes.
        assert_eq!(words(r#"it's '\n'"#), [b"it's".to_vec(), br"\n".to_vec()]);
    }

    #[test]
    fn what_cannot_be_split_is_refused() {
        for (line, expected) in [
            ("GET \"a", "not closed"),
            ("GET 'a\\'b'", "put a blank between"),
            ("GET \"a\\", "not closed"),
            ("GET \"\\q\"", "no escape"),
            ("GET \"\\x1\"", "hexadecimal"),
        ] {
            let error = split(line.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
