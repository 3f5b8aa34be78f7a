//! Restores a core to a point of its log: builds its state at that point in memory and writes it as a snapshot, from
//! which a server can start.

use super::copy::ensure_caught_up;
use super::progress::Progress;
use super::survey::{CoreSurvey, SurveyedCore, surveyed};
use super::target::Target;
use super::{CoreFiles, core_name};
use anyhow::{Context, Result, bail, ensure};
use scurry_codec::{
    ChunkWriter, Chunked, LogFormat, Positions, Sequence, SnapshotEntry, decode_account, read_chunk,
};
use scurry_disk::Manifest;
use scurry_engine::{
    Config, LogId, LogReader, LogWriter, Piece, Recovered, RecoveryEnd, RecoveryError,
    RequiredExtent, Shard, Snapshot, SnapshotWriter, Version, recover,
};
use scurry_ledger::{Account, Status, Time, UnitTotals};
use scurry_server::draw_hash_key;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// Approximate bytes of entries that are compared at once.
const CHUNK_LEN: usize = 1 << 20;
/// Bytes of the segment that is written: it holds one mark.
const SEGMENT_LEN: u64 = 4_096;

/// A restored core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rebuilt {
    pub(crate) keys: u64,
    /// Sequence that it was restored to.
    pub(crate) point: u64,
    /// Last sequence of the source log that is known to be committed.
    pub(crate) committed: u64,
    /// Last sequence of the source log.
    pub(crate) last: u64,
}

/// Point that a core is restored to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestorePoint {
    /// State after the record of this sequence.
    Sequence(u64),
    /// State after the last record that a node of a group knows to be committed.
    Committed,
    /// End of the log, including records that a node of a group does not know to be committed.
    End,
}

/// Restores a core to a point, for a store of one machine. `manifest` belongs to both source and target.
pub(crate) fn rebuild_core(
    (source, least): (&Path, RequiredExtent),
    target: &Target,
    (manifest, core): (&Manifest, u16),
    point: RestorePoint,
    bar: &mut Progress,
) -> Result<Rebuilt> {
    let name = core_name(manifest.generation, core);
    let (mut pinned, survey) = surveyed(source, least, bar, &format!("{name}: reading"))?;
    ensure_caught_up(&survey, source)?;
    let (committed, last) = (survey.committed(), survey.last());
    let (point, end) = match point {
        RestorePoint::Sequence(point) => (point, committed),
        RestorePoint::Committed => (committed, committed),
        RestorePoint::End => (last, last),
    };
    ensure_known(&survey, &name, (point, end))?;
    // Before the first record the core is empty, unless the log began after a snapshot.
    let Some(log) = survey.log.filter(|_| point > 0 || least.snapshot) else {
        target.core(core)?;
        return Ok(Rebuilt { keys: 0, point, committed, last });
    };
    let until = match survey.group.is_some() {
        true => RecoveryEnd::Committed(point),
        false => RecoveryEnd::Sequence(point),
    };
    let config = Config { hash_key: draw_hash_key()?, ..Config::default() };
    let (mut shard, found) =
        load(&mut pinned, log, &config, until, (bar, &format!("{name}: restoring")))
            .with_context(|| format!("cannot restore {name} to sequence {point}"))?;
    write(&mut shard, target, (log, core), point, &found)?;
    let sums = Sums::of_shard(&shard);
    drop(shard);
    let path = target.core_path(core);
    let (mut copy, survey) = surveyed(
        &path,
        RequiredExtent { sequence: point, ..least },
        bar,
        &format!("{name}: checking"),
    )?;
    let label = format!("{name}: checking");
    let until = RecoveryEnd::Sequence(point);
    // Reads the new files back and compares the sums, so that a faulty disk is noticed here and not at the next start.
    let (shard, _) = load(&mut copy, log, &config, until, (bar, &label))
        .with_context(|| format!("cannot read back {}", path.display()))?;
    ensure!(
        survey.is_sound() && Sums::of_shard(&shard) == sums,
        "what was restored to {} is not what was written to it: that disk cannot be trusted",
        path.display()
    );
    Ok(Rebuilt { keys: sums.keys, point, committed, last })
}

/// Contents of a node's core at a point, to be compared with another node's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) keys: u64,
    /// Sum of the hashes of all entries, independent of their order. Equal for equal entries within one run of one
    /// program.
    pub(crate) digest: u64,
}

