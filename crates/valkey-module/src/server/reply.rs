//! Replies that were formed by the one renderer of all hosts, told to the server piece by piece: the
//! API has no call for bytes that are formed already. A call costs more than forming what it says,
//! so as much as can be is said in one: servers send the text of a simple string as it is, whatever
//! is in it, and the whole rest of a reply that goes on with one is such a text. Whether this server
//! does is tried when the module is loaded, not believed.

use super::{Context, call};
use scurry_resp::{Piece, Pieces};
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, Ordering};
use valkey_module::raw;

/// The server sends the text of a simple string as it is.
static SENDS_AS_IS: AtomicBool = AtomicBool::new(false);
/// The state while it is being tried.
static TRIES: AtomicBool = AtomicBool::new(false);
/// The reply that it is tried with: an array within one, with bytes that would begin something.
const TRIAL: &[u8] = b"*2\r\n+OK\r\n*1\r\n$1\r\n+\r\n";

impl Context {
    /// Answers the command with a reply formed in the client's protocol, which is spoilt by that.
    pub(crate) fn send(&self, formed: &mut [u8]) {
        let mut joins = SENDS_AS_IS.load(Ordering::Relaxed);
        let mut line = Line::default();
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

    /// Says replies from behind the plus of the first to the end of the last line as one simple string. False
    /// when there is a zero in them, which would end it for the server: then nothing was said.
    fn join(&self, replies: &mut [u8]) -> bool {
        let len = replies.len() - 2;
        replies[len] = 0;
        // SAFETY: it ends in a zero: the one just written, if not before.
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

    fn say(&self, piece: Piece<'_>, line: &mut Line) {
        // SAFETY: the context is valid, and the server copies what it is told. The server's
        // lengths are signed, and no reply here is longer than they go.
        unsafe {
            match piece {
                Piece::Simple(text) => {
                    call!(RedisModule_ReplyWithSimpleString(self.raw(), line.of(text)))
                }
                Piece::Error(text) => {
                    call!(RedisModule_ReplyWithError(self.raw(), line.of(text)))
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

    /// The server's words for a wrong number of arguments.
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

/// Room for a line with a zero at its end.
#[derive(Default)]
struct Line(Vec<u8>);

impl Line {
    fn of(&mut self, text: &[u8]) -> *const c_char {
        self.0.clear();
        self.0.extend_from_slice(text);
        self.0.push(0);
        self.0.as_ptr().cast()
    }
}

/// Tries whether the server sends the text of a simple string as it is, by a command of ours without
/// keys, whose handler asks [`is_tried`].
pub(crate) fn try_joining(context: &Context, command: &CStr) {
    // SAFETY: written once, before this is called.
    let functions = unsafe {
        (raw::RedisModule_Call, raw::RedisModule_CallReplyProto, raw::RedisModule_FreeCallReply)
    };
    let (Some(ask), Some(bytes_of), Some(free)) = functions else { return };
    SENDS_AS_IS.store(true, Ordering::Relaxed);
    TRIES.store(true, Ordering::Relaxed);
    // SAFETY: the texts end in zeros, and the format says that no argument follows; the bytes live
    // until the reply is freed.
    let is_sent = unsafe {
        let reply = ask(context.raw(), command.as_ptr(), c"".as_ptr());
        let is_sent = !reply.is_null() && {
            let mut len = 0;
            let bytes = bytes_of(reply, &mut len);
            !bytes.is_null() && std::slice::from_raw_parts(bytes.cast::<u8>(), len) == TRIAL
        };
        if !reply.is_null() {
            free(reply);
        }
        is_sent
    };
    TRIES.store(false, Ordering::Relaxed);
    SENDS_AS_IS.store(is_sent, Ordering::Relaxed);
}

/// The reply that the command which runs has to give, while it is tried how the server sends it.
pub(crate) fn is_tried() -> Option<&'static [u8]> {
    TRIES.load(Ordering::Relaxed).then_some(TRIAL)
}
