//! Reads: the account at a moment, with everything due applied and nothing written.

use crate::decide::{CountedUnits, Draft, expire_due, grantable, is_due, shortage};
use crate::{Account, Cause, Code, ItemKey, Limits, Name, Status, Time};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// Returns the account as read at `now`.
pub fn view<'a>(account: &'a Account, now: Time, limits: &Limits) -> Cow<'a, Account> {
    let now = now.on(Some(account));
    if !is_due(account, now) {
        return Cow::Borrowed(account);
    }
    let mut copy = Some(account.clone());
    expire_due(&mut Draft::new(&mut copy, Vec::new(), now, limits));
    copy.map_or(Cow::Borrowed(account), Cow::Owned)
}

/// Does the same as [`view`], for a host that already owns a copy of the account.
pub fn view_in_place(account: &mut Option<Account>, now: Time, limits: &Limits) {
    if let Some(held) = account {
        let now = now.on(Some(held));
        if !is_due(held, now) {
            return;
        }
        expire_due(&mut Draft::new(account, Vec::new(), now, limits));
    }
}

/// Answers CHECK (RFC 8506 section 6.2) on an account as read at `now`: how much of the unit could be granted to an item,
/// or debited without one, and whether that is enough.
pub fn check(
    account: &Account,
    (unit, item): (Name, Option<ItemKey>),
    amount: i64,
    now: Time,
) -> Checked {
    let (of, now) = (CountedUnits { unit, item }, now.on(Some(account)));
    let grantable = grantable(account, of, now);
    let (code, cause) = if account.status != Status::Active {
        (Code::ServiceDenied, Cause::Status)
    } else if grantable < amount {
        (Code::CreditLimitReached, shortage(account, of, amount, now))
    } else {
        (Code::Ok, Cause::None)
    };
    Checked { code, amount: grantable, cause }
}

/// The answer to CHECK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// OK or a denial; nothing is stored for it.
    pub code: Code,
    /// Amount that could be granted, minor units.
    pub amount: i64,
    /// Cause of a denial.
    pub cause: Cause,
}
