//! What a sync costs on the device by itself: a write of so many bytes and fdatasync, one after
//! the other, over blocks that were written before, so that only data has to reach the device.

use std::fs::File;
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result};
use serde::Serialize;
use tempfile::TempDir;

use crate::clock::Clock;
use crate::data_directory::DataDirectory;
use crate::figures::{per, rounded};
use crate::latency::{LatencyRecorder, LatencySummary};

/// As long as a segment of the log.
pub(super) const LEN: usize = 64 << 20;
const NANOS: f64 = 1e9;

/// A file on the device.
#[derive(Debug)]
pub(super) struct Device {
    file: File,
    bytes: Vec<u8>,
    at: usize,
    clock: Clock,
    _directory: TempDir,
}

/// Writes of one length, each with its sync.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DeviceFigures {
    /// Bytes of each.
    pub bytes: usize,
    /// How many.
    pub syncs: u64,
    /// How many in a second.
    pub syncs_per_s: f64,
    /// Of write and fdatasync together, microseconds.
    pub latency_us: LatencySummary,
}

impl Device {
    /// Makes the file and writes all of it.
    pub(super) fn prepare(place: &DataDirectory) -> Result<Device> {
        let directory = place.directory()?;
        let path = directory.path().join("device");
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(&path);
        let file = file.with_context(|| format!("making {}", path.display()))?;
        // No two blocks alike, nor zero: no device can take a short cut.
        let bytes: Vec<u8> =
            (0..LEN as u64).map(|at| (at.wrapping_mul(0x9E37_79B9) >> 13) as u8 | 1).collect();
        file.write_all_at(&bytes, 0)?;
        file.sync_all()?;
        Ok(Device { file, bytes, at: 0, clock: Clock::start(), _directory: directory })
    }

    /// Writes and syncs for so long.
    pub(super) fn measure(&mut self, bytes: usize, seconds: f64) -> Result<DeviceFigures> {
        let bytes = bytes.clamp(1, LEN);
        let mut recorder = LatencyRecorder::new()?;
        let begin = self.clock.nanos();
        let mut now = begin;
        while (now - begin) as f64 / NANOS < seconds {
            let then = now;
            self.put(bytes)?;
            now = self.clock.nanos();
            recorder.record(now - then);
        }
        let length = (now - begin) as f64 / NANOS;
        Ok(DeviceFigures {
            bytes,
            syncs: recorder.count(),
            syncs_per_s: rounded(per(recorder.count(), length), 1),
            latency_us: recorder.summary().rounded(),
        })
    }

    /// Writes and syncs once, and says how many nanoseconds that took.
    pub(super) fn write(&mut self, bytes: usize) -> Result<u64> {
        let begin = self.now();
        self.put(bytes.clamp(1, LEN))?;
        Ok(self.now() - begin)
    }

    fn put(&mut self, bytes: usize) -> Result<()> {
        if self.at + bytes > LEN {
            self.at = 0;
        }
        let range = self.at..self.at + bytes;
        // Other bytes than those that are there.
        self.bytes[self.at] = self.bytes[self.at].wrapping_add(2);
        self.file.write_all_at(&self.bytes[range], self.at as u64)?;
        self.file.sync_data().context("syncing")?;
        self.at += bytes;
        Ok(())
    }

    /// Nanoseconds since the file was made.
    pub(super) fn now(&self) -> u64 {
        self.clock.nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_write_is_counted_and_the_file_goes() {
        let place = DataDirectory::find(None).unwrap();
        let mut device = Device::prepare(&place).unwrap();
        let path = device._directory.path().to_owned();
        let found = device.measure(4_096, 0.02).unwrap();
        assert!(found.syncs > 0 && found.latency_us.p50 > 0.0, "{found:?}");
        assert_eq!(found.bytes, 4_096);
        drop(device);
        assert!(!path.exists());
    }
}
