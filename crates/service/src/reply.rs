//! Replies of a store.

use crate::{AccountView, AuditView, SessionView};
use scurry_ledger::{Answer, Checked, Code, ItemKey, first_denied};
use smallvec::SmallVec;

/// The reply to a request, of the variant that the request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// To a command that the ledger decides.
    Answer(Answered),
    /// To a chain: one answer per command, in their order.
    Chain(Vec<Answered>),
    /// To a read of an account.
    Account(Box<AccountView>),
    /// To a read of a session.
    Session(Box<SessionView>),
    /// To an audit.
    Audit(Box<AuditView>),
    /// To a check.
    Checked(Checked),
}

/// The answer to a command, now or before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The answer. Of a session it has one element per item of the request, in its order.
    pub answer: Answer,
    /// The command is a duplicate, and this is its stored answer.
    pub replayed: bool,
    /// Keys of the items of the request.
    pub keys: SmallVec<[ItemKey; 1]>,
}

impl Answered {
    /// Returns OK or the denial.
    pub fn code(&self) -> Code {
        self.answer.code()
    }
}

/// Returns the place, from 0, of the first command of a chain that is denied by itself; none where the chain is
/// carried out.
pub fn denied(chain: &[Answered]) -> Option<usize> {
    let answers: Vec<Answer> = chain.iter().map(|one| one.answer.clone()).collect();
    first_denied(&answers)
}
