//! Raises the limit of open files to what the wanted number of connections needs.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files besides connections: the listener, the poller, the log and some to spare.
const RESERVED: u64 = 64;

/// How many connections can be open, at most `clients_max`.
pub fn make_room(clients_max: usize) -> usize {
    let wanted = (clients_max as u64).saturating_add(RESERVED);
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return clients_max;
    };
    if soft >= wanted {
        return clients_max;
    }
    let raised = wanted.min(hard);
    let limit =
        if setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok() { raised } else { soft };
    let possible = usize::try_from(limit.saturating_sub(RESERVED)).unwrap_or(clients_max).max(1);
    if possible < clients_max {
        tracing::warn!(
            "only {possible} of {clients_max} connections are possible with {limit} open files: \
             raise the hard limit (ulimit -Hn) or lower --max-clients"
        );
    }
    possible.min(clients_max)
}
