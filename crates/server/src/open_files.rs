//! Raises the limit of open files to what the wanted number of connections needs, and has the system keep a
//! table for as many.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd;
use std::{io, thread};

/// The longest table that is made beforehand, of eight bytes a file: limits may be far beyond what is used.
const TABLE_LEN_MAX: u64 = 1 << 20;

/// How many connections can be open, at most `clients_max`, beside so many other files.
pub fn make_room(clients_max: usize, others: usize) -> usize {
    let wanted = (clients_max as u64).saturating_add(others as u64);
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return clients_max;
    };
    let limit = raise_limit(wanted, soft, hard);
    let files = wanted.min(limit).min(TABLE_LEN_MAX);
    // Nobody who needs no longer one waits for it. Where it fails the table grows when it has to.
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

/// The limit that there is then.
fn raise_limit(wanted: u64, soft: u64, hard: u64) -> u64 {
    if soft >= wanted {
        return soft;
    }
    let raised = wanted.min(hard);
    if setrlimit(Resource::RLIMIT_NOFILE, raised, hard).is_ok() { raised } else { soft }
}

/// Makes the system's table of this process's open files so long. When connections fill it, Linux makes one
/// twice as long and, with several threads, waits until none can see the former: 6 to 20 ms in which a core
/// that accepts does nothing else. It never becomes shorter.
fn lengthen_table(files: u64) -> Result<(), Errno> {
    let last = i32::try_from(files.saturating_sub(1)).unwrap_or(i32::MAX);
    // The descriptor with the last number, for a moment.
    unistd::close(fcntl(io::stdin(), FcntlArg::F_DUPFD_CLOEXEC(last))?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use scurry_ledger::Time;

    const PATIENCE_NS: u64 = 60_000_000_000;

    /// Length of the table of this process.
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
