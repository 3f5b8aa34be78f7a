//! Reasons why a request has no reply.

use scurry_ledger::Code;
use thiserror::Error;

/// Reasons why a request has no reply.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// The store refused the request and changed nothing.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The request was not sent, so nothing was done.
    #[error("the store cannot be reached: {0}")]
    NotSent(String),
    /// The request was sent, but no reply arrived. It may have been executed.
    #[error("the store did not answer: {0}")]
    Unknown(String),
    /// The reply does not have the shape that the request asks for.
    #[error("the store answers with something else than is asked for: is it of this version?")]
    WrongShape,
}

/// A refusal: the request changed nothing, and the store keeps no answer to it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The ledger rejected the request.
    #[error("{} {why}", code.name())]
    Rejected {
        /// Code of the rejection, of kind [`scurry_ledger::CodeKind::Reject`].
        code: Code,
        /// Explanation in lower case: what happened and what to do.
        why: String,
    },
    /// The store refused the request for another reason. The text of the RESP error, with its error word in capitals
    /// first.
    #[error("{0}")]
    Store(String),
}
