//! Copies a core: every intact snapshot and segment, checked before and after.

use super::progress::Progress;
use super::survey::{CoreSurvey, EndError, ensure_not_overtaken, surveyed};
use super::target::Target;
use super::{CoreFiles, core_name};
use anyhow::{Context, Result, bail, ensure};
use scurry_codec::{FrameWriter, LogEntry, LogFormat, Sequence, content_of, put_entry};
use scurry_engine::{
    BASE_NAME, Disk, File, History, LogId, RequiredExtent, segment_name, snapshot_name,
};
use scurry_ledger::Time;
use std::path::Path;

/// Bytes copied at once.
const PIECE_LEN: usize = 1 << 20;
/// Number of copies that may differ from an unchanged source before the error blames a disk.
const TRIES: usize = 3;

/// Contents of a copied core.
#[derive(Clone, Debug)]
pub(crate) struct CopiedCore {
    /// Sequence of the last record.
    pub(crate) last: u64,
    /// Last sequence that is known to be committed. None for a store of one machine.
    pub(crate) committed: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) files: usize,
    /// Notes on files and records of the source that were not copied.
    pub(crate) notes: Vec<String>,
}

/// A core to be copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreSource<'a> {
    pub(crate) path: &'a Path,
    /// Least extent of the files.
    pub(crate) least: RequiredExtent,
    /// Sequence after which nothing is copied; None for the end of the log.
    pub(crate) end: Option<u64>,
}

/// Copies a core's files to a target. `generation` and `core` name it.
pub(crate) fn copy_core(
    CoreSource { path: source, least, end }: CoreSource<'_>,
    target: &Target,
    (generation, core): (u32, u16),
    bar: &mut Progress,
) -> Result<CopiedCore> {
    let name = core_name(generation, core);
    let (mut differing, mut overtaken) = (0, 0);
    while differing < TRIES {
        ensure_not_overtaken(overtaken, source)?;
        let (mut pinned, mut survey) = surveyed(source, least, bar, &format!("{name}: reading"))?;
        ensure_recoverable(&survey, source)?;
        let ended = match survey.end_at(&mut pinned, end.unwrap_or(u64::MAX), source) {
            Ok(ended) => ended,
            Err(EndError::Gone(text)) => bail!(text),
            Err(EndError::Log(_)) if pinned.is_overtaken() => {
                overtaken += 1;
                continue;
            }
            Err(EndError::Log(error)) => return Err(error.into()),
        };
        let files = files(&mut pinned, &survey)?;
        let bytes = files.iter().map(|(_, len)| len).sum();
        let mut directory = target.core(core)?;
        // Removes files of an earlier attempt.
        for old in directory.list()? {
            directory.remove(&old)?;
        }
        bar.begin(format!("{name}: copying"), bytes);
        for (file, len) in &files {
            copy_file(&mut pinned, &mut directory, file, *len, bar)
                .with_context(|| format!("cannot copy {}", source.join(file).display()))?;
        }
        let end = ended.end.filter(|_| survey.group.is_some());
        if let Some((end, log)) = end.zip(survey.log) {
            mark_committed(&mut directory, log, end, &mut survey)?;
        }
        directory.sync_dir()?;
        bar.end();
        let label = format!("{name}: checking the copy");
        let least = RequiredExtent { sequence: least.sequence.min(survey.last()), ..least };
        let (_, copy) = surveyed(&target.core_path(core), least, bar, &label)?;
        if is_same(&survey, &copy) {
            let mut notes = notes(&survey, &name);
            let later =
                |file: &String| format!("{name}: {file} was left out: it is newer than the copy");
            notes.extend(ended.snapshots.iter().map(later));
            ensure_caught_up(&copy, source)?;
            let committed = copy.group.as_ref().map(|group| group.committed.sequence.get());
            return Ok(CopiedCore {
                last: copy.last(),
                committed,
                bytes,
                files: files.len(),
                notes,
            });
        }
        // A running server may have reused a segment during the copy. Only a difference without that counts against the
        // disks.
        if pinned.is_overtaken() {
            overtaken += 1;
        } else {
            differing += 1;
        }
    }
    bail!(
        "the copy in {} is not what was read, {TRIES} times over: one of the two disks cannot be \
         trusted",
        target.core_path(core).display()
    )
}

