//! How requests travel to a target that does not speak RESP. Everything in the lab makes requests
//! and reads replies in RESP; a translator at the socket makes of them what the target speaks.

mod bulk;
mod http;
mod iproto;
mod locked;
mod logic;

use std::fmt::Debug;

use crate::resp::Stop;
use bulk::Bulk;
use http::Http;
pub use http::{HttpTarget, Quorum};
use iproto::Iproto;
use locked::Locked;
use logic::Logic;

/// Protocol of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    /// RESP, which needs no translator.
    #[default]
    Resp,
    /// Tarantool's binary protocol.
    Iproto,
    /// RESP, with the charging logic on this side of it.
    RespLogic,
    /// Tarantool's binary protocol, with the charging logic on this side of it.
    IprotoLogic,
    /// RESP, with the charging logic on this side of it, many accounts at a time.
    RespBulk,
    /// Tarantool's binary protocol, with the same.
    IprotoBulk,
    /// Protocol of the client of MySQL NDB, with the charging logic on this side of it.
    Locked,
    /// Protocol that the lab does not speak: a server is ready when it listens.
    Foreign,
    /// HTTP, as the door to entities speaks it.
    Http(HttpTarget),
}

/// Meaning of the first bytes of what was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing that the lab asked for.
    Nothing,
    /// A part of what a request needs; the next part is to be sent.
    Again,
    /// The reply to the request of this session.
    Answer(u32),
}

/// Outcome of a translator's look at the target's bytes.
#[derive(Debug)]
pub struct Sink<'a> {
    /// The reply to the lab's request, in RESP.
    pub reply: &'a mut Vec<u8>,
    /// Requests to the target before it has answered all that a request needs.
    pub again: &'a mut Vec<u8>,
}

/// One connection's translator. A session has at most one request in flight; replies may come in
/// another order than requests went.
pub trait Translator: Debug + Send {
    /// Appends to `out` what goes to the target for a request in RESP.
    fn request(&mut self, session: u32, request: &[u8], out: &mut Vec<u8>);

    /// Appends to `out` what was kept back to go together: called behind the requests that are
    /// written in one go, and behind the replies that were read in one.
    fn flush(&mut self, _out: &mut Vec<u8>) {}

    /// Reads what stands at the start of `bytes`: its length, and what it is. An answer of no
    /// length came with the reply that still stands there.
    ///
    /// # Errors
    /// [`Stop`].
    fn reply(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(usize, Step), Stop>;
}

impl Wire {
    /// The translator of a new connection.
    pub fn translator(self) -> Option<Box<dyn Translator>> {
        match self {
            Wire::Resp | Wire::Foreign => None,
            Wire::Locked => Some(Box::<Locked>::default()),
            Wire::Iproto => Some(Box::<Iproto>::default()),
            Wire::RespLogic => Some(Box::new(Logic::new(None))),
            Wire::RespBulk => Some(Box::new(Bulk::new(None))),
            Wire::IprotoBulk => Some(Box::new(Bulk::new(Wire::Iproto.translator()))),
            Wire::Http(target) => Some(Box::new(Http::new(target))),
            Wire::IprotoLogic => Some(Box::new(Logic::new(Wire::Iproto.translator()))),
        }
    }
}