/// Opens a core of a node and checks that it is intact and caught up.
pub(crate) fn sound_core(
    (source, least): (&Path, RequiredExtent),
    bar: &mut Progress,
) -> Result<SurveyedCore> {
    let (pinned, survey) = surveyed(source, least, bar, &format!("{}: reading", source.display()))?;
    ensure_caught_up(&survey, source)?;
    ensure!(survey.is_sound(), "{} is damaged: `scurry inspect` says where", source.display());
    Ok((pinned, survey))
}

/// Returns the contents of a node's core after the record of this sequence.
pub(crate) fn contents(
    (pinned, survey): &mut SurveyedCore,
    (manifest, core): (&Manifest, u16),
    point: u64,
    bar: &mut Progress,
) -> Result<Contents> {
    let name = core_name(manifest.generation, core);
    let Some(log) = survey.log.filter(|_| point > 0) else {
        return Ok(Contents { keys: 0, digest: 0 });
    };
    let config = Config { hash_key: draw_hash_key()?, ..Config::default() };
    let label = format!("{name}: comparing");
    let (shard, _) = load(pinned, log, &config, RecoveryEnd::Committed(point), (bar, &label))?;
    let mut digest = 0_u64;
    each_entry(&shard, log, &mut |entry| {
        let mut hasher = DefaultHasher::new();
        entry.hash(&mut hasher);
        digest = digest.wrapping_add(hasher.finish());
        Ok(())
    })
    .with_context(|| name.clone())?;
    Ok(Contents { keys: shard.stats().keys, digest })
}

/// Point of a log at which accounts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatePoint {
    /// After the last record that is known to be committed.
    End,
    /// After the record of this sequence.
    Sequence(u64),
    /// After the last record that was written at this time or before.
    Time(Time),
}

/// State of a core at a point, in memory.
pub(crate) struct CoreState {
    name: String,
    /// None before the first record.
    shard: Option<(Shard, LogId)>,
    /// Sequence of the last record.
    pub(crate) last: u64,
    /// Latest time at which anything was written. The begin of 1970 if nothing was.
    pub(crate) at: Time,
}

/// Builds the state of a core as its Commits up to a point left it. Nothing that fell due since is done.
pub(crate) fn core_at(
    source: (&Path, RequiredExtent),
    (manifest, core): (&Manifest, u16),
    point: StatePoint,
    bar: &mut Progress,
) -> Result<CoreState> {
    let name = core_name(manifest.generation, core);
    let (mut pinned, survey) = sound_core(source, bar)?;
    let end = survey.committed();
    let point = match point {
        StatePoint::End => end,
        StatePoint::Sequence(point) => point,
        StatePoint::Time(time) => last_until(&mut pinned, &survey, time)?.min(end),
    };
    ensure_known(&survey, &name, (point, end))?;
    let Some(log) = survey.log.filter(|_| point > 0 || source.1.snapshot) else {
        return Ok(CoreState { name, shard: None, last: point, at: Time(0) });
    };
    let until = match survey.group.is_some() {
        true => RecoveryEnd::Committed(point),
        false => RecoveryEnd::Sequence(point),
    };
    let config = Config { hash_key: draw_hash_key()?, ..Config::default() };
    let label = format!("{name}: reading");
    let (shard, found) = load(&mut pinned, log, &config, until, (bar, &label))?;
    Ok(CoreState { name, shard: Some((shard, log)), last: point, at: found.at })
}

impl CoreState {
    /// Returns the number of accounts.
    pub(crate) fn accounts(&self) -> u64 {
        self.shard.as_ref().map_or(0, |(shard, _)| shard.totals().accounts)
    }

    /// Calls `see` with each account, in no order.
    pub(crate) fn each_account(
        &self,
        see: &mut dyn FnMut(&[u8], &Account) -> Result<()>,
    ) -> Result<()> {
        let Some((shard, log)) = &self.shard else { return Ok(()) };
        let mut account = Account::empty(Status::Active);
        each_entry(shard, *log, &mut |entry| {
            if let SnapshotEntry::Account { id, image } = entry {
                decode_account(image, &mut account)?;
                see(id, &account)?;
            }
            Ok(())
        })
        .with_context(|| self.name.clone())
    }
}

/// Returns the sequence of the last record that was written at this time or before: the times of frames never go back.
fn last_until(pinned: &mut CoreFiles, survey: &CoreSurvey, time: Time) -> Result<u64> {
    let (Some(log), Some(first)) = (survey.log, pinned.segments().first().copied()) else {
        return Ok(0);
    };
    let mut reader = LogReader::new(pinned, log, first)?.in_group();
    let mut last = first - 1;
    while let Some(frame) = reader.frame()?
        && frame.at() <= time
    {
        last = frame.next() - 1;
    }
    Ok(last)
}

