//! Redistributes a store over a different number of threads than has written it.

use crate::settings::StartError;
use crate::slots::Slots;
use scurry_codec::LogFormat;
use scurry_disk::{Directory, Manifest, Store};
use scurry_engine::{
    Index, KeyHasher, LogBase, LogId, Piece, ReplayError, Shard, Sink, Snapshot, SnapshotWriter,
    Step, Term, write_base,
};
use scurry_ledger::Time;
use std::io;

/// The new shards; there are more or fewer of them than logs to read.
pub(super) struct Spread<'s> {
    pub(super) shards: &'s mut [Shard],
    pub(super) slots: Slots,
    /// Reports whether a key belongs to the thread whose log is read.
    pub(super) is_read: &'s dyn Fn(&[u8]) -> bool,
}

impl Spread<'_> {
    fn shard_of(&mut self, key: &[u8]) -> &mut Shard {
        let core = usize::from(self.slots.owner_of(key));
        &mut self.shards[core]
    }
}

impl Sink for Spread<'_> {
    fn clear(&mut self) {
        for shard in self.shards.iter_mut() {
            shard.discard(self.is_read);
        }
    }

    fn restore(&mut self, entry: &scurry_codec::SnapshotEntry<'_>) -> Result<(), ReplayError> {
        self.shard_of(entry.key()).restore(entry)
    }

    fn replay(&mut self, record: &scurry_codec::Record<'_>) -> Result<(), ReplayError> {
        match record.key() {
            Some(key) => self.shard_of(key).replay(record),
            // FLUSHALL concerns every thread: each log has it, and each thread clears its keys.
            None => {
                self.clear();
                Ok(())
            }
        }
    }

    fn replay_account<'r>(
        &mut self,
        id: &[u8],
        steps: impl Iterator<Item = Step<'r>>,
    ) -> Result<(), (u64, ReplayError)> {
        self.shard_of(id).replay_account(id, steps)
    }

    fn hasher(&self) -> KeyHasher {
        self.shards[0].hasher()
    }

    fn touch(&mut self, _hashes: &[u64]) {}
}

/// Writes the shards as the next generation, which becomes valid when the manifest names it. With a founder it becomes
/// the generation of a group, whose log begins after an entry that stands for everything before.
pub(super) fn divide(
    store: &Store,
    before: &Manifest,
    shards: &mut [Shard],
    now: Time,
    founder: Option<u64>,
) -> Result<Manifest, StartError> {
    let threads = u16::try_from(shards.len()).unwrap_or(u16::MAX);
    let manifest = Manifest { generation: before.generation + 1, threads, ..*before };
    for (core, shard) in (0..).zip(shards.iter_mut()) {
        let mut directory = store.core(manifest.generation, core).map_err(StartError::store)?;
        let log = manifest.log(core);
        if let Some(founder) = founder {
            let base = LogBase {
                index: Index(1),
                term: Term(1),
                at: now.0,
                chain: log.seal_in(LogFormat::Replicated).chain_start(),
                voters: vec![founder],
                ..LogBase::default()
            };
            write_base(&mut directory, log, &base).map_err(StartError::store)?;
        }
        write_whole(directory, shard, log, now).map_err(StartError::store)?;
    }
    // The snapshots hold everything, so the logs start empty.
    store.write_reach(&manifest, &vec![0; shards.len()])?;
    // The manifest makes the new generation valid; the old one is not needed any more.
    store.write_manifest(&manifest)?;
    store.remove_generation(before.generation).map_err(StartError::store)?;
    Ok(manifest)
}

fn write_whole(directory: Directory, shard: &mut Shard, log: LogId, now: Time) -> io::Result<()> {
    let mut snapshot = Snapshot::begin(shard, log, now);
    let mut writer = SnapshotWriter::new(directory, snapshot.begun())?;
    while let Some(piece) = snapshot.piece(shard, Vec::new(), now) {
        match piece {
            Piece::Bytes(bytes) | Piece::Last { bytes, .. } => writer.write(&bytes)?,
            Piece::Void => return Err(io::Error::other("the shard was cleared")),
        }
    }
    writer.sync()?;
    writer.publish()?;
    Ok(())
}
