//! Walks over keys of one of our types with the server's own SCAN.

use super::{Context, ValueKind};
use scurry_resp::{Piece, Pieces};
use std::ffi::c_char;
use valkey_module::raw;

impl Context {
    /// Executes one step of SCAN: visits the keys of a kind among about `count` keys from the cursor on. Returns the
    /// next cursor, 0 at the end. None if the reply has another form.
    pub(crate) fn scan<K: ValueKind>(
        &self,
        cursor: u64,
        count: u16,
        mut visit: impl FnMut(&[u8]),
    ) -> Option<u64> {
        // SAFETY: the pointers were written when the module was loaded.
        let (ask, bytes_of, free) = unsafe {
            (
                raw::RedisModule_Call?,
                raw::RedisModule_CallReplyProto?,
                raw::RedisModule_FreeCallReply?,
            )
        };
        let (cursor, count) = (cursor.to_string(), count.to_string());
        // SAFETY: the format names bytes with their length, three texts that end in zeros, and bytes again. All live
        // until the call returns. The reply's bytes live until it is freed.
        unsafe {
            let reply = ask(
                self.raw(),
                c"SCAN".as_ptr(),
                c"bcccb".as_ptr(),
                cursor.as_ptr().cast::<c_char>(),
                cursor.len(),
                c"TYPE".as_ptr(),
                K::NAME.as_ptr(),
                c"COUNT".as_ptr(),
                count.as_ptr().cast::<c_char>(),
                count.len(),
            );
            if reply.is_null() {
                return None;
            }
            let mut len = 0;
            let bytes = bytes_of(reply, &mut len);
            let next = if bytes.is_null() {
                None
            } else {
                read(std::slice::from_raw_parts(bytes.cast::<u8>(), len), &mut visit)
            };
            free(reply);
            next
        }
    }
}

/// Reads the reply of SCAN: the cursor, then the keys.
fn read(reply: &[u8], visit: &mut impl FnMut(&[u8])) -> Option<u64> {
    let mut pieces = Pieces::new(reply);
    let (Piece::Array(2), Piece::Bulk(cursor), Piece::Array(_)) =
        (pieces.next()?, pieces.next()?, pieces.next()?)
    else {
        return None;
    };
    let cursor = std::str::from_utf8(cursor).ok()?.parse().ok()?;
    for piece in pieces {
        let Piece::Bulk(key) = piece else { return None };
        visit(key);
    }
    Some(cursor)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_reply_of_scan_is_read_and_another_is_not() {
        let mut keys = Vec::new();
        let reply = b"*2\r\n$2\r\n17\r\n*2\r\n$1\r\na\r\n$2\r\nbc\r\n";
        assert_eq!(read(reply, &mut |key| keys.push(key.to_vec())), Some(17));
        assert_eq!(keys, [b"a".to_vec(), b"bc".to_vec()]);
        for other in [&b"-ERR no\r\n"[..], b"*2\r\n:17\r\n*0\r\n", b"*2\r\n$1\r\nx\r\n*0\r\n", b""]
        {
            assert_eq!(read(other, &mut |_| {}), None);
        }
    }
}
