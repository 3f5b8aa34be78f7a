//! What comes due in accounts that nobody touches, committed when their timers say so.

use crate::account::AccountValue;
use crate::account_key::AccountKey;
use crate::desk::{self, Desk};
use crate::server::{Context, Mode, OpenKey, OwnedName};
use crate::timers::{self, Armed, Entry};
use scurry_engine::Home;
use scurry_ledger::Time;

/// Accounts that one call looks at: commands want their turns.
const STEPS_MAX: usize = 128;

/// The callback of the timers.
pub(crate) fn due(context: &Context, now: Time) {
    desk::at(context, |desk| turn(context, desk, now, STEPS_MAX));
}

/// Looks at accounts that are due, at so many of them at most. How many commits were made.
pub(crate) fn turn(context: &Context, desk: &mut Desk, now: Time, steps_max: usize) -> usize {
    let mut commits = 0;
    for _ in 0..steps_max {
        let Some(entry) = timers::pop(now) else { break };
        commits += usize::from(look(context, desk, &entry));
    }
    commits
}

/// Commits what is due in the account of an entry, at the entry's time. False when it was nothing.
fn look(context: &Context, desk: &mut Desk, entry: &Entry) -> bool {
    if !context.select(entry.database) {
        return false;
    }
    let owned = OwnedName::new(&entry.key);
    let mut key = OpenKey::new(context, owned.name(), Mode::Write);
    match key.value::<AccountValue>() {
        Ok(Some(mut value)) => {
            // The entry of what was there before: this one has its own, or needs none.
            if *value.armed() != entry.armed() {
                return false;
            }
            *value.armed() = Armed::NONE;
        }
        _ => return false,
    }
    AccountKey::new(desk, &mut key).tick(entry.at).is_ok_and(|change| change.is_some())
}
