//! Restores a core to a point of its log: what it was there is built in memory and written as a
//! snapshot, from which a server goes on.

use super::progress::Progress;
use super::survey::{CoreSurvey, surveyed};
use super::target::Target;
use super::{Pinned, core_name};
use anyhow::{Context, Result, bail, ensure};
use scurry_disk::Manifest;
use scurry_engine::{
    Config, Least, LogId, LogWriter, Piece, Recovered, RecoveryError, Shard, Snapshot,
    SnapshotWriter, Until, Version, recover,
};
use scurry_ledger::UnitTotals;
use scurry_server::draw_hash_key;
use std::path::Path;

/// Bytes of the segment that is written: a mark.
const SEGMENT_LEN: u64 = 4_096;

/// A core that was restored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rebuilt {
    pub(crate) keys: u64,
    /// The last sequence of the log that it was restored from.
    pub(crate) last: u64,
}

/// Restores a core as it was when the record of this sequence was its last. `manifest` is that
/// of source and target.
pub(crate) fn rebuild_core(
    (source, least): (&Path, Least),
    target: &Target,
    (manifest, core): (&Manifest, u16),
    point: u64,
    bar: &mut Progress,
) -> Result<Rebuilt> {
    let name = core_name(manifest.generation, core);
    let (mut pinned, survey) = surveyed(source, least, bar, &format!("{name}: reading"))?;
    ensure_known(&survey, &name, point)?;
    let last = survey.last();
    // Before the first record there is nothing, unless the log was begun behind a snapshot.
    let Some(log) = survey.log.filter(|_| point > 0 || least.snapshot) else {
        target.core(core)?;
        return Ok(Rebuilt { keys: 0, last });
    };
    let seed = manifest.hash_seed;
    let config = Config { hash_key: draw_hash_key()?, ..Config::default() };
    let (mut shard, found) =
        load(&mut pinned, log, (&config, seed), point, (bar, &format!("{name}: restoring")))
            .with_context(|| format!("cannot restore {name} to sequence {point}"))?;
    write(&mut shard, target, (log, core), point, &found)?;
    let sums = Sums::of(&shard);
    drop(shard);
    let path = target.core_path(core);
    let (mut copy, survey) =
        surveyed(&path, Least { sequence: point, ..least }, bar, &format!("{name}: checking"))?;
    let label = format!("{name}: checking");
    let (shard, _) = load(&mut copy, log, (&config, seed), point, (bar, &label))
        .with_context(|| format!("cannot read back {}", path.display()))?;
    ensure!(
        survey.is_sound() && Sums::of(&shard) == sums,
        "what was restored to {} is not what was written to it: that disk cannot be trusted",
        path.display()
    );
    Ok(Rebuilt { keys: sums.keys, last })
}

/// Sums that two shards with the same content have in common.
#[derive(Debug, PartialEq, Eq)]
struct Sums {
    keys: u64,
    accounts: u64,
    sessions: u64,
    /// In the order of their names, without those that nothing is left of.
    units: Vec<UnitTotals>,
}

impl Sums {
    fn of(shard: &Shard) -> Sums {
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

/// Refuses a point that the files do not reach.
fn ensure_known(survey: &CoreSurvey, name: &str, point: u64) -> Result<()> {
    ensure!(
        !survey.least.snapshot || !survey.snapshots.is_empty(),
        "{name} cannot be restored: {}",
        RecoveryError::NoSnapshot
    );
    let (earliest, last) = (survey.earliest(), survey.last());
    if point < earliest || point > last {
        bail!(
            "{name} cannot be restored to sequence {point}: these files reach from {earliest} to \
             {last}"
        );
    }
    Ok(())
}

/// The state at a point.
fn load(
    pinned: &mut Pinned,
    log: LogId,
    (config, seed): (&Config, u64),
    point: u64,
    (bar, label): (&mut Progress, &str),
) -> Result<(Shard, Recovered)> {
    bar.begin(label.to_owned(), pinned.len()?);
    let mut shard = Shard::new(config.clone());
    let (mut bytes, until) = (0, Until::Sequence(point));
    let found = recover(pinned, log, seed, until, &mut shard, |read| {
        bar.add(read.log_bytes.saturating_sub(bytes));
        bytes = read.log_bytes;
    });
    bar.end();
    let found = found?;
    shard.note_version(Version::new(found.version_last).unwrap_or(Version::LAST));
    ensure!(found.next > point, "the log ends at sequence {}", found.next - 1);
    Ok((shard, found))
}

/// Writes the state as a snapshot, and a log that begins behind it.
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
    // A mark: what the snapshot shows was durable, and the log goes on behind it.
    let mut frames = Vec::new();
    if let Some(journal) = shard.journal() {
        journal.seal(point, found.at);
        journal.take(&mut frames);
    }
    let mut segment = LogWriter::new(target.core(core)?, log, SEGMENT_LEN);
    segment.write(point + 1, &mut frames)?;
    segment.sync()?;
    writer.publish()?;
    Ok(())
}
