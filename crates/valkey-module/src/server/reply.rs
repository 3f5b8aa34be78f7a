//! Replies that were formed by the one renderer of all hosts, told to the server piece by piece.

use super::{Context, call};
use scurry_resp::{Piece, Pieces};
use std::ffi::c_char;

impl Context {
    /// Answers the command with replies formed in the client's protocol.
    pub(crate) fn send(&self, formed: &[u8]) {
        let mut line = Line::default();
        for piece in Pieces::new(formed) {
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
                    Piece::Integer(value) => {
                        call!(RedisModule_ReplyWithLongLong(self.raw(), value))
                    }
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
                    Piece::Array(len) => {
                        call!(RedisModule_ReplyWithArray(self.raw(), signed(len)))
                    }
                    Piece::Map(pairs) => {
                        call!(RedisModule_ReplyWithMap(self.raw(), signed(pairs)))
                    }
                };
            }
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
