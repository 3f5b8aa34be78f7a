//! What cores write to each other.

use crate::mail::bundle::Bundle;
use crate::mail::report::{Answer, CoreReport, Question};
use crate::net::port::Port;
use crate::net::rdma::Welcome;
use crate::ticket::{Sender, Ticket};
use mio::net::TcpStream;
use scurry_engine::{Low, Span};
use scurry_ledger::Name;
use scurry_resp::{Protocol, Start};
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};

/// One message.
#[derive(Debug)]
pub(crate) enum Message {
    /// A connection that this core shall serve.
    Welcome { stream: TcpStream, peer: SocketAddr, port: Port },
    /// The same over RDMA.
    WelcomeRdma(Box<Welcome>),
    /// Requests to execute here.
    Work(Sender, Box<Bundle>),
    /// Requests that were executed, with their replies.
    Done(Sender, Box<Bundle>),
    /// A question about what only this core knows.
    Ask(Sender, Question),
    /// The answer.
    Tell(Sender, Answer),
    /// The end of a wait: the answer shows changes that the log has failed to take, so nobody will ever know
    /// whether it is true.
    Lost(Sender),
    /// Commands that clients of another core have sent, for those who monitor here.
    Monitor(Lines),
    /// Keys that clients of this core have read have changed.
    Invalidate(Box<News>),
    /// Somebody wants to read this core's events.
    Follow(Box<Ask>),
    /// Events of another core, as a reply.
    Followed(Sender, Vec<u8>),
    /// A reader of this core's events is gone.
    Unfollow(Sender),
    /// Somebody outside wants to know what this core has counted.
    Measure(mpsc::Sender<CoreReport>),
    /// Others have taken the place of the users: connections of those who are no more end.
    UsersReplaced,
    /// The server stops.
    Drain,
}

impl Message {
    /// Memory that nobody else counts, bytes: who asks for something counts what it sends.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Message::Done(_, bundle) => bundle.replies_room() as u64,
            Message::Tell(_, answer) => answer.memory_bytes(),
            _ => 0,
        }
    }

    /// The message that takes its place when it cannot be sent: who waits for it waits no more.
    pub(crate) fn lost(self) -> Message {
        match self {
            Message::Done(sender, _) | Message::Tell(sender, _) => Message::Lost(sender),
            other => other,
        }
    }
}

/// A wish of a client to read this core's events.
#[derive(Debug)]
pub(crate) struct Ask {
    /// Where the reply goes. A connection has one of these under way.
    pub(crate) sender: Sender,
    pub(crate) protocol: Protocol,
    pub(crate) start: Start,
    /// Events at most, crossings not counted.
    pub(crate) count: u16,
    /// How long to wait for one, ms.
    pub(crate) block_ms: u16,
    pub(crate) lows: Vec<Low>,
    pub(crate) account: Option<Box<[u8]>>,
    /// The statement that is wanted in the place of events; none for SCUR.WATCH.
    pub(crate) statement: Option<Statement>,
}

/// Bounds of a statement of an account.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) period: Span,
    pub(crate) unit: Option<Name>,
    /// The newest first.
    pub(crate) is_reversed: bool,
    /// The sequence that the client may have been told of before: it is waited for.
    pub(crate) shown: u64,
}

/// Changes that the clients of one core are told.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Everything was deleted, before all that follows changed.
    pub(crate) flushed: bool,
    /// Keys that have changed, each with those who have read it.
    pub(crate) keys: Vec<(Box<[u8]>, Vec<Ticket>)>,
}

/// Lines of MONITOR, which monitoring clients of every core get.
pub(crate) type Lines = Arc<[u8]>;
