//! A bare writer: it writes the batches of a run and does nothing else, on the same file system and
//! just after the run. What commits took beyond it is the server's.

use std::num::NonZeroU64;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::device::{Device, LEN};
use crate::figures::{per, rounded};
use crate::latency::{LatencyRecorder, LatencySummary};
use crate::log_growth::LogGrowth;

const NANOS: f64 = 1e9;
/// The longest write, as of the log: whatever is due goes out in one.
const BATCH_LEN_MAX: u64 = 512 << 10;
/// Syncs beyond these are counted by themselves: a percentile of arrivals rests on a few of them.
const SLOW_NS: u64 = 1_000_000;
const STALL_NS: u64 = 10_000_000;
/// Where batches are rare.
const SLEEP_NS_MAX: u64 = 100_000_000;

/// The batches to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Batches {
    /// Length of one.
    bytes: u64,
    /// Nanoseconds from one to the next.
    period: u64,
    /// Nanoseconds from one commit to the next.
    apart: u64,
}

/// Figures of a bare writer.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BareFigures {
    /// Bytes of a batch.
    pub bytes: u64,
    /// Batches that fell due in a second.
    pub batches_per_s: f64,
    /// Writes with their sync: what fell due during one goes out with the next.
    pub syncs: u64,
    /// How many of them took longer than 1 ms.
    pub above_1_ms: u64,
    /// How many of them took longer than 10 ms.
    pub above_10_ms: u64,
    /// Of a write and its fdatasync, microseconds.
    pub latency_us: LatencySummary,
    /// Of a commit that comes at any moment, waits for the sync that is under way and then for its
    /// own, microseconds: by arithmetic from the same syncs. No log with one sync at a time can
    /// answer earlier.
    pub arrival_us: LatencySummary,
}

impl Batches {
    /// The batches of a run.
    ///
    /// # Errors
    /// When it wrote none.
    pub(super) fn of(log: &LogGrowth) -> Result<Batches> {
        let period = |per_s: f64| {
            ensure!(per_s > 0.0, "the run has written no batch");
            let nanos = Duration::try_from_secs_f64(1.0 / per_s)?.as_nanos();
            Ok(u64::try_from(nanos)?.max(1))
        };
        Ok(Batches {
            bytes: log.bytes_per_batch.clamp(1, LEN as u64),
            period: period(log.batches_per_s)?,
            apart: period(log.changes_per_s)?,
        })
    }

    /// Batches that fell due until then and were not written, as many as one write takes.
    fn due(&self, nanos: u64, written: u64) -> u64 {
        let meant = nanos / self.period + 1;
        meant.saturating_sub(written).min((BATCH_LEN_MAX / self.bytes).max(1))
    }

    /// Writes them for so long.
    ///
    /// # Errors
    /// When the device fails.
    pub(super) fn write(&self, device: &mut Device, seconds: f64) -> Result<BareFigures> {
        // Without this the kernel may wake a sleeper 50 us late.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let mut took = Vec::new();
        let begin = device.now();
        let mut written = 0;
        loop {
            let since = device.now() - begin;
            if since as f64 / NANOS >= seconds {
                break;
            }
            let due = self.due(since, written);
            if due == 0 {
                let left = (written * self.period).saturating_sub(since).min(SLEEP_NS_MAX);
                thread::sleep(Duration::from_nanos(left)); // tidy: allow (batches go by the clock)
                continue;
            }
            took.push(device.write(usize::try_from(due * self.bytes)?)?);
            written += due;
        }
        let mut latency = LatencyRecorder::new()?;
        took.iter().for_each(|nanos| latency.record(*nanos));
        let above = |limit: u64| took.iter().filter(|nanos| **nanos > limit).count() as u64;
        Ok(BareFigures {
            bytes: self.bytes,
            batches_per_s: rounded(per(written, seconds), 1),
            syncs: latency.count(),
            above_1_ms: above(SLOW_NS),
            above_10_ms: above(STALL_NS),
            latency_us: latency.summary().rounded(),
            arrival_us: arrivals(&took, self.apart)?.summary().rounded(),
        })
    }
}

/// Latencies of commits that come evenly, so many nanoseconds apart, while one sync follows the
/// other: each waits for the rest of the one that it comes in, and for the next.
fn arrivals(syncs: &[u64], apart: u64) -> Result<LatencyRecorder> {
    let mut recorder = LatencyRecorder::new()?;
    // From the begin of a sync to the next commit.
    let mut at = apart / 2;
    for pair in syncs.windows(2) {
        let (running, own) = (pair[0], pair[1]);
        while at < running {
            recorder.record(running - at + own);
            at += apart;
        }
        at -= running;
    }
    Ok(recorder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_directory::DataDirectory;

    #[test]
    fn a_commit_waits_for_the_rest_of_a_sync_and_for_its_own() {
        let near = |found: f64, expected: f64| (found - expected).abs() <= expected * 0.01;
        let even = arrivals(&[100_000; 1_001], 1_000).unwrap();
        let found = even.summary();
        assert_eq!(even.count(), 100_000);
        assert!(near(found.p50, 150.0) && near(found.p99, 199.0), "{found:?}");
        assert!(near(even.min_us(), 100.5), "{}", even.min_us());
        // One in a thousand syncs stalls, and a tenth of the commits come while it does.
        let mut syncs = [100_000; 1_000];
        syncs[500] = 10_000_000;
        let found = arrivals(&syncs, 1_000).unwrap().summary();
        assert!(near(found.max, 10_100.0) && near(found.p99, 9_100.0), "{found:?}");
        // Fewer commits than syncs: some syncs have none.
        assert_eq!(arrivals(&[100_000; 101], 1_000_000).unwrap().count(), 10);
        assert_eq!(arrivals(&[100_000], 1_000).unwrap().count(), 0);
    }

    #[test]
    fn batches_fall_due_by_the_clock_and_those_that_wait_go_together() {
        let log = LogGrowth {
            changes_per_s: 50_000.0,
            batches_per_s: 1_000.0,
            bytes_per_batch: 4_096,
            ..LogGrowth::default()
        };
        let batches = Batches::of(&log).unwrap();
        assert_eq!((batches.due(0, 0), batches.due(0, 1), batches.due(1_500_000, 1)), (1, 0, 1));
        assert_eq!((batches.due(5_000_000, 1), batches.apart), (5, 20_000));
        assert_eq!(batches.due(1_000_000_000, 1), 128, "512 KiB at most");
        assert!(Batches::of(&LogGrowth::default()).is_err());
    }

    #[test]
    fn a_bare_writer_writes_what_falls_due() {
        let place = DataDirectory::find(None).unwrap();
        let mut device = Device::prepare(&place).unwrap();
        let batches = Batches { bytes: 5_000, period: 5_000_000, apart: 100_000 };
        let found = batches.write(&mut device, 0.1).unwrap();
        assert!(found.syncs > 1 && found.syncs <= 20, "{found:?}");
        assert!(found.batches_per_s <= 200.0, "{found:?}");
        assert!(found.latency_us.p50 > 0.0 && found.arrival_us.p50 > 0.0, "{found:?}");
        assert!(found.arrival_us.max >= found.latency_us.p50, "{found:?}");
    }
}
