//! Replies of a store to requests.

use crate::{AccountView, AuditView, HoldsView, SessionView, TransactionView};
use scurry_ledger::{Answer, Checked, Code, ItemKey, first_denied};
use smallvec::SmallVec;

/// The reply to a request. The request determines the variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Reply to a command that the ledger decides.
    Answer(Answered),
    /// Reply to a chain: one answer per command, in order.
    Chain(Vec<Answered>),
    /// Reply to a read of an account.
    Account(Box<AccountView>),
    /// Reply to a read of a session.
    Session(Box<SessionView>),
    /// Reply to an audit.
    Audit(Box<AuditView>),
    /// Reply to a check.
    Checked(Checked),
    /// Reply to a read of open holds.
    Holds(Box<HoldsView>),
    /// Reply to a read of a transaction.
    Transaction(Box<TransactionView>),
}

/// The answer to a command, new or stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The answer. For a session request it has one element per item of the request, in order.
    pub answer: Answer,
    /// True if the command is a duplicate and this is its stored answer.
    pub replayed: bool,
    /// Keys of the request's items. Empty for commands without a session.
    pub keys: SmallVec<[ItemKey; 1]>,
}

impl Answered {
    /// Returns `OK`, or the code of the denial.
    pub fn code(&self) -> Code {
        self.answer.code()
    }
}

/// Returns the index, from 0, of the first command of a chain that is denied by itself. None if the chain is carried
/// out.
pub fn denied(chain: &[Answered]) -> Option<usize> {
    let answers: Vec<Answer> = chain.iter().map(|one| one.answer.clone()).collect();
    first_denied(&answers)
}
