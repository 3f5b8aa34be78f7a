//! A reader of replies that shares no code with their writer.

use scurry_resp::Protocol;

/// Maximum nesting of the server's replies.
const DEPTH_MAX: usize = 8;

/// Panics unless the bytes are exactly `count` complete replies of this protocol.
pub(crate) fn assert_replies(bytes: &[u8], protocol: Protocol, count: usize) {
    let mut reader = Reader { bytes, at: 0, is_resp3: protocol == Protocol::Resp3 };
    for _ in 0..count {
        reader.reply(0);
    }
    assert_eq!(reader.at, bytes.len(), "bytes behind the reply: {}", bytes.escape_ascii());
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    is_resp3: bool,
}

impl<'a> Reader<'a> {
    fn reply(&mut self, depth: usize) {
        assert!(depth < DEPTH_MAX, "nested too deep");
        let line = self.line();
        let (&kind, text) = line.split_first().expect("a reply has a kind");
        assert!(self.is_resp3 || b"+-:$*".contains(&kind), "{} is RESP3", char::from(kind));
        match kind {
            b'+' | b'-' => {}
            b':' | b'(' => assert!(is_number(text), "{}", text.escape_ascii()),
            b'_' => assert!(text.is_empty()),
            b'#' => assert!(matches!(text, b"t" | b"f")),
            b'$' | b'*' if text == b"-1" => assert!(!self.is_resp3, "RESP3 has its own null"),
            b'$' => drop(self.bulk(text)),
            b'=' => assert!(self.bulk(text).starts_with(b"txt:")),
            b'*' | b'~' => (0..count(text)).for_each(|_| self.reply(depth + 1)),
            b'%' => (0..2 * count(text)).for_each(|_| self.reply(depth + 1)),
            other => panic!("{} is no kind of reply", char::from(other)),
        }
    }

    /// Reads up to CRLF, without it; neither byte may occur alone in a line.
    fn line(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let len = rest.iter().position(|byte| b"\r\n".contains(byte)).expect("a line ends");
        assert_eq!(rest.get(len..len + 2), Some(&b"\r\n"[..]), "a broken line");
        self.at += len + 2;
        &rest[..len]
    }

    fn bulk(&mut self, len: &[u8]) -> &'a [u8] {
        let start = self.at;
        let end = start + count(len);
        assert_eq!(self.bytes.get(end..end + 2), Some(&b"\r\n"[..]), "a bulk string ends");
        self.at = end + 2;
        &self.bytes[start..end]
    }
}

fn count(text: &[u8]) -> usize {
    assert!(text.iter().all(u8::is_ascii_digit), "{} is no count", text.escape_ascii());
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).expect("a count")
}

fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}
