//! Former identities: identities that an account gave up while it knew a session (docs/ledger.md section 11). Later
//! requests of such a session still name it by them.

use super::Step;
use super::draft::Draft;
use crate::{Account, FORMER_IDENTITIES_MAX, FormerIdentity, Identity, Limits, Op, Time};
use alloc::vec::Vec;

/// How long a former identity is kept at first if ids are not remembered for any time, ms.
const KEPT_MS_DEFAULT: i64 = 1_000;

/// Returns for how long a former identity is kept at first, ms.
fn kept_ms(limits: &Limits) -> i64 {
    let lengths = [limits.transaction_ms, limits.tombstone_ms];
    lengths.into_iter().find(|&ms| ms > 0).unwrap_or(KEPT_MS_DEFAULT)
}

/// Keeps the identities that the account had `before` the command and has no more, if it knows a session; a former one
/// that it has again is forgotten.
pub(super) fn keep_given_up(draft: &mut Draft<'_>, before: Vec<Identity>) -> Step<()> {
    let account = draft.account();
    let is_had = |identity: &Identity| account.identities.contains(identity);
    let former = account.former_identities.iter().map(|former| &former.identity);
    let regained: Vec<Identity> = former.filter(|one| is_had(one)).cloned().collect();
    let given_up: Vec<Identity> = before.into_iter().filter(|one| !is_had(one)).collect();
    for Identity { kind, value } in regained {
        draft.record(Op::ForgetIdentity { kind, value });
    }
    let account = draft.account();
    if account.sessions_open() + account.tombstones_kept() == 0 {
        return Ok(());
    }
    let former = &account.former_identities;
    if former.len() + given_up.len() > FORMER_IDENTITIES_MAX {
        return draft.busy(
            ("former_identities_max", FORMER_IDENTITIES_MAX),
            former.iter().map(|former| former.forget_at).min(),
            "the account keeps as many identities that it gave up as allowed: retry then",
        );
    }
    let forget_at = draft.now.plus_ms(kept_ms(draft.limits));
    for Identity { kind, value } in given_up {
        draft.record(Op::KeepIdentity { kind, value, forget_at });
    }
    Ok(())
}

/// Returns the first moment after everything that is due at which the account knows no session any more, seen when the
/// due sessions have ended and before their tombstones are forgotten. `None` if a session stays open.
fn last_known(account: &Account) -> Option<Time> {
    if account.sessions_open() > 0 {
        return None;
    }
    let loaded = account.tombstones.iter_packed().map(|tombstone| tombstone.forget_at).max();
    let unloaded = account.unloaded.as_ref().and_then(|unloaded| unloaded.tombstones.last);
    loaded.max(unloaded).or(Some(Time(i64::MIN)))
}

/// What becomes of a former identity that is due.
pub(super) enum DueIdentity {
    /// It is kept until this time.
    Keep(Identity, Time),
    /// It is forgotten.
    Forget(Identity),
}

/// Returns what becomes of the former identities that are due. Each is kept for as long again as it has been kept, at each
/// of its times at which the account knows a session: so the times of a session that stays open for years are few. Call it when the due sessions have ended, before tombstones are forgotten.
#[cold]
pub(super) fn due(draft: &Draft<'_>) -> Vec<DueIdentity> {
    let (account, now) = (draft.account(), draft.now);
    // What a session or a tombstone keeps known ends at one moment: nothing was opened since the last Change.
    let until = last_known(account).map_or(now, |last| now.min(last.plus_ms(-1)));
    let due = account.former_identities.iter().filter(|former| former.forget_at <= now);
    let fate = due.map(|FormerIdentity { identity, given_up_at, forget_at }| {
        let mut at = *forget_at;
        while at <= until {
            at = at.plus_ms((at.0 - given_up_at.0).max(1));
        }
        match at > now {
            true => DueIdentity::Keep(identity.clone(), at),
            false => DueIdentity::Forget(identity.clone()),
        }
    });
    fate.collect()
}

/// Records what [`due`] has found.
#[cold]
pub(super) fn settle(draft: &mut Draft<'_>, due: Vec<DueIdentity>) {
    for one in due {
        match one {
            DueIdentity::Keep(Identity { kind, value }, forget_at) => {
                draft.record(Op::KeepIdentity { kind, value, forget_at });
            }
            DueIdentity::Forget(Identity { kind, value }) => {
                draft.record(Op::ForgetIdentity { kind, value });
            }
        }
    }
}
