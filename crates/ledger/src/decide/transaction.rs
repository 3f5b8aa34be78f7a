//! Transaction ids: the result of a command, remembered under its id (docs/ledger.md section 4).

use super::draft::Draft;
use super::{Step, reject};
use crate::digest::CommandBody;
use crate::{Cause, Code, DebitPart, DebitedItem, Id, Op, Transaction};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Result of a balance command before it is remembered.
pub(super) struct BalanceOutcome {
    pub(super) code: Code,
    pub(super) amount: i64,
    pub(super) cause: Cause,
    pub(super) parts: Vec<DebitPart>,
    pub(super) items: Vec<DebitedItem>,
}

impl BalanceOutcome {
    pub(super) fn ok(amount: i64) -> BalanceOutcome {
        BalanceOutcome::new(Code::Ok, amount, Cause::None)
    }

    /// Returns a denial for lack of units.
    pub(super) fn beyond_credit(amount: i64, cause: Cause) -> BalanceOutcome {
        BalanceOutcome::new(Code::CreditLimitReached, amount, cause)
    }

    /// Returns a denial because of the account's status.
    pub(super) fn denied_service(amount: i64) -> BalanceOutcome {
        BalanceOutcome::new(Code::ServiceDenied, amount, Cause::Status)
    }

    /// Returns a denial because another command of the chain is denied.
    pub(super) fn denied_by_chain(amount: i64) -> BalanceOutcome {
        BalanceOutcome::new(Code::ChainDenied, amount, Cause::Chain)
    }

    fn new(code: Code, amount: i64, cause: Cause) -> BalanceOutcome {
        BalanceOutcome { code, amount, cause, parts: Vec::new(), items: Vec::new() }
    }
}

/// Checks that the remembered id belongs to this command, and not to another one.
pub(super) fn check_body(known: &Transaction, body: &CommandBody) -> Step<()> {
    if body.is(known.digest) {
        return Ok(());
    }
    reject(Code::RequestMismatch, "the transaction id was used with another body: use a new one")
}

/// Remembers the result of a command under its transaction id.
pub(super) fn remember(
    draft: &mut Draft<'_>,
    txn: &[u8],
    body: &CommandBody,
    done: BalanceOutcome,
) {
    let version = draft.next_version();
    let forget_at = draft.now.plus_ms(draft.limits.transaction_ms);
    let BalanceOutcome { code, amount, cause, parts, items } = done;
    let id = Id::new(txn).unwrap_or(Id::EMPTY);
    let digest = body.digest();
    // With `transaction_ms` 0 the id is forgotten in the same Change, and not by a timer's.
    let is_over = forget_at <= draft.now;
    let transaction =
        Transaction { id, forget_at, digest, code, version, amount, cause, parts, items };
    draft.record(Op::Remember(Box::new(transaction)));
    if is_over {
        draft.record(Op::Forget);
    }
}

/// Checks that there is room to remember the transaction id. This is the last check before a command is carried out.
pub(super) fn check_room(draft: &Draft<'_>) -> Step<()> {
    let account = draft.account();
    let max = draft.limits.transactions_max;
    if account.transactions_kept() >= max {
        return draft.busy(
            ("transactions_max", max),
            account.first_transaction(),
            "as many ids are remembered as allowed: retry then with the same id",
        );
    }
    Ok(())
}
