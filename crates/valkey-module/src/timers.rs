//! Timers for accounts that no command touches. Each account has at most one entry, which may be too early but never
//! too late. Replicas keep the entries too, so that a new primary continues at once, but only a primary acts on them.

use crate::server::{Context, call};
use scurry_ledger::Time;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use valkey_module::raw;

/// Delay of the next attempt while nothing may be written, ms.
const QUIET_MS: i64 = 100;

/// Time for which the timer of an account is armed. Stored in the account's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Armed(Time);

impl Armed {
    /// State of a timer that is not armed.
    pub(crate) const NONE: Armed = Armed(Time(i64::MAX));
}

/// Entry of an account. Entries are ordered by time, then id (I9).
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerEntry {
    pub(crate) at: Time,
    pub(crate) database: i32,
    pub(crate) key: Box<[u8]>,
}

impl TimerEntry {
    /// Returns the state of this entry's timer.
    pub(crate) fn armed(&self) -> Armed {
        Armed(self.at)
    }
}

#[derive(Debug, Default)]
struct Timers {
    entries: BTreeSet<TimerEntry>,
    /// The server's timer, and when it fires.
    server: Option<(raw::RedisModuleTimerID, Time)>,
    /// Number of running slot imports. Until an import ends, its accounts belong to another node and must not change.
    imports: u32,
}

static TIMERS: Mutex<Option<Timers>> = Mutex::new(None);

/// Callback for due accounts.
type Due = fn(&Context, Time);

static OF_DUE: OnceLock<Due> = OnceLock::new();

/// Sets the callback for due entries, which removes them with [`pop`].
pub(crate) fn call_when_due(due: Due) {
    OF_DUE.get_or_init(|| due);
}

fn with<R>(work: impl FnOnce(&mut Timers) -> R) -> R {
    let mut guard: MutexGuard<'_, Option<Timers>> =
        TIMERS.lock().unwrap_or_else(PoisonError::into_inner);
    work(guard.get_or_insert_default())
}

/// Arms the timer of an account unless it is already armed for an earlier time. Disarms it if nothing can become due
/// any more.
pub(crate) fn arm(
    context: &Context,
    database: i32,
    key: &[u8],
    armed: &mut Armed,
    due: Option<Time>,
) {
    let wanted = Armed(due.unwrap_or(Armed::NONE.0));
    if wanted.0 >= armed.0 && wanted != Armed::NONE || wanted == *armed {
        return;
    }
    with(|timers| {
        timers.remove(database, key, armed);
        *armed = wanted;
        if wanted != Armed::NONE {
            timers.entries.insert(TimerEntry { at: wanted.0, database, key: key.into() });
            timers.wake(context);
        }
    });
}

/// Removes the timer of an account that leaves its key.
pub(crate) fn disarm(database: i32, key: &[u8], armed: &Armed) {
    with(|timers| timers.remove(database, key, armed));
}

/// Removes the timers of a flushed database, or of all if none is named.
pub(crate) fn clear(database: Option<i32>) {
    with(|timers| match database {
        None => timers.entries.clear(),
        Some(database) => timers.entries.retain(|entry| entry.database != database),
    });
}

/// Swaps the timers of two databases.
pub(crate) fn swap(first: i32, second: i32) {
    with(|timers| {
        let swapped = std::mem::take(&mut timers.entries).into_iter().map(|entry| {
            let database = match entry.database {
                database if database == first => second,
                database if database == second => first,
                database => database,
            };
            TimerEntry { database, ..entry }
        });
        timers.entries = swapped.collect();
    });
}

/// Notes that an import of slots has begun or ended.
pub(crate) fn importing(context: &Context, begins: bool) {
    with(|timers| {
        timers.imports = if begins { timers.imports + 1 } else { timers.imports.saturating_sub(1) };
        timers.wake(context);
    });
}

/// Removes and returns the first entry that is due.
pub(crate) fn pop(now: Time) -> Option<TimerEntry> {
    with(|timers| {
        timers.entries.first().filter(|first| first.at <= now)?;
        timers.entries.pop_first()
    })
}

/// Starts the server's timer again, after files were read or this node has become the primary.
pub(crate) fn wake(context: &Context) {
    with(|timers| timers.wake(context));
}

impl Timers {
    fn remove(&mut self, database: i32, key: &[u8], armed: &Armed) {
        if *armed != Armed::NONE {
            self.entries.remove(&TimerEntry { at: armed.0, database, key: key.into() });
        }
    }

    /// Makes the server's timer fire no later than the first entry is due.
    fn wake(&mut self, context: &Context) {
        if context.is_replica() || context.is_loading() || runs_by_hand() {
            return;
        }
        let Some(first) = self.entries.first() else { return };
        let at = first.at;
        if self.server.is_none_or(|(_, armed)| at < armed) {
            self.fire_in(context, at, at.0.saturating_sub(context.now().0));
        }
    }

    fn fire_in(&mut self, context: &Context, at: Time, ms: i64) {
        // SAFETY: the context is valid; the stopped timer has not fired.
        unsafe {
            if let Some((timer, _)) = self.server.take() {
                call!(RedisModule_StopTimer(context.raw(), timer, std::ptr::null_mut()));
            }
            let null = std::ptr::null_mut();
            let ms = ms.clamp(1, i64::from(i32::MAX));
            let timer = call!(RedisModule_CreateTimer(context.raw(), ms, Some(fired), null));
            self.server = Some((timer, at));
        }
    }
}

// SAFETY: only the server calls this, with a valid context, when the timer has fired.
unsafe extern "C" fn fired(context: *mut raw::RedisModuleCtx, _: *mut c_void) {
    // SAFETY: see above.
    let context = unsafe { Context::new(context) };
    with(|timers| timers.server = None);
    if context.is_replica() {
        // The timer is started again when this node becomes the primary.
        return;
    }
    let now = context.now();
    let importing = with(|timers| timers.imports > 0);
    if context.is_loading() || context.must_be_quiet() || importing {
        with(|timers| timers.fire_in(&context, now.plus_ms(QUIET_MS), QUIET_MS));
        return;
    }
    if let Some(due) = OF_DUE.get() {
        due(&context, now);
    }
    with(|timers| timers.wake(&context));
}

/// Reports whether a test runs the timers.
fn runs_by_hand() -> bool {
    #[cfg(feature = "test-clock")]
    return crate::server::test_clock::now().is_some();
    #[cfg(not(feature = "test-clock"))]
    false
}
