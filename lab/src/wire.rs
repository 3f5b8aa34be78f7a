//! How requests reach a target that does not speak RESP. All of the lab writes requests and reads replies in RESP; a
//! translator at the socket converts them to the target's protocol.

mod bulk;
mod charge;
mod diameter;
mod http;
pub(crate) mod http2;
mod iproto;
mod locked;
mod logic;
mod nchf;

use std::fmt::Debug;

use crate::resp::Stop;
use bulk::BatchCasTranslator;
use diameter::Diameter;
pub use diameter::SETTINGS as DIAMETER_SETTINGS;
use http::Http;
pub use http::{HttpTarget, Quorum};
use iproto::Iproto;
use locked::LockingTranslator;
use logic::CasTranslator;
pub use nchf::HttpVersion;
use nchf::{NchfHttp1, NchfHttp2};

/// Protocol of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    /// RESP, which needs no translator.
    #[default]
    Resp,
    /// Tarantool's binary protocol.
    Iproto,
    /// RESP, with the charging logic in the client.
    RespLogic,
    /// Tarantool's binary protocol, with the charging logic in the client.
    IprotoLogic,
    /// RESP, with the charging logic in the client, for many accounts at a time.
    RespBulk,
    /// Tarantool's binary protocol, with the charging logic in the client, for many accounts at a time.
    IprotoBulk,
    /// Protocol of the client of MySQL NDB, with the charging logic in the lab.
    Locked,
    /// Protocol that the lab does not speak: the server counts as ready when it listens.
    Foreign,
    /// Credit control over Diameter.
    Diameter,
    /// Nchf_ConvergedCharging of 5G.
    Nchf(HttpVersion),
    /// HTTP, as the door to entities speaks it.
    Http(HttpTarget),
}

/// Meaning of the bytes at the start of the received data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing that the lab requested.
    Nothing,
    /// One step of a request; the next step is to be sent.
    Again,
    /// Reply to the request of this session.
    Answer(u32),
}

/// Buffers for the output of a translator.
#[derive(Debug)]
pub struct Sink<'a> {
    /// Reply to the lab's request, in RESP.
    pub reply: &'a mut Vec<u8>,
    /// Further requests to the target that the lab's request needs.
    pub again: &'a mut Vec<u8>,
}

/// Translator of one connection. A session has at most one request in flight; replies may arrive in another order than
/// the requests were sent.
pub trait Translator: Debug + Send {
    /// Appends to `out` the translation of a request in RESP.
    fn request(&mut self, session: u32, request: &[u8], out: &mut Vec<u8>);

    /// Appends to `out` the requests that were delayed in order to be sent together. Called after the requests that are
    /// written in one go, and after the replies that were read in one.
    fn flush(&mut self, _out: &mut Vec<u8>) {}

    /// Reads the start of `bytes` and returns its length and meaning. An answer of length 0 belongs to the reply at the
    /// same position, which is consumed with its last answer.
    ///
    /// # Errors
    /// [`Stop`].
    fn reply(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(usize, Step), Stop>;
}

impl Wire {
    /// Returns the translator of a new connection.
    pub fn translator(self) -> Option<Box<dyn Translator>> {
        match self {
            Wire::Resp | Wire::Foreign => None,
            Wire::Locked => Some(Box::<LockingTranslator>::default()),
            Wire::Iproto => Some(Box::<Iproto>::default()),
            Wire::RespLogic => Some(Box::new(CasTranslator::new(None))),
            Wire::RespBulk => Some(Box::new(BatchCasTranslator::new(None))),
            Wire::IprotoBulk => Some(Box::new(BatchCasTranslator::new(Wire::Iproto.translator()))),
            Wire::Diameter => Some(Box::new(Diameter::new())),
            Wire::Nchf(HttpVersion::Http1) => Some(Box::<NchfHttp1>::default()),
            Wire::Nchf(HttpVersion::Http2) => Some(Box::<NchfHttp2>::default()),
            Wire::Http(target) => Some(Box::new(Http::new(target))),
            Wire::IprotoLogic => Some(Box::new(CasTranslator::new(Wire::Iproto.translator()))),
        }
    }
}
