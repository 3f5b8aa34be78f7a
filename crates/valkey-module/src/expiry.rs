//! Commits due expiries in accounts that no command touches, when their timers fire.

use crate::account::AccountValue;
use crate::account_key::AccountKey;
use crate::command_state::{self, CommandState};
use crate::server::{Context, Mode, OpenKey, OwnedName};
use crate::timers::{self, Armed, TimerEntry};
use scurry_engine::AccountSlot;
use scurry_ledger::Time;

/// Accounts handled in one call, bounded so that commands are not delayed.
const STEPS_MAX: usize = 128;

/// Callback of the timers.
pub(crate) fn due(context: &Context, now: Time) {
    command_state::with(context, |state| turn(context, state, now, STEPS_MAX));
}

/// Handles due accounts, `steps_max` at most. Returns the number of commits.
pub(crate) fn turn(
    context: &Context,
    state: &mut CommandState,
    now: Time,
    steps_max: usize,
) -> usize {
    let mut commits = 0;
    for _ in 0..steps_max {
        let Some(entry) = timers::pop(now) else { break };
        commits += usize::from(look(context, state, &entry));
    }
    commits
}

/// Commits due expiries in the account of an entry, at the entry's time. Returns false if nothing was due.
fn look(context: &Context, state: &mut CommandState, entry: &TimerEntry) -> bool {
    if !context.select(entry.database) {
        return false;
    }
    let owned = OwnedName::new(&entry.key);
    let mut key = OpenKey::new(context, owned.name(), Mode::Write);
    match key.value::<AccountValue>() {
        Ok(Some(mut value)) => {
            // The entry belongs to an earlier account under this key. The present one has its own entry or needs none.
            if *value.armed() != entry.armed() {
                return false;
            }
            *value.armed() = Armed::NONE;
        }
        _ => return false,
    }
    AccountKey::new(state, &mut key).tick(entry.at).is_ok_and(|change| change.is_some())
}
