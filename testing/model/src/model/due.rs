//! Section 3: due expiries are processed first.

use super::state::{Closed, End, Session, State};
use super::{Context, money, transfer};
use scurry_ledger::Code;

/// Does everything that is due, moment by moment, each as of that moment. Forgetting needs no step: it is a comparison
/// of times.
pub(super) fn apply(state: &mut State, context: Context<'_>) -> Result<(), Code> {
    let refills = |state: &State| state.buckets.iter().filter_map(|b| b.next_refill()).min();
    while let Some(moment) = moments(state)
        .chain(rests(state))
        .chain(refills(state))
        .chain(state.former.iter().map(|former| former.forget))
        .filter(|&moment| moment <= context.now)
        .min()
    {
        let of_moment = |session: &Session| session.deadline == moment;
        let ended = state.sessions.iter().filter(|(_, session)| of_moment(session));
        let ended: Vec<String> = ended.map(|(id, _)| id.clone()).collect();
        for id in ended {
            if let Some(transfer) = state.sessions.get_mut(&id)
                && transfer.terms.transfer
            {
                transfer::postpone(transfer);
                continue;
            }
            money::release_all(state, &id, moment)?;
            let highest = state.sessions.remove(&id).and_then(|session| session.highest());
            let forget = moment.saturating_add(context.limits.tombstone_ms);
            let end = End::Expired(moment);
            state.closed.push(Closed { id, forget, end, highest, late: vec![] });
        }
        let all: Vec<u32> = state.buckets.iter().map(|bucket| bucket.serial).collect();
        for serial in all {
            let available = state.available(serial);
            let Some(bucket) = state.bucket(serial) else { continue };
            let begins = bucket.next_refill() == Some(moment);
            // A debt that the refills did not pay stays.
            if bucket.is_expired(moment) {
                bucket.expired += (available + bucket.owed()).max(0);
            }
            if begins {
                state.refill(serial, moment);
            }
        }
        former(state, moment);
    }
    state.fits()
}

/// Keeps the former identities of this moment for as long again as they have been kept, if a session is known, else forgets
/// them.
fn former(state: &mut State, moment: i64) {
    let is_known = state.knows_a_session(moment);
    state.former.retain(|former| former.forget != moment || is_known);
    for former in state.former.iter_mut().filter(|former| former.forget == moment) {
        former.forget += former.forget - former.since;
    }
}

/// Returns every time at which a session ends, or a bucket that has something to lose.
fn moments(state: &State) -> impl Iterator<Item = i64> {
    let sessions = state.sessions.values().map(|session| session.deadline);
    let buckets = state.buckets.iter().filter(|b| state.available(b.serial) > 0);
    sessions.chain(buckets.filter_map(|bucket| bucket.to))
}

/// Returns the ends of buckets that have something to lose beside a debt that the refills did not pay.
fn rests(state: &State) -> impl Iterator<Item = i64> {
    let owing = state.buckets.iter().filter(|bucket| bucket.owed() > 0);
    owing.filter(|b| state.available(b.serial) + b.owed() > 0).filter_map(|bucket| bucket.to)
}

/// Returns when a timer is due next; refills do not need one. Whatever was due at the last Change was done with it.
pub(super) fn next(state: &State) -> Option<i64> {
    let closed = state.tombstones(state.changed_at).map(|closed| closed.forget);
    let transactions = state.remembered(state.changed_at).map(|transaction| transaction.forget);
    let former = state.former.iter().map(|former| former.forget);
    moments(state).chain(closed).chain(transactions).chain(former).min()
}
