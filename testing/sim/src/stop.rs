//! Stops and starts without a crash: orderly stops of a host, and the changes that people and devices make to its
//! files before the next start.

use crate::reach::REACH;
use crate::scan::last_frames;
use crate::sim::Sim;
use crate::world::CheckResult;
use scurry_engine::{Disk, Durability, File, segment_name, segment_of};

/// The number of batches that a stop may need: the one under way, later commits, the mark.
const BATCHES_MAX: usize = 20;

impl Sim {
    /// Stops the host in an orderly way. The machine may stop during it.
    pub(crate) fn stop(&mut self) -> CheckResult {
        self.abandon_snapshot();
        for _ in 0..BATCHES_MAX {
            if self.flight.is_none() && self.commits.written() == self.shard.sequence() {
                break;
            }
            self.finish_batch()?;
        }
        self.sync_behind();
        self.mark();
        self.finish_batch()?;
        self.sync_behind();
        self.answer();
        let is_done = self.commits.synced() == self.shard.sequence() && !self.has_failed;
        if is_done && self.note_reach(self.commits.synced()).is_ok() {
            self.counts.stops += 1;
            self.has_stopped = true;
        }
        self.disk.note(|| format!("stopped, wholly: {}", self.has_stopped));
        Ok(())
    }

    /// Removes or changes files while the host is stopped. Returns false if there was no file to remove or change.
    pub(crate) fn tamper(&mut self) -> bool {
        let names: Vec<String> = self.disk.contents().into_iter().map(|(name, _)| name).collect();
        // An earlier call removed the reach, and the start after it crashed before it wrote the file again. Without the
        // reach a start cannot notice that data is missing, so nothing may be removed.
        if !names.iter().any(|name| name == REACH) {
            return false;
        }
        let segments: Vec<String> =
            names.iter().filter_map(|name| segment_of(name)).map(segment_name).collect();
        let newest = segments.last().cloned();
        let kind = self.random.below(if self.has_stopped { 6 } else { 4 });
        let gone = match kind {
            0 => newest.into_iter().collect(),
            1 => segments,
            2 => names.into_iter().filter(|name| name != REACH).collect(),
            3 if names.is_empty() => vec![],
            3 => vec![names[self.random.below(names.len())].clone()],
            // Only after an orderly stop: after a crash the last frames may legitimately be torn.
            4 => return newest.is_some_and(|newest| self.flip_end(&newest)),
            _ => return newest.is_some_and(|newest| self.shorten(&newest)),
        };
        self.disk.note(|| format!("removed: {gone:?}"));
        for name in &gone {
            self.disk.remove(name).expect("it is there");
        }
        !gone.is_empty() && self.disk.sync_dir().is_ok()
    }

    /// Changes a bit in one of the last two frames.
    fn flip_end(&mut self, newest: &str) -> bool {
        let Some(frames) = self.last_frames(newest) else { return false };
        let byte = frames.start + self.random.below(frames.len());
        let bit = self.random.below(8);
        self.disk.flip_bit(newest, byte, bit);
        true
    }

    /// Truncates the file, like a copy that was cut short.
    fn shorten(&mut self, newest: &str) -> bool {
        let Some(frames) = self.last_frames(newest) else { return false };
        let len = self.random.below(frames.end) as u64;
        self.disk.note(|| format!("cut short at {len}: {newest}"));
        let cut = self.disk.open(newest).and_then(|mut file| {
            file.set_len(len)?;
            file.sync()
        });
        cut.is_ok()
    }

    fn last_frames(&self, newest: &str) -> Option<std::ops::Range<usize>> {
        let files = self.disk.contents();
        let (_, bytes) = files.iter().find(|(name, _)| name == newest)?;
        last_frames(self.log.id, segment_of(newest)?, bytes)
    }

    /// Reports whether a start must notice missing acknowledged records: if each answer waits for the device, or if the
    /// last run ended with an orderly stop.
    pub(crate) fn is_noted(&self) -> bool {
        self.has_stopped || self.plan.durability == Durability::Fsync
    }
}
