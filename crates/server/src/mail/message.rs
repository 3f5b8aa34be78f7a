//! Messages between cores.

use crate::adapter::AdapterRequest;
use crate::mail::bundle::Bundle;
use crate::mail::report::{Answer, CoreReport, Question};
use crate::net::port::Port;
use crate::ticket::{Sender, Ticket};
use mio::net::TcpStream;
use scurry_engine::{LowThresholds, PayeeStep, StepResult, TimeRange};
use scurry_ledger::{Id, Name, Time};
use scurry_resp::{Protocol, WatchStart};
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};

/// A message to a core.
#[derive(Debug)]
pub(crate) enum Message {
    /// A connection for this core to serve.
    Welcome { stream: TcpStream, peer: SocketAddr, port: Port },
    /// The same over an adapter.
    WelcomeRequest(Box<AdapterRequest>),
    /// Requests to execute here.
    Work(Sender, Box<Bundle>),
    /// Requests that were executed, with their replies.
    Done(Sender, Box<Bundle>),
    /// A question that only this core can answer.
    Question(Sender, Question),
    /// The answer to a question.
    Answer(Sender, Answer),
    /// The end of a wait without an answer: the answer shows changes that the log has failed to take, so whether they
    /// are durable will never be known.
    Lost(Sender),
    /// A step of a transfer to an account here.
    TransferStep(Box<TransferMail>),
    /// The result of a step, for the core of the payer.
    TransferResult(Box<TransferMail>, StepResult),
    /// Commands from clients of another core, for the monitoring clients here.
    Monitor(Lines),
    /// Changed keys that clients of this core have read.
    Invalidate(Box<Invalidations>),
    /// A request to read this core's events.
    Follow(Box<EventRequest>),
    /// Events of another core, as a reply.
    Followed(Sender, Vec<u8>),
    /// A reader of this core's events has disconnected.
    Unfollow(Sender),
    /// A request from outside for this core's counters.
    Measure(mpsc::Sender<CoreReport>),
    /// The users were replaced: connections of removed users end.
    UsersReplaced,
    /// The server stops.
    Drain,
}

impl Message {
    /// Returns the memory that is not counted elsewhere, bytes. The sender of a request counts the request.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Message::Done(_, bundle) => bundle.replies_room() as u64,
            Message::Answer(_, answer) => answer.memory_bytes(),
            Message::Followed(_, reply) => reply.capacity() as u64,
            _ => 0,
        }
    }

    /// Notes the time of the sender's newest frame in a step of a transfer, which is sent once the step before it is in
    /// a frame.
    pub(crate) fn note_logged_at(&mut self, at: Time) {
        if let Message::TransferStep(mail) | Message::TransferResult(mail, _) = self {
            mail.logged_at = at;
        }
    }

    /// Returns the message to send in place of one that cannot be sent: it ends the receiver's wait. `None` if no
    /// receiver waits.
    pub(crate) fn lost(self) -> Option<Message> {
        match self {
            Message::Done(sender, _)
            | Message::Answer(sender, _)
            | Message::Followed(sender, _) => Some(Message::Lost(sender)),
            Message::TransferStep(_) => None,
            Message::TransferResult(mail, _) => {
                Some(Message::TransferResult(mail, StepResult::Unknown))
            }
            other => Some(other),
        }
    }
}

/// A step of a transfer between accounts of two cores.
#[derive(Debug)]
pub(crate) struct TransferMail {
    /// The core of the payer.
    pub(crate) payer: u16,
    /// Term of the payee's shard, as the payer's core knows it.
    pub(crate) payee_term: u64,
    /// Time of the sender's newest frame when this was sent: of the frame with the step before it, or of a later one.
    pub(crate) logged_at: Time,
    pub(crate) step: PayeeStep,
}

/// A client's request to read this core's events.
#[derive(Debug)]
pub(crate) struct EventRequest {
    /// Where the reply goes. A connection has at most one such request under way.
    pub(crate) sender: Sender,
    pub(crate) protocol: Protocol,
    pub(crate) start: WatchStart,
    /// Maximum number of events, not counting threshold crossings.
    pub(crate) count: u16,
    /// How long to wait for an event, ms.
    pub(crate) block_ms: u16,
    pub(crate) lows: Vec<LowThresholds>,
    /// Names of the events; empty for all.
    pub(crate) events: Vec<Name>,
    pub(crate) account: Option<Box<[u8]>>,
    /// The statement to return in place of events; None for SCUR.WATCH.
    pub(crate) statement: Option<Statement>,
}

/// Bounds of a statement of an account.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) period: TimeRange,
    pub(crate) unit: Option<Name>,
    pub(crate) transaction: Option<Id>,
    pub(crate) session: Option<Id>,
    /// Newest entries first.
    pub(crate) is_reversed: bool,
    /// The sequence that earlier replies may have shown to the client; the statement waits for it to be durable.
    pub(crate) shown: u64,
}

/// Invalidations for the clients of one core.
#[derive(Debug, Default)]
pub(crate) struct Invalidations {
    /// Everything was deleted, before any of `keys` changed.
    pub(crate) flushed: bool,
    /// Keys that have changed, each with the clients that have read it.
    pub(crate) keys: Vec<(Box<[u8]>, Vec<Ticket>)>,
}

/// Lines of MONITOR for the monitoring clients of every core.
pub(crate) type Lines = Arc<[u8]>;
