//! Reads: the account as it is at a moment, with what is due applied and nothing written.

use crate::decide::{Draft, expire_due, grantable, next_due};
use crate::{Account, Code, Limits, Name, Status, Time};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// The account as read at `now`.
pub fn view<'a>(account: &'a Account, now: Time, limits: &Limits) -> Cow<'a, Account> {
    let now = now.on(Some(account));
    if next_due(account).is_none_or(|due| due > now) {
        return Cow::Borrowed(account);
    }
    let mut copy = Some(account.clone());
    expire_due(&mut Draft::new(&mut copy, Vec::new(), now, limits));
    copy.map_or(Cow::Borrowed(account), Cow::Owned)
}

/// As [`view`], for a host that owns a copy of the account already.
pub fn view_in_place(account: &mut Option<Account>, now: Time, limits: &Limits) {
    if let Some(held) = account {
        let now = now.on(Some(held));
        expire_due(&mut Draft::new(account, Vec::new(), now, limits));
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
