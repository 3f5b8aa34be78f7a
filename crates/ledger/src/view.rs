//! Reads: the account as it is at a moment, with what is due applied and nothing written.

use crate::decide::{Draft, expire_due, grantable};
use crate::{Account, Code, Limits, Name, Status, Time};
use alloc::borrow::Cow;

/// The account as read at `now`.
pub fn view<'a>(account: &'a Account, now: Time, limits: &Limits) -> Cow<'a, Account> {
    let now = now.on(Some(account));
    if next_due(account).is_none_or(|due| due > now) {
        return Cow::Borrowed(account);
    }
    let mut copy = Some(account.clone());
    expire_due(&mut Draft::new(&mut copy, now, limits));
    copy.map_or(Cow::Borrowed(account), Cow::Owned)
}

/// As [`view`], for a host that owns a copy of the account already.
pub fn view_in_place(account: &mut Option<Account>, now: Time, limits: &Limits) {
    if let Some(held) = account {
        let now = now.on(Some(held));
        expire_due(&mut Draft::new(account, now, limits));
    }
}

/// CHECK (RFC 8506 section 6.2) on an account as read at `now`: the code, and what could be
/// granted of the unit.
pub fn check(account: &Account, unit: Name, amount: i64, now: Time) -> (Code, i64) {
    let grantable = grantable(account, unit, now.on(Some(account)));
    let code = if account.status != Status::Active {
        Code::ServiceDenied
    } else if grantable < amount {
        Code::CreditLimitReached
    } else {
        Code::Ok
    };
    (code, grantable)
}

/// When the account next has something due; a host sets its timer to it.
pub fn next_due(account: &Account) -> Option<Time> {
    let sessions = account.sessions.iter().map(|session| session.deadline);
    let buckets = account.buckets.iter().filter(|b| b.available > 0).filter_map(|b| b.valid_to);
    sessions
        .chain(buckets)
        .chain(account.tombstones.next_forget())
        .chain(account.transactions.next_forget())
        .min()
}