/// Calls `see` with each entry of a shard.
fn each_entry(
    shard: &Shard,
    log: LogId,
    see: &mut dyn FnMut(&SnapshotEntry<'_>) -> Result<()>,
) -> Result<()> {
    let seal = log.seal_in(LogFormat::Single);
    let mut from = 0;
    loop {
        let mut chunk = ChunkWriter::new(seal);
        let to = shard.copy_chunk(from, CHUNK_LEN, &mut chunk);
        chunk.seal(Positions { from, to }, 0);
        let mut bytes = Vec::new();
        chunk.take_sealed(&mut bytes);
        let Chunked::Chunk(chunk) = read_chunk(seal, &bytes) else {
            bail!("what was just written cannot be read");
        };
        for entry in chunk.entries() {
            see(&entry?)?;
        }
        if to == 0 {
            return Ok(());
        }
        from = to;
    }
}

/// Sums that are equal for two shards with the same content.
#[derive(Debug, PartialEq, Eq)]
struct Sums {
    keys: u64,
    accounts: u64,
    sessions: u64,
    /// Totals in the order of the units' names, without units whose totals are all 0.
    units: Vec<UnitTotals>,
}

impl Sums {
    fn of_shard(shard: &Shard) -> Sums {
        let totals = shard.totals();
        let mut units = totals.units.clone();
        units.retain(|of| {
            let moved = [of.credited, of.refunded, of.consumed, of.expired, of.voided];
            let left = [of.available, of.held, of.overdrawn, of.uncollected];
            moved.iter().chain(&left).any(|&amount| amount != 0)
        });
        units.sort_unstable_by_key(|of| of.unit);
        let (accounts, sessions) = (totals.accounts, totals.sessions);
        Sums { keys: shard.stats().keys, accounts, sessions, units }
    }
}

/// Refuses a point outside of the range that the files cover.
fn ensure_known(survey: &CoreSurvey, name: &str, (point, end): (u64, u64)) -> Result<()> {
    ensure!(
        !survey.least.snapshot || !survey.snapshots.is_empty(),
        "{name} cannot be restored: {}",
        RecoveryError::NoSnapshot
    );
    let earliest = survey.earliest();
    if point < earliest || point > end {
        let last = survey.last();
        let of = if point > end && point <= last {
            format!(", and what lies behind it, up to {last}, is not known to be committed")
        } else {
            String::new()
        };
        bail!(
            "{name} cannot be restored to sequence {point}: these files reach from {earliest} to \
             {end}{of}"
        );
    }
    Ok(())
}

/// Builds the state at a point in memory.
fn load(
    pinned: &mut CoreFiles,
    log: LogId,
    config: &Config,
    until: RecoveryEnd,
    (bar, label): (&mut Progress, &str),
) -> Result<(Shard, Recovered)> {
    bar.begin(label.to_owned(), pinned.len()?);
    let mut shard = Shard::new(config.clone());
    let mut bytes = 0;
    let found = recover(pinned, log, until, &mut shard, |read| {
        bar.add(read.log_bytes.saturating_sub(bytes));
        bytes = read.log_bytes;
    });
    bar.end();
    let found = found?;
    shard.note_version(Version::new(found.version_last).unwrap_or(Version::LAST));
    let (RecoveryEnd::Sequence(point) | RecoveryEnd::Committed(point)) = until else {
        return Ok((shard, found));
    };
    ensure!(found.next > point, "the log ends at sequence {}", found.next - 1);
    Ok((shard, found))
}

/// Writes the state as a snapshot, and a log that begins after it.
fn write(
    shard: &mut Shard,
    target: &Target,
    (log, core): (LogId, u16),
    point: u64,
    found: &Recovered,
) -> Result<()> {
    shard.keep_journal(log, point + 1);
    let mut snapshot = Snapshot::begin(shard, log, found.at);
    let mut writer = SnapshotWriter::new(target.core(core)?, snapshot.begun())?;
    while let Some(piece) = snapshot.piece(shard, Vec::new(), found.at) {
        match piece {
            Piece::Bytes(bytes) | Piece::Last { bytes, .. } => writer.write(&bytes)?,
            Piece::Void => bail!("the shard was cleared while it was written"),
        }
    }
    writer.sync()?;
    // A mark without records: it says that everything in the snapshot is durable, and later records follow it.
    let mut frames = Vec::new();
    if let Some(journal) = shard.journal() {
        journal.seal(point, found.at);
        journal.take_sealed(&mut frames);
    }
    let mut segment = LogWriter::new(target.core(core)?, log, SEGMENT_LEN);
    segment.write(Sequence(point + 1), &mut frames)?;
    segment.sync()?;
    writer.publish()?;
    Ok(())
}
