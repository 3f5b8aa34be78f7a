//! Clients, their requests and the answers.

use super::truth::Lead;
use scurry_model::{ChainOp, Op};

/// A client. It waits for one answer at a time.
#[derive(Default)]
pub(super) struct Client {
    /// The number of the client's last request.
    pub(super) number: u64,
    /// The request that waits for an answer.
    pub(super) sent: Option<Request>,
    /// The content of a refused request, or of one with an unclear outcome. It is sent again with the same id.
    pub(super) again: Option<Ask>,
    /// The content of the last answered request.
    pub(super) answered: Option<Ask>,
}

/// The content of a request.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    /// A command on the account with this index.
    Account(usize, Op),
    /// A chain of commands on several accounts.
    Chain(ChainOp),
    /// A random command on one of the other keys.
    Key,
    /// A read of one of the other keys.
    Read,
    /// A comparison of everything that the shard shows.
    Audit,
}

impl Ask {
    /// Reports whether the request can be sent again: it has an id, or changes nothing.
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

/// An answer that is held until the state that it shows is committed.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) request: Request,
    pub(super) lead: Lead,
    /// The sequence of the shard when it formed the answer.
    pub(super) shows: u64,
    /// The last committed sequence at that time.
    pub(super) known: u64,
    /// True if the request was executed and has written records.
    pub(super) is_new: bool,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    /// The node does not lead, and has not executed the request.
    Refused,
    /// The leadership has ended with the answer still held: the outcome is unclear.
    Lost,
}
