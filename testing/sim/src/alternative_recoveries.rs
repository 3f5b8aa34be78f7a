//! Other ways to read the same files: up to an earlier sequence, without the newest snapshot, into two shards instead
//! of one, and as a follower. All must give the same state.

use crate::SimDisk;
use crate::audit::{audit, entries_of, read};
use crate::sim::Sim;
use crate::world::{ACCOUNTS, CheckResult, KEYS, World};
use scurry_codec::{Record, SnapshotEntry};
use scurry_engine::{
    Disk, KeyHasher, LogReader, RecoveryEnd, ReplayError, RequiredExtent, Shard, Sink, Step,
    recover, snapshot_name, snapshot_of,
};
use scurry_ledger::{Time, view};

impl Sim {
    /// Tries one of the other ways, or none. `before` is the disk before recovery, and `last` the recovered sequence.
    pub(crate) fn other_ways(&mut self, before: &SimDisk, last: u64) -> CheckResult {
        if self.disk.is_unsound() {
            return Ok(());
        }
        match self.random.below(6) {
            0 => self
                .recover_earlier_sequence(&before.fork(), last)
                .map_err(|why| format!("a look back: {why}")),
            // A run with removed files may have lost the older snapshot.
            1 if self.plan.tamper_in == 0 => self
                .recover_without_newest_snapshot(&before.fork(), last)
                .map_err(|why| format!("the older: {why}")),
            2 => self
                .recover_into_two_shards(&before.fork())
                .map_err(|why| format!("two shards: {why}")),
            3 => self.follow(&before.fork(), last).map_err(|why| format!("a follower: {why}")),
            _ => Ok(()),
        }
    }

    /// Compares the shard with the worlds that the history has for the sequence `last`. Returns the world that agrees.
    pub(crate) fn world_at(
        &self,
        last: u64,
        shard: &mut Shard,
        now: Time,
        at: Time,
    ) -> Result<World, String> {
        let Some(worlds) = self.history.get(&last) else {
            return Err(format!("recovered up to {last}, which never was"));
        };
        let mut why = String::new();
        for world in worlds.iter().rev() {
            let found = audit(shard, world, now).and_then(|()| {
                let known = at.0 >= world.at;
                if known { Ok(()) } else { Err(format!("{} was seen, now {at:?}", world.at)) }
            });
            match found {
                Ok(()) => return Ok(world.clone()),
                Err(error) => why = format!("at sequence {last}: {error}"),
            }
        }
        Err(why)
    }

    /// Recovers up to an earlier sequence, which must not change the disk.
    fn recover_earlier_sequence(&mut self, before: &SimDisk, last: u64) -> CheckResult {
        let (wanted, changes) =
            (last.saturating_sub(self.random.below(20) as u64), before.changes());
        // A sequence within a chain would give a part of the chain, a state that never existed.
        let wanted = self.history.range(..=wanted).next_back().map_or(0, |(&sequence, _)| sequence);
        let mut shard = Shard::new(self.fresh_config());
        let until = RecoveryEnd::Sequence(wanted);
        let found = recover(&mut before.clone(), self.log, until, &mut shard, |_| {});
        if before.changes() != changes {
            return Err(format!("for sequence {wanted} the disk was changed"));
        }
        // The error is legitimate: the log may have been dropped up to a snapshot that is newer than the sequence.
        let Ok(recovered) = found else { return Ok(()) };
        let now = Time(recovered.at.0.max(self.clock));
        self.world_at(wanted, &mut shard, now, recovered.at).map(|_| ())
    }

    /// Removes the newest snapshot. The older one and the log after it must give the same state.
    fn recover_without_newest_snapshot(&mut self, before: &SimDisk, last: u64) -> CheckResult {
        let mut disk = before.clone();
        let names = disk.list().map_err(|error| error.to_string())?;
        let Some(newest) = names.iter().filter_map(|name| snapshot_of(name)).max() else {
            return Ok(());
        };
        disk.remove(&snapshot_name(newest)).map_err(|error| error.to_string())?;
        let mut shard = Shard::new(self.fresh_config());
        let until = RecoveryEnd::End(RequiredExtent::default());
        let found = recover(&mut disk, self.log, until, &mut shard, |_| {});
        let recovered = found.map_err(|error| error.to_string())?;
        if recovered.next != last + 1 {
            return Err(format!("up to {} of {last}", recovered.next - 1));
        }
        let now = Time(recovered.at.0.max(self.clock));
        self.world_at(last, &mut shard, now, recovered.at).map(|_| ())
    }

