//! Warns about eviction. Accounts must never be evicted, but the server's policy can change after the module was loaded
//! without asking the module. The change is then reported in the server's log and in INFO.

use crate::server::{Context, FieldValue, Level};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

const NO_EVICTION: &str = "noeviction";

/// True if the policy allowed eviction at the last check.
static EVICTS: AtomicBool = AtomicBool::new(false);

/// Returns the server's policy if accounts could be evicted. None if they are safe.
pub(crate) fn policy(context: &Context) -> Option<String> {
    let policy = context.info(c"memory", c"maxmemory_policy").unwrap_or_default();
    (policy != NO_EVICTION).then_some(policy)
}

/// Checks the policy after a change of settings. Logs when accounts become unsafe and when they are safe again.
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

/// Returns the field of INFO about it.
pub(crate) fn field() -> (&'static CStr, FieldValue) {
    let evicts = u64::from(EVICTS.load(Ordering::Relaxed));
    (c"evicts_accounts", FieldValue::Number(evicts))
}
