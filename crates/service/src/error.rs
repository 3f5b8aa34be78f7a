//! Why a request has no reply.

use scurry_ledger::Code;
use thiserror::Error;

/// Why a request has no reply.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// The store refused the request: nothing was done.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The request was not sent: nothing was done.
    #[error("the store cannot be reached: {0}")]
    NotSent(String),
    /// The request was sent, and its effect is unknown.
    #[error("the store did not answer: {0}")]
    Unknown(String),
    /// The reply has another shape than the request's.
    #[error("the store answers with something else than is asked for: is it of this version?")]
    WrongShape,
}

/// A refusal: the request changed nothing, and no answer to it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The ledger rejects the request.
    #[error("{} {why}", code.name())]
    Rejected {
        /// Code of the rejection, of kind [`scurry_ledger::CodeKind::Reject`].
        code: Code,
        /// Lower case, what happened, what to do.
        why: String,
    },
    /// The store refuses the request for another reason: the text of the RESP error, with its first word in capitals.
    #[error("{0}")]
    Store(String),
}
