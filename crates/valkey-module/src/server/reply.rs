//! Sends encoded replies through the server's API. The API has no call that takes encoded bytes, so a reply is decoded
//! into pieces, with one call each.
//!
//! A call costs more than encoding its piece, so as much as possible goes into one: servers send the text of a simple
//! string unchanged, and the rest of a reply that continues with a simple string can be sent as such a text. Whether
//! this server does so is tested when the module is loaded.

use super::{Context, call};
use scurry_resp::{Piece, Pieces};
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, Ordering};
use valkey_module::raw;

/// True if the server sends the text of a simple string unchanged.
static SENDS_AS_IS: AtomicBool = AtomicBool::new(false);
/// True during the test.
static IS_TESTING: AtomicBool = AtomicBool::new(false);
/// Reply used for the test: a nested array with bytes that could begin another value.
const TEST_REPLY: &[u8] = b"*2\r\n+OK\r\n*1\r\n$1\r\n+\r\n";

impl Context {
    /// Sends a reply encoded in the client's protocol. The bytes are overwritten in the process.
    pub(crate) fn send(&self, formed: &mut [u8]) {
        let mut joins = SENDS_AS_IS.load(Ordering::Relaxed);
        let mut line = ReplyLine::default();
        let mut said = 0;
        loop {
            let rest = &mut formed[said..];
            if joins && rest.starts_with(b"+") && rest.ends_with(b"\r\n") {
                if self.join(&mut rest[1..]) {
                    return;
                }
                joins = false;
            }
            let mut pieces = Pieces::new(rest);
            let Some(piece) = pieces.next() else { return };
            self.say(piece, &mut line);
            said += rest.len() - pieces.rest().len();
        }
    }

    /// Sends replies, from after the plus of the first to the end of the last line, as one simple string. Returns false
    /// and sends nothing if they contain a zero byte, which would end the string.
    fn join(&self, replies: &mut [u8]) -> bool {
        let len = replies.len() - 2;
        replies[len] = 0;
        // SAFETY: the text ends in a zero: the one just written, or an earlier one.
        let text = unsafe { CStr::from_ptr(replies.as_ptr().cast()) };
        if text.count_bytes() < len {
            replies[len] = b'\r';
            return false;
        }
        // SAFETY: the context is valid, and the server copies the text.
        unsafe {
            call!(RedisModule_ReplyWithSimpleString(self.raw(), text.as_ptr()));
        }
        true
    }

    fn say(&self, piece: Piece<'_>, line: &mut ReplyLine) {
        // SAFETY: the context is valid, and the server copies its arguments. The server's lengths are signed, and no
        // reply here exceeds them.
        unsafe {
            match piece {
                Piece::Simple(text) => {
                    call!(RedisModule_ReplyWithSimpleString(self.raw(), line.terminated(text)))
                }
                Piece::Error(text) => {
                    call!(RedisModule_ReplyWithError(self.raw(), line.terminated(text)))
                }
                Piece::Integer(value) => call!(RedisModule_ReplyWithLongLong(self.raw(), value)),
                Piece::Bulk(bytes) => call!(RedisModule_ReplyWithStringBuffer(
                    self.raw(),
                    bytes.as_ptr().cast(),
                    bytes.len(),
                )),
                Piece::Big(digits) => call!(RedisModule_ReplyWithBigNumber(
                    self.raw(),
                    digits.as_ptr().cast(),
                    digits.len(),
                )),
                Piece::Null => call!(RedisModule_ReplyWithNull(self.raw())),
                Piece::NullArray => call!(RedisModule_ReplyWithNullArray(self.raw())),
                Piece::Array(len) => call!(RedisModule_ReplyWithArray(self.raw(), signed(len))),
                Piece::Map(pairs) => call!(RedisModule_ReplyWithMap(self.raw(), signed(pairs))),
            };
        }
    }

    /// Sends the server's error for a wrong number of arguments.
    pub(crate) fn wrong_arity(&self) {
        // SAFETY: the context is that of a command.
        unsafe {
            call!(RedisModule_WrongArity(self.raw()));
        }
    }
}

fn signed(len: usize) -> std::ffi::c_long {
    len.try_into().unwrap_or(std::ffi::c_long::MAX)
}

/// Buffer for a line that ends in a zero.
#[derive(Default)]
struct ReplyLine(Vec<u8>);

impl ReplyLine {
    fn terminated(&mut self, text: &[u8]) -> *const c_char {
        self.0.clear();
        self.0.extend_from_slice(text);
        self.0.push(0);
        self.0.as_ptr().cast()
    }
}

/// Tests whether the server sends the text of a simple string unchanged, by calling a command of ours without keys
/// whose handler asks [`test_reply`].
pub(crate) fn test_raw_replies(context: &Context, command: &CStr) {
    // SAFETY: the pointers were written before this is called.
    let functions = unsafe {
        (raw::RedisModule_Call, raw::RedisModule_CallReplyProto, raw::RedisModule_FreeCallReply)
    };
    let (Some(ask), Some(bytes_of), Some(free)) = functions else { return };
    SENDS_AS_IS.store(true, Ordering::Relaxed);
    IS_TESTING.store(true, Ordering::Relaxed);
    // SAFETY: the texts end in zeros, and the format says that no argument follows. The bytes live until the reply is
    // freed.
    let is_sent = unsafe {
        let reply = ask(context.raw(), command.as_ptr(), c"".as_ptr());
        let is_sent = !reply.is_null() && {
            let mut len = 0;
            let bytes = bytes_of(reply, &mut len);
            !bytes.is_null() && std::slice::from_raw_parts(bytes.cast::<u8>(), len) == TEST_REPLY
        };
        if !reply.is_null() {
            free(reply);
        }
        is_sent
    };
    IS_TESTING.store(false, Ordering::Relaxed);
    SENDS_AS_IS.store(is_sent, Ordering::Relaxed);
}

/// Returns the reply that the running command must give during the test. None outside of the test.
pub(crate) fn test_reply() -> Option<&'static [u8]> {
    IS_TESTING.load(Ordering::Relaxed).then_some(TEST_REPLY)
}
