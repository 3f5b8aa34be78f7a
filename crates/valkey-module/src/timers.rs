//! When to look at which account again, for accounts that nobody touches. There is at most one
//! entry for each account; it may be too early, never too late. Replicas keep the entries as well,
//! so that one that becomes the primary goes on at once, but only a primary acts on them.

use crate::server::{Context, call};
use scurry_ledger::Time;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use valkey_module::raw;

/// When to look again while nothing may be written, ms.
const QUIET_MS: i64 = 100;

/// When the timer of an account is armed for. It is part of the account's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Armed(Time);

impl Armed {
    /// The state of a timer that is not armed.
    pub(crate) const NONE: Armed = Armed(Time(i64::MAX));
}

/// The order in which accounts are looked at: time, then id (I9).
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) at: Time,
    pub(crate) database: i32,
    pub(crate) key: Box<[u8]>,
}

impl Entry {
    /// The state of the timer that this is the entry of.
    pub(crate) fn armed(&self) -> Armed {
        Armed(self.at)
    }
}

#[derive(Debug, Default)]
struct Timers {
    entries: BTreeSet<Entry>,
    /// The server's timer, and when it fires.
    server: Option<(raw::RedisModuleTimerID, Time)>,
    /// Slots are being imported: what is in them belongs to another node until that has ended.
    imports: u32,
}

static TIMERS: Mutex<Option<Timers>> = Mutex::new(None);

/// The callback for accounts that are due.
type Due = fn(&Context, Time);

static OF_DUE: OnceLock<Due> = OnceLock::new();

/// Names what is called when entries are due, and takes them with [`pop`].
pub(crate) fn call_when_due(due: Due) {
    OF_DUE.get_or_init(|| due);
}

fn with<R>(work: impl FnOnce(&mut Timers) -> R) -> R {
    let mut guard: MutexGuard<'_, Option<Timers>> =
        TIMERS.lock().unwrap_or_else(PoisonError::into_inner);
    work(guard.get_or_insert_default())
}

/// Arms the timer of an account, unless it is armed for sooner; disarms it where nothing can come
/// due any more.
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
            timers.entries.insert(Entry { at: wanted.0, database, key: key.into() });
            timers.wake(context);
        }
    });
}

/// Takes the timer of an account away that leaves its key.
pub(crate) fn disarm(database: i32, key: &[u8], armed: &Armed) {
    with(|timers| timers.remove(database, key, armed));
}

/// A database is empty now; all of them where none is named.
pub(crate) fn clear(database: Option<i32>) {
    with(|timers| match database {
        None => timers.entries.clear(),
        Some(database) => timers.entries.retain(|entry| entry.database != database),
    });
}

/// Two databases have changed places.
pub(crate) fn swap(first: i32, second: i32) {
    with(|timers| {
        let swapped = std::mem::take(&mut timers.entries).into_iter().map(|entry| {
            let database = match entry.database {
                database if database == first => second,
                database if database == second => first,
                database => database,
            };
            Entry { database, ..entry }
        });
        timers.entries = swapped.collect();
    });
}

/// The import of slots has begun or ended.
pub(crate) fn importing(context: &Context, begins: bool) {
    with(|timers| {
        timers.imports = if begins { timers.imports + 1 } else { timers.imports.saturating_sub(1) };
        timers.wake(context);
    });
}

/// Takes the first entry that is due.
pub(crate) fn pop(now: Time) -> Option<Entry> {
    with(|timers| {
        timers.entries.first().filter(|first| first.at <= now)?;
        timers.entries.pop_first()
    })
}

/// Files were read, or this node has become the primary: goes on.
pub(crate) fn wake(context: &Context) {
    with(|timers| timers.wake(context));
}

impl Timers {
    fn remove(&mut self, database: i32, key: &[u8], armed: &Armed) {
        if *armed != Armed::NONE {
            self.entries.remove(&Entry { at: armed.0, database, key: key.into() });
        }
    }

    /// Sees to it that the server's timer fires when the first entry is due.
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
        // SAFETY: the context is valid; the timer is one that has not fired.
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

// SAFETY: called by the server alone, with a valid context, when the timer has fired.
unsafe extern "C" fn fired(context: *mut raw::RedisModuleCtx, _: *mut c_void) {
    // SAFETY: see above.
    let context = unsafe { Context::new(context) };
    with(|timers| timers.server = None);
    if context.is_replica() {
        // It goes on when this node becomes the primary.
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

/// True while a test says when timers run.
fn runs_by_hand() -> bool {
    #[cfg(feature = "test-clock")]
    return crate::server::test_clock::now().is_some();
    #[cfg(not(feature = "test-clock"))]
    false
}
