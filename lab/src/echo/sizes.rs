//! Reply lengths of the echo server, by command.

use anyhow::{Context, Result, ensure};

const REPLY_MAX: usize = 16 * 1_048_576;

/// Prebuilt replies by command name.
#[derive(Clone, Debug, Default)]
pub struct ReplySizes {
    replies: Vec<(Vec<u8>, Vec<u8>)>,
}

impl ReplySizes {
    /// Parses `NAME=BYTES,...`.
    ///
    /// # Errors
    /// When an entry has another form.
    pub fn parse(text: &str) -> Result<ReplySizes> {
        let mut sizes = ReplySizes::default();
        for entry in text.split(',').filter(|entry| !entry.is_empty()) {
            let (name, bytes) =
                entry.split_once('=').with_context(|| format!("`{entry}` is not NAME=BYTES"))?;
            let bytes: usize =
                bytes.parse().with_context(|| format!("`{bytes}` is not a number of bytes"))?;
            ensure!(bytes <= REPLY_MAX, "a reply of {bytes} bytes is above {REPLY_MAX}");
            sizes.replies.push((name.as_bytes().to_vec(), filler(bytes)));
        }
        Ok(sizes)
    }

    /// Returns the reply to a command.
    #[inline]
    pub(super) fn reply(&self, name: &[u8]) -> &[u8] {
        if let Some((_, reply)) = self.replies.iter().find(|(known, _)| known == name) {
            return reply;
        }
        if name == b"PING" { b"+PONG\r\n" } else { b"+OK\r\n" }
    }
}

/// Builds a RESP reply of this many bytes: a bulk string, or a simple string if it is too short for one. Where no bulk
/// string has that length (16 bytes, 107, ...) it is one byte shorter.
fn filler(bytes: usize) -> Vec<u8> {
    if bytes < 6 {
        let mut reply = vec![b'x'; bytes.max(3) - 2];
        reply[0] = b'+';
        reply.extend_from_slice(b"\r\n");
        return reply;
    }
    let framed = |length: usize| 1 + length.to_string().len() + 2 + length + 2;
    let length = (0..bytes).rev().find(|length| framed(*length) <= bytes).unwrap_or(0);
    let mut reply = format!("${length}\r\n").into_bytes();
    reply.resize(reply.len() + length, b'x');
    reply.extend_from_slice(b"\r\n");
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::skip;

    #[test]
    fn fillers_are_resp_and_as_long_as_asked() {
        for bytes in 3..2_000 {
            let reply = filler(bytes);
            assert_eq!(skip(&reply), Ok(reply.len()));
            assert!(reply.len() == bytes || reply.len() + 1 == bytes, "{bytes}");
        }
    }

    #[test]
    fn sizes_are_read_and_refused() {
        let sizes = ReplySizes::parse("SCUR.GET=300,SET=5").unwrap();
        assert_eq!(sizes.reply(b"SCUR.GET").len(), 300);
        assert_eq!(sizes.reply(b"SET").len(), 5);
        assert_eq!(sizes.reply(b"PING"), b"+PONG\r\n");
        assert!(ReplySizes::parse("GET").is_err());
        assert!(ReplySizes::parse("GET=many").is_err());
    }
}
