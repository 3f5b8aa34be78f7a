//! The first bytes of a connection without TLS. A client that knows that the door speaks HTTP/2 begins with a preface
//! that no request of HTTP/1.1 begins with (RFC 9113 clause 3.4).

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// What a client of HTTP/2 sends first.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Room for the first read, bytes: most first requests of HTTP/1.1 fit, and need no second read.
const EARLY_LEN: usize = 1024;

/// Reads until it is clear whether the stream begins with the preface, and returns that. `early` gets the bytes that
/// were read.
pub(crate) async fn begins_with_preface<S>(stream: &mut S, early: &mut Vec<u8>) -> io::Result<bool>
where
    S: AsyncRead + Unpin,
{
    early.reserve(EARLY_LEN);
    loop {
        let len = early.len().min(PREFACE.len());
        if early[..len] != PREFACE[..len] {
            return Ok(false);
        }
        if len == PREFACE.len() {
            return Ok(true);
        }
        if stream.read_buf(early).await? == 0 {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncWriteExt, duplex};

    #[tokio::test]
    async fn the_preface_is_known_in_pieces_and_nothing_read_is_lost() {
        for (sent, is_http2) in [
            (&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore"[..], true),
            (PREFACE, true),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX", false),
            (b"PRI * HTTP/2.0\r\n\r\nSM", false),
            (b"PUT / HTTP/1.1\r\n\r\n", false),
            (b"", false),
        ] {
            for piece_len in [1, 7, 100] {
                let (mut near, mut far) = duplex(1024);
                for piece in sent.chunks(piece_len) {
                    near.write_all(piece).await.expect("there is room");
                }
                drop(near);
                let mut early = Vec::new();
                let begins = begins_with_preface(&mut far, &mut early).await.expect("it reads");
                assert_eq!(begins, is_http2, "{sent:?}");
                far.read_to_end(&mut early).await.expect("it ends");
                assert_eq!(early, sent);
            }
        }
    }
}
