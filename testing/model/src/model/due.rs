//! Section 3: what is due comes first.

use super::state::{Closed, End, State};
use super::{Context, money};
use scurry_ledger::Code;

/// Applies the expiries that are due. Forgetting needs nothing: it is a comparison of times.
pub(super) fn apply(state: &mut State, context: Context<'_>) -> Result<(), Code> {
    let now = context.now;
    let mut late: Vec<(i64, String)> = state
        .sessions
        .iter()
        .filter(|(_, session)| session.deadline <= now)
        .map(|(id, session)| (session.deadline, id.clone()))
        .collect();
    late.sort();
    for (deadline, id) in late {
        money::release_all(state, &id, now)?;
        state.sessions.remove(&id);
        let forget = deadline.saturating_add(context.limits.tombstone_ms);
        state.closed.push(Closed { id, forget, end: End::Expired });
    }
    let ended: Vec<u32> =
        state.buckets.iter().filter(|b| b.is_expired(now)).map(|b| b.serial).collect();
    for serial in ended {
        let available = state.available(serial);
        if let Some(bucket) = state.bucket(serial)
            && available > 0
        {
            bucket.expired += available;
        }
    }
    state.fits()
}

/// When something is due next. What was due at the last Change has been done with it.
pub(super) fn next(state: &State) -> Option<i64> {
    let sessions = state.sessions.values().map(|session| session.deadline);
    let buckets = state.buckets.iter().filter(|b| state.available(b.serial) > 0);
    let closed = state.tombstones(state.changed_at).map(|closed| closed.forget);
    let transactions = state.remembered(state.changed_at).map(|transaction| transaction.forget);
    sessions.chain(buckets.filter_map(|b| b.to)).chain(closed).chain(transactions).min()
}
