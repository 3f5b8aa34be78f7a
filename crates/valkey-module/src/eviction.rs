//! Accounts must never be evicted. The server can be told to evict after the module was loaded, and
//! asks nobody: then it is said in the server's log and in INFO.

use crate::server::{Context, Level};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

const NO_EVICTION: &str = "noeviction";

/// The policy when somebody looked last.
static EVICTS: AtomicBool = AtomicBool::new(false);

/// The server's policy where accounts could be evicted; none where they are safe.
pub(crate) fn policy(context: &Context) -> Option<String> {
    let policy = context.info(c"memory", c"maxmemory_policy").unwrap_or_default();
    (policy != NO_EVICTION).then_some(policy)
}

/// Settings have changed: says when accounts are no longer safe, and when they are again.
pub(crate) fn look(context: &Context) {
    let policy = policy(context);
    let did_evict = EVICTS.swap(policy.is_some(), Ordering::Relaxed);
    match policy {
        Some(policy) if !did_evict => context.log(
            Level::Warning,
            &format!(
                "maxmemory-policy is {policy} now: at maxmemory accounts are evicted, and their \
                 balances are lost. CONFIG SET maxmemory-policy {NO_EVICTION}"
            ),
        ),
        None if did_evict => {
            context.log(Level::Notice, "maxmemory-policy is noeviction again: accounts stay");
        }
        _ => {}
    }
}

/// The field of INFO that names it.
pub(crate) fn fields() -> Vec<(&'static CStr, u64)> {
    vec![(c"evicts_accounts", u64::from(EVICTS.load(Ordering::Relaxed)))]
}
