//! Sums over the accounts of this node, for SCUR.TOTALS. They follow values and not keys: a value counts from the
//! moment it is made or loaded until it is freed, also while its key is renamed. The server frees some values on
//! threads of its own, so the sums need a lock, which is held only briefly.

use scurry_ledger::{Account, AccountContribution, Totals};
use std::sync::{Mutex, MutexGuard, PoisonError};

static TOTALS: Mutex<Option<Totals>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Totals>> {
    TOTALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Subtracts a value as it was, and adds it as it is now.
pub(crate) fn replace(before: &AccountContribution, after: Option<&Account>) {
    lock().get_or_insert_default().replace(before, after);
}

/// Returns the current sums.
pub(crate) fn shown() -> Totals {
    lock().clone().unwrap_or_default()
}
