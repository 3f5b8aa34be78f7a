//! Replies to SCUR commands that read, which are the same in every host.

use crate::render::{
    account_map, audit_map, check_answer, holds_map, reject, session_map, transaction_map,
};
use crate::{Read, Reply};
use scurry_ledger::{Account, Code, ShownParts, Time, check, validate};
use scurry_service::{HoldsView, TransactionView};

/// The explanation of UNKNOWN_ACCOUNT to a read.
pub const UNKNOWN_ACCOUNT: &str = "no account has this id: create it with SCUR.CREATE";
/// The explanation of UNKNOWN_SESSION to a read.
pub const UNKNOWN_SESSION: &str = "no open session has this id: SCUR.RESERVE opens one";
/// The explanation of UNKNOWN_TRANSACTION to a read.
pub const UNKNOWN_TRANSACTION: &str = "no transaction of this id is remembered, for as long as transaction_ms says: \
     SCUR.STATEMENT with TRANSACTION searches the log for older ones";
/// The explanation of UNKNOWN_SESSION to a read where the session has ended.
pub const ENDED_SESSION: &str =
    "the session has ended: report what it used with LATEUSE, and open another one under a new id";

impl<'a> Read<'a> {
    /// Returns the account that the command reads.
    pub fn account(&self) -> &'a [u8] {
        match *self {
            Read::Account(account)
            | Read::Audit(account)
            | Read::Session { account, .. }
            | Read::Holds { account, .. }
            | Read::Transaction { account, .. }
            | Read::Check { account, .. } => account,
        }
    }

    /// Returns the parts of the account that the command shows.
    pub fn shown(&self) -> ShownParts<'a> {
        match *self {
            Read::Account(_) | Read::Audit(_) => ShownParts::All,
            Read::Session { session, .. } => ShownParts::Session(session),
            Read::Transaction { txn, .. } => ShownParts::Transaction(txn),
            Read::Holds { page, .. } => ShownParts::Page(page),
            Read::Check { .. } => ShownParts::None,
        }
    }

    /// Writes the reply about an account. The account is as read at the host's clock `now`, with everything due
    /// applied.
    pub fn answer(&self, reply: &mut Reply<'_>, account: &Account, now: Time) {
        let now = now.on(Some(account));
        match *self {
            Read::Account(_) => account_map(reply, account, now),
            Read::Audit(_) => audit_map(reply, account, validate(account, now).is_ok()),
            Read::Session { session, .. } => match account.session(session) {
                Some(session) => session_map(reply, account, session, now),
                None if account.has_ended(session) => {
                    reject(reply, Code::UnknownSession, ENDED_SESSION);
                }
                None => reject(reply, Code::UnknownSession, UNKNOWN_SESSION),
            },
            Read::Check { unit, item, amount, .. } => {
                check_answer(reply, check(account, (unit, item), amount, now));
            }
            Read::Holds { page, .. } => holds_map(reply, &HoldsView::of_account(account, &page)),
            Read::Transaction { txn, .. } => match TransactionView::of_account(account, txn) {
                Some(view) => transaction_map(reply, &view),
                None => reject(reply, Code::UnknownTransaction, UNKNOWN_TRANSACTION),
            },
        }
    }
}

/// Writes the refusal of a read whose account does not exist.
pub fn unknown_account(reply: &mut Reply<'_>) {
    reject(reply, Code::UnknownAccount, UNKNOWN_ACCOUNT);
}