    /// Recovers into two shards, as a server does after its number of threads has changed.
    fn recover_into_two_shards(&mut self, before: &SimDisk) -> CheckResult {
        let mut two = {
            let config = self.fresh_config();
            ShardPair([0, 1].map(|_| Shard::new(config.clone())))
        };
        let until = RecoveryEnd::End(RequiredExtent::default());
        let found = recover(&mut before.clone(), self.log, until, &mut two, |_| {});
        let recovered = found.map_err(|error| error.to_string())?;
        let now = Time(recovered.at.0.max(self.clock));
        let last = recovered.next - 1;
        let Some(world) = self.history.get(&last).and_then(|worlds| worlds.last()) else {
            return Err(format!("up to {last}, which never was"));
        };
        for (pair, id) in world.pairs.iter().zip(ACCOUNTS) {
            let seen = pair.account.as_ref().map(|account| view(account, now, &pair.limits));
            let shard = two.of(id);
            let hasher = shard.hasher();
            let found = shard.account(now, hasher.key(id)).ok();
            if found != seen.as_deref() {
                return Err(format!("{id:?}: shard {found:?}, model {seen:?}"));
            }
        }
        for bytes in KEYS {
            let held = world.keys.at(now.0, bytes).cloned();
            let found = read(two.of(bytes), now, bytes);
            if found != held {
                return Err(format!("{bytes:?}: shard {found:?}, model {held:?}"));
            }
        }
        Ok(())
    }

    /// Recovers a shard up to a random frame, and applies the frames after it one by one, as another node does. It must
    /// have the same entries in the end, byte by byte, as a shard that recovered the whole log.
    fn follow(&mut self, before: &SimDisk, last: u64) -> CheckResult {
        let config = self.fresh_config();
        let (mut whole, mut follower) = (Shard::new(config.clone()), Shard::new(config));
        let log = self.log;
        let recover_to = |shard: &mut Shard, sequence| {
            recover(&mut before.clone(), log, RecoveryEnd::Sequence(sequence), shard, |_| {})
        };
        let all = recover_to(&mut whole, last).map_err(|error| error.to_string())?;
        // The log may have lost records that the snapshot contains, so the frames are read from after the snapshot.
        let oldest = all.snapshot.unwrap_or(0) + 1;
        let mut disk = before.clone();
        let mut reader =
            LogReader::new(&mut disk, log, oldest).map_err(|error| error.to_string())?;
        let mut begins = vec![last + 1];
        while let Some(frame) = reader.frame().map_err(|error| error.to_string())? {
            begins.push(frame.first());
        }
        let from = begins[self.random.below(begins.len())];
        // The error is legitimate: the log may have been dropped up to a snapshot that is newer than `from`.
        let Ok(recovered) = recover_to(&mut follower, from - 1) else { return Ok(()) };
        follower.keep_journal(self.log, from);
        let mut at = recovered.at;
        let mut reader =
            LogReader::new(&mut disk, self.log, from).map_err(|error| error.to_string())?;
        while let Some(frame) = reader.frame().map_err(|error| error.to_string())? {
            if frame.first() >= from {
                at = at.max(frame.at());
                follower.apply_frame(&frame).map_err(|(at, why)| format!("at {at}: {why}"))?;
            }
        }
        let journal = follower.journal().map(|journal| (journal.next(), journal.is_empty()));
        if journal != Some((last + 1, true)) {
            return Err(format!("from {from} to {last}, and its journal is at {journal:?}"));
        }
        let now = Time(at.0.max(self.clock));
        let (expected, found) = (entries_of(&whole, now), entries_of(&follower, now));
        if expected != found {
            return Err(format!("from {from} to {last} it has {found:#?}\nand not {expected:#?}"));
        }
        self.world_at(last, &mut follower, now, at).map(|_| ())
    }
}

/// Two shards between which the keys are divided.
struct ShardPair([Shard; 2]);

impl ShardPair {
    fn of(&mut self, key: &[u8]) -> &mut Shard {
        &mut self.0[key.iter().map(|&byte| usize::from(byte)).sum::<usize>() % 2]
    }
}

impl Sink for ShardPair {
    fn clear(&mut self) {
        self.0.iter_mut().for_each(Shard::clear);
    }

    fn restore(&mut self, entry: &SnapshotEntry<'_>) -> Result<(), ReplayError> {
        self.of(entry.key()).restore(entry)
    }

    fn replay(&mut self, record: &Record<'_>) -> Result<(), ReplayError> {
        match record.key() {
            Some(key) => self.of(key).replay(record),
            None => self.0.iter_mut().try_for_each(|shard| shard.replay(record)),
        }
    }

    fn hasher(&self) -> KeyHasher {
        self.0[0].hasher()
    }

    fn replay_account<'r>(
        &mut self,
        id: &[u8],
        steps: impl Iterator<Item = Step<'r>>,
    ) -> Result<(), (u64, ReplayError)> {
        self.of(id).replay_account(id, steps)
    }

    fn touch(&mut self, _: &[u64]) {}
}
