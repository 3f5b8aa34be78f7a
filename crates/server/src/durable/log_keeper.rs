//! Keeps as much of a core's log as the settings say, and tells how much that is and for how long there is room.

use super::Retention;
use crate::mail::report::KeptLog;
use scurry_disk::Directory;
use scurry_engine::{ByteCount, LogExtent, LogId, LogRetention, Sequence, extent, forget};
use scurry_ledger::Time;
use std::io;

/// Span of log from which its growth can be told, ms.
const SPAN_MS_MIN: u64 = 60_000;
const DAY_MS: f64 = 86_400_000.0;

/// The part of the maintenance thread that knows how much of the log is kept.
pub(super) struct LogKeeper {
    log: LogId,
    retention: Retention,
    /// False where another thread shortens the log.
    forgets: bool,
    /// Whether there was too little room when it was last looked at.
    is_short: Option<bool>,
}

impl LogKeeper {
    pub(super) fn new(log: LogId, retention: Retention, forgets: bool) -> LogKeeper {
        LogKeeper { log, retention, forgets, is_short: None }
    }

    /// Removes segments that neither recovery nor the settings need.
    pub(super) fn forget(
        &self,
        directory: &mut Directory,
        needless: u64,
        now: Time,
    ) -> io::Result<()> {
        if !self.forgets {
            return Ok(());
        }
        forget(directory, self.log, Sequence(needless), self.retention.log, now)
    }

    /// Looks at the files, and logs what is kept: at the start, and when there is too little room.
    pub(super) fn survey(
        &mut self,
        directory: &mut Directory,
        durable: u64,
        now: Time,
    ) -> io::Result<KeptLog> {
        let found = extent(directory, self.log, Sequence(durable))?;
        let free = directory.free_bytes()? / u64::from(self.retention.threads.max(1));
        let kept = kept(found, self.retention.log, free, now);
        self.tell(&kept, now);
        Ok(kept)
    }

    fn tell(&mut self, kept: &KeptLog, now: Time) {
        if self.retention.log == LogRetention::Nothing {
            return;
        }
        let wanted = kept.wanted_ms.filter(|&ms| kept.possible_ms.is_some_and(|room| room < ms));
        let (core, bytes) = (self.log.core, kept.bytes);
        let first = self.is_short.is_none();
        if first {
            let age = days(kept.from.map_or(0, |from| now.0.abs_diff(from.0)));
            match kept.possible_ms.map(days) {
                Some(possible) => tracing::info!(
                    core,
                    bytes,
                    "the log has the events of {age:.1} days, and room for those of {possible:.1}"
                ),
                None => tracing::info!(core, bytes, "the log has the events of {age:.1} days"),
            }
        }
        if let Some(wanted) = wanted.filter(|_| self.is_short != Some(true)) {
            let possible = days(kept.possible_ms.unwrap_or(0));
            tracing::warn!(
                core,
                "the log grows so fast that it can keep the events of {possible:.1} days, not of {:.1} as --keep-log \
                 says: give it more room",
                days(wanted)
            );
        }
        self.is_short = Some(wanted.is_some());
    }
}

#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn days(ms: u64) -> f64 {
    ms as f64 / DAY_MS
}

/// Returns what is kept, with `free` bytes left on the device.
fn kept(found: LogExtent, retention: LogRetention, free: u64, now: Time) -> KeptLog {
    let LogExtent { bytes: ByteCount(bytes), from } = found;
    let disk = bytes.saturating_add(free);
    let (wanted_ms, room) = match retention {
        LogRetention::Nothing => (None, None),
        LogRetention::Bytes(ByteCount(least)) => (None, Some(least.min(disk))),
        LogRetention::Age { ms, bytes_max } => {
            (Some(ms), Some(bytes_max.map_or(disk, |most| most.get().min(disk))))
        }
    };
    let span_ms = from.map(|from| u64::try_from(now.0.saturating_sub(from.0)).unwrap_or(0));
    let span_ms = span_ms.filter(|&ms| ms >= SPAN_MS_MIN && bytes > 0);
    let possible_ms = room.zip(span_ms).map(|(room, span_ms)| {
        let ms = u128::from(span_ms) * u128::from(room) / u128::from(bytes);
        u64::try_from(ms).unwrap_or(u64::MAX).min(wanted_ms.unwrap_or(u64::MAX))
    });
    KeptLog { bytes, from, wanted_ms, possible_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: u64 = 3_600_000;

    fn possible(retention: LogRetention, bytes: u64, hours: i64, free: u64) -> Option<u64> {
        let now = Time(1_000 * HOUR_MS.cast_signed());
        let from = Some(Time(now.0 - hours * HOUR_MS.cast_signed()));
        let found = LogExtent { bytes: ByteCount(bytes), from };
        kept(found, retention, free, now).possible_ms.map(|ms| ms / HOUR_MS)
    }

    #[test]
    fn room_is_told_by_the_growth_so_far() {
        let age = |hours, bytes_max: Option<u64>| LogRetention::Age {
            ms: hours * HOUR_MS,
            bytes_max: bytes_max.map(ByteCount),
        };
        assert_eq!(possible(LogRetention::Nothing, 100, 2, 1_000), None);
        // 50 bytes an hour.
        assert_eq!(possible(LogRetention::Bytes(ByteCount(500)), 100, 2, 1_000), Some(10));
        assert_eq!(possible(LogRetention::Bytes(ByteCount(5_000)), 100, 2, 1_000), Some(22));
        assert_eq!(possible(age(24, None), 100, 2, 1_000), Some(22));
        assert_eq!(possible(age(20, None), 100, 2, 1_000), Some(20), "what is wanted is enough");
        assert_eq!(possible(age(24, Some(500)), 100, 2, 1_000), Some(10));
        assert_eq!(possible(age(24, Some(500)), 100, 0, 1_000), None, "too young to tell");
    }
}
