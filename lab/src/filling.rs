//! What filling a store took: time, and memory as the store and the kernel count it.

use anyhow::Result;
use serde::Serialize;

use crate::client::Client;
use crate::figures::{per, rounded};
use crate::sampler::resident_bytes;

/// Measurements around the filling of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Filling {
    /// Accounts or keys that were added.
    pub records: u32,
    /// Duration, seconds.
    pub seconds: f64,
    /// Records per second.
    pub records_per_s: f64,
    /// Resident memory before, bytes.
    pub memory_before: u64,
    /// Resident memory after, bytes.
    pub memory_after: u64,
    /// Lines of INFO memory after the filling; in a cluster of its first node.
    pub info: Vec<String>,
}

impl Filling {
    /// Runs `fill` and measures the memory of the server's processes before and after.
    ///
    /// # Errors
    /// When the filling fails or a process has ended.
    pub fn watch(
        pids: &[u32],
        client: &mut Client,
        records: u32,
        fill: impl FnOnce(&mut Client) -> Result<()>,
    ) -> Result<Filling> {
        let resident = || pids.iter().map(|pid| resident_bytes(*pid)).sum::<Result<u64>>();
        let memory_before = resident()?;
        let clock = crate::clock::Clock::start();
        fill(client)?;
        let seconds = clock.elapsed().as_secs_f64();
        let memory_after = resident()?;
        let info = client.call(&["INFO", "memory"])?;
        Ok(Filling {
            records,
            seconds: rounded(seconds, 3),
            records_per_s: rounded(per(u64::from(records), seconds), 1),
            memory_before,
            memory_after,
            info: info.text().map(info_lines).unwrap_or_default(),
        })
    }

    /// Returns the growth of resident memory per record, bytes.
    pub fn bytes_per_record(&self) -> f64 {
        let growth = self.memory_after.saturating_sub(self.memory_before);
        rounded(per(growth, f64::from(self.records)), 1)
    }
}

fn info_lines(info: &str) -> Vec<String> {
    let lines = info.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Returns the number of a line of INFO.
pub fn info_number(info: &str, name: &str) -> Option<u64> {
    let lines = info.lines();
    let mut values = lines.filter_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'));
    values.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# Memory\r\nused_memory:12\r\nused_memory_rss:34\r\n";

    #[test]
    fn info_is_read_line_by_line() {
        assert_eq!(info_lines(INFO), ["used_memory:12", "used_memory_rss:34"]);
        assert_eq!(info_number(INFO, "used_memory"), Some(12));
        assert_eq!(info_number(INFO, "used_memory_rss"), Some(34));
        assert_eq!(info_number(INFO, "used"), None);
    }

    #[test]
    fn memory_is_counted_per_record() {
        let filling =
            Filling { records: 10, memory_before: 100, memory_after: 1_100, ..Filling::default() };
        assert_eq!(filling.bytes_per_record(), 100.0);
    }
}
