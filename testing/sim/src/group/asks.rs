//! Clients, and what they ask.

use super::truth::Lead;
use scurry_model::{ChainOp, Op};

/// A client, which waits for one answer at a time.
#[derive(Default)]
pub(super) struct Client {
    /// The number of its last request.
    pub(super) number: u64,
    /// The request that is under way.
    pub(super) sent: Option<Request>,
    /// The request that is to be sent again, with the id that it had.
    pub(super) again: Option<Ask>,
    /// The request that was answered last.
    pub(super) answered: Option<Ask>,
}

/// Something that is asked.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    /// A command on an account.
    Account(usize, Op),
    /// Commands on several accounts.
    Chain(ChainOp),
    /// Some command on one of the other keys.
    Key,
    /// One of the other keys.
    Read,
    /// Everything.
    Audit,
}

impl Ask {
    /// True when it can be sent again: it has an id, or changes nothing.
    pub(super) fn is_safe(&self) -> bool {
        match self {
            Ask::Account(_, op) => op.has_id(),
            Ask::Chain(chain) => chain.iter().all(|(_, op)| op.has_id()),
            Ask::Read | Ask::Audit => true,
            Ask::Key => false,
        }
    }
}

/// A request of a client.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) client: usize,
    pub(super) number: u64,
    pub(super) ask: Ask,
}

/// An answer that waits for what it shows.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) request: Request,
    pub(super) lead: Lead,
    /// The sequence of the shard that has formed it.
    pub(super) shows: u64,
    /// The sequence that was committed by then.
    pub(super) known: u64,
    /// True where it is the answer to something that was done with it.
    pub(super) is_new: bool,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    /// Another node leads: it was not done.
    Refused,
    /// The connection has ended.
    Lost,
}
