//! How scurry's log grows under load, by the server's own counts.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::figures::{per, rounded};
use crate::filling::info_number;

/// Sample of the counts of INFO persistence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Changes committed.
    pub sequence: u64,
    /// Bytes written to the log.
    pub bytes: u64,
    /// Batches written to the log.
    pub batches: u64,
    /// Snapshots written.
    pub snapshots: u64,
    /// Snapshots that failed.
    pub snapshots_failed: u64,
}

/// Growth of the log between two samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogGrowth {
    /// Changes per second.
    pub changes_per_s: f64,
    /// Log bytes per Change, including frame headers.
    pub bytes_per_change: f64,
    /// Batches per second; each is one write, and one sync if the server syncs.
    pub batches_per_s: f64,
    /// Mean length of a batch, bytes.
    pub bytes_per_batch: u64,
    /// Mean number of Changes in a batch.
    pub changes_per_batch: f64,
    /// Snapshots written in the interval.
    pub snapshots: u64,
    /// Snapshots that failed in the interval.
    pub snapshots_failed: u64,
    /// Seconds of the one snapshot that was requested, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_seconds: Option<f64>,
}

impl LogCounts {
    /// Samples the counts; None where the server has no log.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn ask(client: &mut Client) -> Result<Option<LogCounts>> {
        let reply = client.call(&["INFO", "persistence"])?;
        Ok(LogCounts::read(reply.text().unwrap_or_default()))
    }

    fn read(info: &str) -> Option<LogCounts> {
        let count = |name: &str| info_number(info, name);
        count("log_enabled").filter(|enabled| *enabled == 1)?;
        Some(LogCounts {
            sequence: count("log_sequence")?,
            bytes: count("log_bytes")?,
            batches: count("log_batches")?,
            snapshots: count("snapshots_written")?,
            snapshots_failed: count("snapshots_failed")?,
        })
    }

    /// Returns the growth since an earlier sample.
    pub fn since(&self, begin: &LogCounts, seconds: f64) -> LogGrowth {
        let changes = self.sequence.saturating_sub(begin.sequence);
        let bytes = self.bytes.saturating_sub(begin.bytes);
        let batches = self.batches.saturating_sub(begin.batches);
        let ratio = |of: u64, to: u64| rounded(per(of, to as f64), 1);
        LogGrowth {
            changes_per_s: rounded(per(changes, seconds), 1),
            bytes_per_change: ratio(bytes, changes),
            batches_per_s: rounded(per(batches, seconds), 1),
            bytes_per_batch: bytes.checked_div(batches).unwrap_or(0),
            changes_per_batch: ratio(changes, batches),
            snapshots: self.snapshots.saturating_sub(begin.snapshots),
            snapshots_failed: self.snapshots_failed.saturating_sub(begin.snapshots_failed),
            snapshot_seconds: None,
        }
    }
}

impl LogGrowth {
    /// Describes the growth for the notes of a row.
    pub fn words(&self) -> String {
        format!(
            "log: {} bytes and {} changes per batch, {} bytes per change, {} batches/s",
            self.bytes_per_batch, self.changes_per_batch, self.bytes_per_change, self.batches_per_s
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_what_lies_between_two_looks() {
        let info = |sequence: u64, bytes: u64, batches: u64| {
            LogCounts::read(&format!(
                "log_enabled:1\r\nlog_sequence:{sequence}\r\nlog_bytes:{bytes}\r\n\
                 log_batches:{batches}\r\nsnapshots_written:2\r\nsnapshots_failed:0\r\n"
            ))
            .unwrap()
        };
        let growth = info(1_100, 13_000, 16).since(&info(100, 1_000, 6), 2.0);
        assert_eq!((growth.bytes_per_change, growth.bytes_per_batch), (12.0, 1_200));
        assert_eq!((growth.changes_per_batch, growth.batches_per_s), (100.0, 5.0));
        assert_eq!((growth.changes_per_s, growth.snapshots), (500.0, 0));
        assert_eq!(LogCounts::read("log_enabled:0\r\nlog_sequence:1\r\n"), None);
    }
}
