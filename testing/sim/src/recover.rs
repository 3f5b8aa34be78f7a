//! Ends the machine, starts it again, and compares the recovered state with the expected state.

use crate::reach::REACH;
use crate::scan::greatest_mark;
use crate::sim::{Pending, Sim};
use crate::world::CheckResult;
use crate::{Crash, SimDisk};
use scurry_engine::{
    Commits, Durability, Recovered, RecoveryEnd, Shard, Version, recover, segment_of,
};

/// The number of starts that may fail in succession before the disk stops injecting faults.
const ATTEMPTS_MAX: usize = 4;

impl Sim {
    /// Ends the machine, and starts it until the store serves or refuses to.
    pub(crate) fn crash(&mut self, crash: Crash) -> CheckResult {
        self.counts.crashes += 1;
        self.disk.note(|| format!("crash: {crash:?}, acknowledged {}", self.acked));
        (self.flight, self.job, self.has_failed) = (None, None, false);
        for Pending { request, .. } in std::mem::take(&mut self.pending) {
            self.in_doubt.extend(request.map(|(index, op, _)| (index, op)));
        }
        let mut needed = self.kept(crash, self.disk.errors() > 0);
        self.disk.restart(crash);
        let is_tampered = self.plan.tamper_in > 0 && self.random.one_in(self.plan.tamper_in);
        if is_tampered && !self.is_noted() {
            // With `write`, answers were sent before their records were synced. Only the reach can show that records
            // are missing.
            needed = needed.min(self.least().map_or(0, |least| least.sequence));
        }
        let is_tampered = is_tampered && self.tamper();
        self.counts.tampered += u64::from(is_tampered);
        self.has_stopped = false;
        self.clock += self.random.pick(&[-100_000, -300, -1, 0, 0, 3, 200]);
        if self.plan.flip_in > 0 && self.random.one_in(self.plan.flip_in) {
            self.disk.flip();
        }
        for attempt in 0.. {
            if attempt == ATTEMPTS_MAX {
                self.disk.clear_faults();
            } else if self.random.one_in(4) {
                // The next start is cut short by another crash.
                self.disk.stop_after(self.random.below(40) as u64);
            }
            let (before, errors) = (self.disk.fork(), self.disk.errors());
            match self.start() {
                Ok((recovered, shard)) => {
                    return self.recovered(&before, needed, &recovered, shard);
                }
                Err(error) => {
                    self.disk.note(|| format!("not recovered: {error}"));
                    if self.disk.is_off() {
                        // The crash that was set above, not a fault of the store: start again.
                        let again = self.random.pick(self.plan.crashes);
                        needed = needed.min(self.kept(again, true));
                        self.disk.restart(again);
                    } else if is_tampered {
                        if self.disk.changes() != before.changes() {
                            return Err(format!("refused, and files were changed: {error}"));
                        }
                        self.counts.missed += 1;
                        self.is_over = true;
                        return check_error_names_file(&error);
                    } else if self.disk.is_unsound() || self.disk.errors() > errors {
                        // A start may fail for an injected error; then it is tried again. A damaged disk is refused.
                        check_error_names_file(&error)?;
                        if self.disk.errors() == errors {
                            self.counts.refused += 1;
                            self.is_over = true;
                            return Ok(());
                        }
                    } else {
                        return Err(format!("a sound disk is refused: {error}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Starts the store once. Returns the recovered shard, or why the store refuses to start.
    fn start(&mut self) -> Result<(Recovered, Shard), String> {
        let least = self.least().map_err(|error| format!("{REACH}: {error}"))?;
        let (mut disk, mut shard) = (self.disk.clone(), Shard::new(self.fresh_config()));
        let until = RecoveryEnd::End(least);
        let found = recover(&mut disk, self.log, until, &mut shard, |_| {});
        Ok((found.map_err(|error| error.to_string())?, shard))
    }

    /// Returns the sequence that must survive a crash of this kind.
    fn kept(&self, crash: Crash, had_errors: bool) -> u64 {
        match (self.plan.durability, crash) {
            (Durability::Fsync, _) => self.acked,
            // After a failed write the page may be missing from the cache.
            (Durability::Write, Crash::Process) if !had_errors => self.acked,
            _ => self.acked.min(self.commits.synced()),
        }
    }

    fn recovered(
        &mut self,
        before: &SimDisk,
        needed: u64,
        recovered: &Recovered,
        mut shard: Shard,
    ) -> CheckResult {
        let last = recovered.next - 1;
        self.disk.note(|| format!("recovered {last} of {needed}, at {:?}", recovered.at));
        self.count(recovered);
        let is_unsound = self.disk.is_unsound();
        // Recovery does not read segments before the snapshot, so it cannot see a misdirected sector there.
        let files = before.contents();
        let wanted = recovered.snapshot.unwrap_or(0) + 1;
        let starts = files.iter().filter_map(|(name, _)| segment_of(name));
        let from = starts.filter(|&first| first <= wanted).max().unwrap_or(0);
        let segments =
            files.iter().filter(|(name, _)| segment_of(name).is_some_and(|first| first >= from));
        let needed = match is_unsound {
            false => needed,
            true => greatest_mark(self.log.id, segments.map(|(_, bytes)| &bytes[..])),
        };
        if last < needed {
            return Err(format!("recovered up to {last}, and {needed} was promised"));
        }
        shard.note_version(Version::new(recovered.version_last).unwrap_or_default());
        self.latest = recovered.at.0;
        let now = self.now();
        let world = self.world_at(last, &mut shard, now, recovered.at)?;
        if !is_unsound && last >= self.acked && shard.version_last().get() < self.version_acked {
            return Err(format!("version {} was given and is forgotten", self.version_acked));
        }
        // Damage may lose records. Without damage, only records without a promise to survive may be lost.
        self.counts.lost +=
            u64::from(self.history.last_key_value().is_some_and(|(&at, _)| at > last));
        self.other_ways(before, last)?;
        if !is_unsound {
            self.history.split_off(&(last + 1));
        }
        self.done.retain(|done| done.sequence <= last);
        (self.acked, self.world) = (last, world);
        self.version_acked = shard.version_last().get();
        shard.keep_journal(self.log, recovered.next);
        self.shard = shard;
        self.commits = Commits::new(self.plan.durability, last);
        if let Err(error) = self.note_reach(last) {
            self.disk.note(|| format!("not noted: {error}"));
        }
        self.reopen_writer();
        self.note_log_room();
        for _ in 0..self.random.below(3) {
            let back = self.random.below(self.done.len().min(30)) + 1;
            let Some(at) = self.done.len().checked_sub(back) else { break };
            if !self.has_room() {
                break;
            }
            self.repeat_request(&self.done[at].clone())?;
        }
        Ok(())
    }

    fn count(&mut self, recovered: &Recovered) {
        self.counts.recoveries += 1;
        self.counts.from_snapshot += u64::from(recovered.snapshot.is_some());
        self.counts.passed_over += recovered.passed_over.len() as u64;
        self.counts.cuts += u64::from(recovered.cut.as_ref().is_some_and(|cut| cut.bytes > 0));
    }
}

/// Checks that an error names the damaged file or sequence, so that an operator can find it.
fn check_error_names_file(error: &str) -> CheckResult {
    let named = ["log-", "snapshot-", "spare-", "sequence", "directory", REACH]
        .iter()
        .any(|word| error.contains(word));
    if named { Ok(()) } else { Err(format!("an error that names no file: {error}")) }
}
