//! Inline requests: quotes have the meaning that Redis documents, implemented a second time as a machine with named
//! states; and any words, quoted, come back.

use scurry_resp::{Parsed, Parser, ProtocolError, RequestLimits};

/// Maximum length in bytes of a line that is tried; within the bound of inline requests.
const LINE_LEN_MAX: usize = 4096;

/// Parses the input up to its first line feed as a line. All of the input is also split into words, quoted and parsed.
pub fn check(data: &[u8]) {
    let data = &data[..data.len().min(LINE_LEN_MAX)];
    let line = data.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if line.first() != Some(&b'*') {
        let mut sent = line.to_vec();
        sent.push(b'\n');
        // A carriage return before the line feed belongs to the end of the line.
        let expected = words(line.strip_suffix(b"\r").unwrap_or(line));
        assert_eq!(read(&sent), expected, "{}", line.escape_ascii());
    }
    let words: Vec<Vec<u8>> = data.split(|&byte| byte == b' ').map(<[u8]>::to_vec).collect();
    assert_eq!(read(&quoted(&words)), Some(words), "quoted words come back");
}

/// Parses a line; None for unbalanced quotes.
fn read(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut parser = Parser::default();
    match parser.parse(line, &RequestLimits::default(), true) {
        Parsed::Request(len) => {
            assert_eq!(len, line.len(), "a line is one request");
            Some(parser.args(line, 0).iter_from(0).map(<[u8]>::to_vec).collect())
        }
        Parsed::Error(ProtocolError::UnbalancedQuotes) => None,
        other => panic!("{other:?} for {}", line.escape_ascii()),
    }
}

/// Quotes words in double quotes, with every byte as an escape.
fn quoted(words: &[Vec<u8>]) -> Vec<u8> {
    let mut line = String::new();
    for word in words {
        line.push('"');
        word.iter().for_each(|byte| line.push_str(&format!("\\x{byte:02x}")));
        line.push_str("\" ");
    }
    line.push_str("\r\n");
    line.into_bytes()
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Between,
    Word,
    Double,
    /// After a backslash in double quotes.
    Escaped,
    Single,
    /// After a closing quote.
    Closed,
}

/// Implements the rules a second time, as a state machine over bytes.
fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (mut words, mut word, mut state) = (Vec::new(), Vec::new(), State::Between);
    let mut at = 0;
    while at < line.len() {
        let byte = line[at];
        let is_space = matches!(byte, b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c');
        at += 1;
        state = match (state, byte) {
            (State::Closed, _) if !is_space => return None,
            (State::Between, _) if is_space => State::Between,
            (State::Word | State::Closed, _) if is_space => {
                words.push(std::mem::take(&mut word));
                State::Between
            }
            (State::Between | State::Word, b'"') => State::Double,
            (State::Between | State::Word, b'\'') => State::Single,
            (State::Double, b'"') | (State::Single, b'\'') => State::Closed,
            (State::Double, b'\\') => State::Escaped,
            (State::Single, b'\\') if line.get(at) == Some(&b'\'') => {
                word.push(b'\'');
                at += 1;
                State::Single
            }
            (State::Escaped, b'x') => {
                let digits = line.get(at..at + 2).and_then(|two| std::str::from_utf8(two).ok());
                let digits = digits.filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
                match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
                    Some(value) => {
                        word.push(value);
                        at += 2;
                    }
                    None => word.push(b'x'),
                }
                State::Double
            }
            (State::Escaped, _) => {
                let meant = b"nrtba".iter().position(|&known| known == byte);
                word.push(meant.map_or(byte, |place| b"\n\r\t\x08\x07"[place]));
                State::Double
            }
            (State::Between | State::Word, _) => {
                word.push(byte);
                State::Word
            }
            (open, _) => {
                word.push(byte);
                open
            }
        };
    }
    match state {
        State::Double | State::Escaped | State::Single => None,
        State::Between => Some(words),
        State::Word | State::Closed => {
            words.push(word);
            Some(words)
        }
    }
}
