//! Checks memory and disk before hours are spent on filling a store with many accounts.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::fs::statvfs;

/// Least bytes of memory of an account and of each of its buckets, including the lab's own.
const ACCOUNT: u64 = 80;
const BUCKET: u64 = 35;
/// The same in a snapshot.
const WRITTEN_ACCOUNT: u64 = 40;
const WRITTEN_BUCKET: u64 = 32;
/// Snapshots on disk at a time: two that are kept, one being written, and as much again to measure the disk alone.
const SNAPSHOTS: u64 = 4;
/// Bytes of log beside them: four times its growth between two snapshots.
const LOG: u64 = 4 << 30;
/// Stores with fewer accounts are not checked: they fit on any machine.
const FEW: u32 = 5_000_000;

/// Space needed or available, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    memory: u64,
    disk: u64,
}

/// Checks that a store of this many accounts fits here; `kept` is its directory, if it has one.
///
/// # Errors
/// When memory or disk space is too small, with the cure.
pub fn check(accounts: u32, buckets: u32, kept: Option<&Path>) -> Result<()> {
    if accounts < FEW {
        return Ok(());
    }
    let disk = kept.map_or(Ok(u64::MAX), |place| {
        let found = statvfs(place).with_context(|| format!("looking at {}", place.display()))?;
        Ok::<_, anyhow::Error>(found.f_bavail.saturating_mul(found.f_frsize))
    })?;
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    // If the kernel does not report available memory, do not block the run.
    let memory = available(&text).unwrap_or(u64::MAX);
    suffices(needed(accounts, buckets), Room { memory, disk })
}

fn needed(accounts: u32, buckets: u32) -> Room {
    let (accounts, buckets) = (u64::from(accounts), u64::from(buckets));
    let snapshot = accounts * (WRITTEN_ACCOUNT + buckets * WRITTEN_BUCKET);
    Room { memory: accounts * (ACCOUNT + buckets * BUCKET), disk: SNAPSHOTS * snapshot + LOG }
}

fn suffices(needed: Room, there: Room) -> Result<()> {
    let gb = |bytes: u64| bytes as f64 / 1e9;
    ensure!(
        needed.memory <= there.memory,
        "the accounts need {:.1} GB of memory and {:.1} GB are available: use fewer --accounts, or stop what \
         takes the rest",
        gb(needed.memory),
        gb(there.memory)
    );
    ensure!(
        needed.disk <= there.disk,
        "the accounts need {:.1} GB of disk and {:.1} GB are free: use fewer --accounts, or give --directory a \
         larger disk",
        gb(needed.disk),
        gb(there.disk)
    );
    Ok(())
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_has_no_room_is_told_what_it_needs_and_the_cure() {
        let needed = needed(100_000_000, 2);
        assert_eq!(needed.memory, 15_000_000_000);
        assert!(suffices(needed, needed).is_ok());
        let less = Room { memory: needed.memory - 1, ..needed };
        let error = suffices(needed, less).unwrap_err().to_string();
        assert!(
            error.contains("need 15.0 GB of memory") && error.contains("fewer --accounts"),
            "{error}"
        );
        let less = Room { disk: 7_000_000_000, ..needed };
        let error = suffices(needed, less).unwrap_err().to_string();
        assert!(error.contains("7.0 GB are free") && error.contains("--directory"), "{error}");
    }

    #[test]
    fn available_memory_is_read() {
        let text = "MemTotal:  24000 kB\nMemAvailable:   16 kB\n";
        assert_eq!((available(text), available("MemTotal: 1 kB\n")), (Some(16_384), None));
    }
}
