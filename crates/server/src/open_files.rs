//! Raises the limit of open files for the wanted number of connections, and has the system allocate its file table for
//! as many.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd;
use std::{io, thread};

/// Longest table that is allocated beforehand, files (eight bytes each): limits may be far above the actual use.
const TABLE_LEN_MAX: u64 = 1 << 20;

/// Returns how many connections can be open, at most `clients_max`, besides this many other files.
pub fn make_room(clients_max: usize, others: usize) -> usize {
    let wanted = (clients_max as u64).saturating_add(others as u64);
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return clients_max;
    };
    let limit = raise_limit(wanted, soft, hard);
    let files = wanted.min(limit).min(TABLE_LEN_MAX);
    // No request that gets by with the shorter table waits for this. If it fails, the table grows when it has to.
    let _ = thread::Builder::new().name("files".to_owned()).spawn(move || lengthen_table(files));
    if limit >= wanted {
        return clients_max;
    }
    let possible = limit.saturating_sub(others as u64);
    let possible = usize::try_from(possible).unwrap_or(clients_max).max(1);
    tracing::warn!(
        "only {possible} of {clients_max} connections are possible with {limit} open files: \
         beside {others} others: raise the hard limit (ulimit -Hn) or lower --max-clients"
    );
    possible
}

/// Raises the limit to `wanted`, or to the hard limit if that is lower, and returns the resulting limit.
fn raise_limit(wanted: u64, soft: u64, hard: u64) -> u64 {
    if soft >= wanted {
        return soft;
    }
    let raised = wanted.min(hard);
    if setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok() { raised } else { soft }
}

/// Lengthens the system's table of this process's open files. When connections fill it, Linux doubles it and, with
/// several threads, waits until none can see the former table: 6 to 20 ms in which a core that accepts does nothing
/// else. The table never shrinks.
fn lengthen_table(files: u64) -> Result<(), Errno> {
    let last = i32::try_from(files.saturating_sub(1)).unwrap_or(i32::MAX);
    // Opening a descriptor with the last number, for a moment, extends the table.
    unistd::close(fcntl(io::stdin(), FcntlArg::F_DUPFD_CLOEXEC(last))?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use scurry_group::Clock;
    use scurry_ledger::Time;

    const PATIENCE_NS: u64 = 60_000_000_000;

    /// Returns the length of the table of this process.
    fn table_len() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
        let line = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
        line.expect("it is told").trim().parse().expect("a number")
    }

    #[test]
    fn the_table_becomes_longer_before_connections_fill_it() {
        let clients = usize::try_from(table_len()).expect("small");
        let room = clients as u64 + 64;
        assert_eq!(make_room(clients, 64), clients);
        let clock = Clock::start(Time(0));
        let until_ns = clock.monotonic_ns() + PATIENCE_NS;
        while table_len() < room {
            assert!(clock.monotonic_ns() < until_ns, "{} of {room}", table_len());
            thread::yield_now();
        }
    }
}
