//! Clients, their requests and the answers.

use super::truth::Leadership;
use scurry_model::{ChainOp, Op};

/// A client. It waits for one answer at a time.
#[derive(Default)]
pub(super) struct Client {
    /// The number of the client's last request.
    pub(super) number: u64,
    /// The request that waits for an answer.
    pub(super) sent: Option<Request>,
    /// The content of a refused request, or of one with an unclear outcome. It is sent again with the same id.
    pub(super) again: Option<RequestContent>,
    /// The content of the last answered request.
    pub(super) answered: Option<RequestContent>,
}

/// The content of a request.
#[derive(Clone, Debug)]
pub(super) enum RequestContent {
    /// A command on the account with this index.
    Account(usize, Box<Op>),
    /// A chain of commands on several accounts.
    Chain(ChainOp),
    /// A random command on one of the other keys.
    Key,
    /// A read of one of the other keys.
    Read,
    /// A comparison of everything that the shard shows.
    Audit,
}

impl RequestContent {
    /// Reports whether the request can be sent again: it has an id, or changes nothing.
    pub(super) fn is_safe(&self) -> bool {
        match self {
            RequestContent::Account(_, op) => op.has_id(),
            RequestContent::Chain(chain) => chain.iter().all(|(_, op)| op.has_id()),
            RequestContent::Read | RequestContent::Audit => true,
            RequestContent::Key => false,
        }
    }
}

/// A request of a client.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) client: usize,
    pub(super) number: u64,
    pub(super) ask: RequestContent,
}

/// An answer that is held until the state that it shows is committed.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) request: Request,
    pub(super) lead: Leadership,
    /// The sequence of the shard when it formed the answer.
    pub(super) shows: u64,
    /// The last committed sequence at that time.
    pub(super) known: u64,
    /// True if the request was executed and has written records.
    pub(super) is_new: bool,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    Answered,
    /// The node does not lead, and has not executed the request.
    Refused,
    /// The leadership has ended with the answer still held: the outcome is unclear.
    Lost,
}
