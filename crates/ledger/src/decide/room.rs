//! Bounds on the sessions and session ids of an account (docs/ledger.md section 4).

use super::Step;
use super::draft::Draft;

/// Checks that there is room for `sessions` more open sessions and for one more session id.
pub(super) fn check_room(draft: &Draft<'_>, sessions: usize) -> Step<()> {
    let (account, limits) = (draft.account(), draft.limits);
    let open = account.sessions_open();
    let ids_are_full = open + account.tombstones_kept() >= limits.session_ids_max;
    let sessions_are_full = sessions > 0 && open + sessions > limits.sessions_max;
    if !sessions_are_full && !ids_are_full {
        return Ok(());
    }
    let deadlines = account.sessions.iter().map(|session| session.deadline);
    let first_end = deadlines.chain(account.first_deadline_elsewhere()).min();
    let last_known = first_end.map(|end| end.plus_ms(limits.tombstone_ms));
    let first_forgotten = account.first_tombstone().into_iter().chain(last_known).min();
    if sessions_are_full {
        // When the first session has ended, its id still counts until its tombstone is forgotten.
        let first = if ids_are_full { first_end.max(first_forgotten) } else { first_end };
        return draft.busy(
            ("sessions_max", limits.sessions_max),
            first,
            "as many sessions are open as allowed: retry then with the same id",
        );
    }
    draft.busy(
        ("session_ids_max", limits.session_ids_max),
        first_forgotten,
        "as many sessions are open or remembered as allowed: retry then with the same id",
    )
}