/// Refuses a core that a server would not recover.
fn ensure_recoverable(survey: &CoreSurvey, source: &Path) -> Result<()> {
    if let Some(problem) = survey.problems.first() {
        bail!(
            "{} is damaged, and a copy would be: {problem}. `scurry inspect {0}` shows all of it; \
             `scurry restore` gets what lies before it",
            source.display()
        );
    }
    ensure_caught_up(survey, source)
}

/// Refuses a node that has received a snapshot but not yet the log that the snapshot needs.
pub(super) fn ensure_caught_up(survey: &CoreSurvey, source: &Path) -> Result<()> {
    let waits = survey.group.as_ref().is_some_and(|group| group.waits_for.is_some());
    ensure!(
        !waits,
        "{} is that of a node which lacks the log behind the snapshot that it has got: take another node, or wait \
         until it has caught up",
        source.display()
    );
    Ok(())
}

/// Returns the files to copy and their lengths: intact snapshots, the log up to its last good frame, and the base of a
/// group's log.
fn files(pinned: &mut CoreFiles, survey: &CoreSurvey) -> Result<Vec<(String, u64)>> {
    let mut files = Vec::new();
    for snapshot in &survey.snapshots {
        files.push((snapshot_name(snapshot.begun), snapshot.len));
    }
    for segment in &survey.segments {
        files.push((segment_name(segment.first), segment.end));
    }
    if survey.group.as_ref().is_some_and(|group| group.base.is_some()) {
        files.push((BASE_NAME.to_owned(), pinned.open(BASE_NAME)?.len()?));
    }
    Ok(files)
}

fn copy_file(
    pinned: &mut CoreFiles,
    directory: &mut impl Disk,
    name: &str,
    len: u64,
    bar: &mut Progress,
) -> Result<()> {
    let (mut from, mut to) = (pinned.open(name)?, directory.create(name, 0)?);
    let mut piece = vec![0; PIECE_LEN];
    let mut at = 0;
    while at < len {
        let wanted = usize::try_from(len - at).unwrap_or(PIECE_LEN).min(PIECE_LEN);
        let read = from.read_at(at, &mut piece[..wanted])?;
        ensure!(read > 0, "the file ends at byte {at} and had {len}");
        to.write_at(at, &piece[..read])?;
        at += read as u64;
        bar.add(read as u64);
    }
    Ok(to.sync()?)
}

/// Adds a mark to the copy of a group's log: the frames that called its last entries committed are after its end.
fn mark_committed(
    directory: &mut impl Disk,
    log: LogId,
    (end, at): (History, Time),
    survey: &mut CoreSurvey,
) -> Result<()> {
    let (seal, last) = (log.seal_in(LogFormat::Replicated), survey.last());
    let Some(segment) = survey.segments.last_mut() else { return Ok(()) };
    let mut writer = FrameWriter::new(seal, last + 1);
    writer.seal(0, at);
    let mut mark = Vec::new();
    writer.take_sealed(&mut mark);
    let History { term, index, chain } = end;
    let content = content_of(seal, &mark).context("a mark is shorter than its header")?;
    let entry = LogEntry { term, index, committed: index, chain, content };
    put_entry(seal, &mut mark, &entry, Sequence(last));
    let mut file = directory.open(&segment_name(segment.first))?;
    file.write_at(segment.end, &mark)?;
    file.sync()?;
    segment.end += mark.len() as u64;
    Ok(())
}

fn is_same(source: &CoreSurvey, copy: &CoreSurvey) -> bool {
    let segments = |survey: &CoreSurvey| {
        let part = |segment: &super::SegmentSurvey| (segment.first, segment.next, segment.end);
        survey.segments.iter().map(part).collect::<Vec<_>>()
    };
    let snapshots = |survey: &CoreSurvey| {
        let part = |snapshot: &super::SnapshotSurvey| (snapshot.begun, snapshot.footer);
        survey.snapshots.iter().map(part).collect::<Vec<_>>()
    };
    copy.is_sound()
        && copy.cut.is_none()
        && segments(source) == segments(copy)
        && snapshots(source) == snapshots(copy)
        && source.records() == copy.records()
}

fn notes(survey: &CoreSurvey, name: &str) -> Vec<String> {
    let bad = survey.bad_snapshots.iter();
    let mut notes: Vec<String> =
        bad.map(|text| format!("{name}: a damaged snapshot was left out: {text}")).collect();
    if let Some(cut) = &survey.cut {
        notes.push(format!(
            "{name}: {} bytes behind the last good frame of {} were left out: no client was promised \
             them",
            cut.bytes, cut.file
        ));
    }
    notes
}
