//! Sums over the accounts of this node: what TOTALS shows. They follow the values and not the
//! keys: a value counts from when it is made or loaded to when it is freed, whatever the server
//! calls its key meanwhile. The server frees some of them in threads of its own, so there is a lock;
//! nobody waits long for it.

use scurry_ledger::{Account, Portion, Totals};
use std::sync::{Mutex, MutexGuard, PoisonError};

static TOTALS: Mutex<Option<Totals>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Totals>> {
    TOTALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a value out as it was, and in as it is.
pub(crate) fn replace(before: &Portion, after: Option<&Account>) {
    lock().get_or_insert_default().replace(before, after);
}

/// The sums, as they are now.
pub(crate) fn shown() -> Totals {
    lock().clone().unwrap_or_default()
}
