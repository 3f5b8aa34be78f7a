//! What cores write to each other.

use crate::bundle::Bundle;
use crate::port::Port;
use crate::rdma::Welcome;
use crate::report::{Answer, CoreReport, Question};
use crate::ticket::{Sender, Ticket};
use mio::net::TcpStream;
use scurry_engine::Low;
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
    /// What only this core knows.
    Ask(Sender, Question),
    /// It has been told.
    Tell(Sender, Answer),
    /// What was asked for shows changes that the log has failed to take: nobody will ever know
    /// whether it is true.
    Lost(Sender),
    /// What clients of another core have sent, for those who watch here.
    Monitor(Lines),
    /// Keys that clients of this core have read have changed.
    Invalidate(Box<News>),
    /// Somebody wants to read this core's events.
    Watch(Box<Ask>),
    /// Events of another core, as a reply.
    Watched(Sender, Vec<u8>),
    /// Who has wanted to read this core's events is gone.
    Unwatch(Sender),
    /// Somebody outside wants to know what this core has counted.
    Measure(mpsc::Sender<CoreReport>),
    /// The server stops.
    Drain,
}

impl Message {
    /// What it has that nobody else counts, bytes: who asks for something counts what it sends.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Message::Done(_, bundle) => bundle.replies_room() as u64,
            Message::Tell(_, answer) => answer.memory_bytes(),
            _ => 0,
        }
    }

    /// What takes its place when it cannot be sent: who waits for it waits no more.
    pub(crate) fn lost(self) -> Message {
        match self {
            Message::Done(sender, _) | Message::Tell(sender, _) => Message::Lost(sender),
            other => other,
        }
    }
}

/// What a client wants to read of this core's events.
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
}

/// What the clients of one core are told.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Everything was deleted, before all that follows changed.
    pub(crate) flushed: bool,
    /// Keys that have changed, each with those who have read it.
    pub(crate) keys: Vec<(Box<[u8]>, Vec<Ticket>)>,
}

/// Lines that watchers on every core get.
pub(crate) type Lines = Arc<[u8]>;
