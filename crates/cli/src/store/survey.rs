//! Reads and checks every file in a core's directory, and reports its contents. The engine tells the end of a log from
//! damage, as it does in recovery.

mod group;
mod log;

use super::CoreFiles;
use super::line::kind_of_entry;
use super::progress::Progress;
use super::tally::CountsByKind;
use anyhow::{Result, ensure};
pub(crate) use group::GroupSurvey;
use log::read_log;
use scurry_codec::{
    LogBase, SegmentHeader, Sequence, SnapshotEntry, SnapshotFooter, SnapshotHeader, decode_account,
};
use scurry_engine::{
    BASE_NAME, DiscardedTail, Disk, File, History, LogError, LogId, RecoveryError, RequiredExtent,
    SnapshotReader, checksum, segment_name, segment_of, snapshot_name,
};
use scurry_ledger::{Account, Status, Time};
use std::path::Path;

/// Attempts at reading files that a server is writing.
const TRIES: usize = 5;
/// Attempts that a server may overtake, after which it writes snapshots too often to be copied.
pub(super) const OVERTAKEN_MAX: usize = 100;

/// Contents of a core's directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoreSurvey {
    /// None if no file names its log.
    pub(crate) log: Option<LogId>,
    pub(crate) segments: Vec<SegmentSurvey>,
    /// True if the frames belong to a group's log.
    pub(crate) is_replicated: bool,
    /// Contents of a group's log, if readable. None for a store of one machine.
    pub(crate) group: Option<GroupSurvey>,
    /// Intact snapshots.
    pub(crate) snapshots: Vec<SnapshotSurvey>,
    /// End of the log that recovery would cut off.
    pub(crate) cut: Option<DiscardedTail>,
    /// Segments after the cut, which recovery would remove.
    pub(crate) cut_off: Vec<u64>,
    pub(crate) others: Vec<String>,
    /// Faults of snapshots, which recovery skips.
    pub(crate) bad_snapshots: Vec<String>,
    /// All other faults.
    pub(crate) problems: Vec<String>,
    /// Least extent that the files must have.
    pub(crate) least: RequiredExtent,
}

/// Contents of a segment.
#[derive(Clone, Debug)]
pub(crate) struct SegmentSurvey {
    pub(crate) first: u64,
    /// Sequence after the last record.
    pub(crate) next: u64,
    pub(crate) frames: u64,
    /// Frames without records.
    pub(crate) marks: u64,
    pub(crate) records: CountsByKind,
    /// Offset of the end of the last good frame.
    pub(crate) end: u64,
    /// Times of the first and the last frame.
    pub(crate) times: Option<(Time, Time)>,
    /// Greatest sequence that a frame reports as synced.
    pub(crate) synced: u64,
}

/// Contents of a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotSurvey {
    pub(crate) begun: u64,
    pub(crate) header: SnapshotHeader,
    pub(crate) footer: SnapshotFooter,
    /// Number of position ranges, each of which shows its own sequence of the log.
    pub(crate) ranges: usize,
    pub(crate) entries: CountsByKind,
    pub(crate) len: u64,
}

/// What a survey has left out, and the end of the log before it.
#[derive(Clone, Debug, Default)]
pub(super) struct EndedSurvey {
    /// Names of snapshots that show later records.
    pub(super) snapshots: Vec<String>,
    /// The end of a group's log, and the time of its last frame. None if nothing is left out, or no frame is left.
    pub(super) end: Option<(History, Time)>,
}

/// Why a survey cannot end at a sequence.
#[derive(Debug)]
pub(super) enum EndError {
    /// The log cannot be read: the server may reuse a segment.
    Log(LogError),
    /// Nothing is left that shows the state there.
    Gone(String),
}

impl SegmentSurvey {
    /// Returns the contents of a segment that has no frame.
    fn empty(first: u64) -> SegmentSurvey {
        SegmentSurvey {
            first,
            next: first,
            frames: 0,
            marks: 0,
            records: CountsByKind::default(),
            end: SegmentHeader::LEN as u64,
            times: None,
            synced: 0,
        }
    }
}

impl CoreSurvey {
    /// Reports whether no fault was found.
    pub(crate) fn is_sound(&self) -> bool {
        self.problems.is_empty() && self.bad_snapshots.is_empty()
    }

    /// Returns the sequence of the last record, 0 without any.
    pub(crate) fn last(&self) -> u64 {
        let last = self.segments.last().map_or(0, |segment| segment.next - 1);
        // A group's log without segments can still have a base.
        self.group.as_ref().map_or(last, |group| group.last.get())
    }

    /// Returns the last sequence that cannot be lost: in a group's log the last one known to be committed, otherwise
    /// the last one.
    pub(crate) fn committed(&self) -> u64 {
        self.group.as_ref().map_or(self.last(), |group| group.committed.sequence.get())
    }

    /// Returns the tally of the records in all segments.
    pub(crate) fn records(&self) -> CountsByKind {
        let mut sum = CountsByKind::default();
        for segment in &self.segments {
            sum.merge(&segment.records);
        }
        sum
    }

    /// Returns the first sequence that a restore can go back to.
    pub(crate) fn earliest(&self) -> u64 {
        let from_start =
            self.segments.first().is_none_or(|segment| segment.first <= 1) && !self.least.snapshot;
        let begun = self.snapshots.iter().map(|snapshot| snapshot.footer.as_of).min();
        if from_start { 0 } else { begun.unwrap_or(0) }
    }
}

impl CoreSurvey {
    /// Leaves out what is after a sequence, up to which a group's log is known to be committed: records, and the
    /// snapshots that show them, whose names are returned. Fails if what is left shows no state.
    pub(super) fn end_at(
        &mut self,
        pinned: &mut CoreFiles,
        last: u64,
        directory: &Path,
    ) -> Result<EndedSurvey, EndError> {
        let mut ended = EndedSurvey::default();
        let Some(log) = self.log.filter(|_| self.last() > last) else { return Ok(ended) };
        ended.end = log::end_log_at(pinned, log, last, self).map_err(EndError::Log)?;
        let (kept, later) =
            self.snapshots.drain(..).partition(|snapshot| snapshot.footer.as_of <= last);
        self.snapshots = kept;
        let later: Vec<SnapshotSurvey> = later;
        ended.snapshots = later.iter().map(|snapshot| snapshot_name(snapshot.begun)).collect();
        let mut base = None;
        if let Some(group) = &mut self.group {
            (group.last, group.committed.sequence) = (Sequence(last), Sequence(last));
            base = group.base.as_ref().map(|base| base.sequence.get());
        }
        let first = self.segments.first().map_or(last + 1, |segment| segment.first);
        let is_from_start = first <= 1 && base.is_none() && !self.least.snapshot;
        let is_after = base.is_some_and(|base| base > last);
        if is_after || self.snapshots.is_empty() && !is_from_start {
            return Err(EndError::Gone(format!(
                "{}: the server has written two snapshots since the copy was begun, and has removed the log before \
                 them: try again when no snapshot is being written (INFO persistence), or start it with a longer \
                 --snapshot-log",
                directory.display()
            )));
        }
        Ok(ended)
    }
}

/// Surveys a core. A running server may have written the end of the log only in part, so damage counts only if a second
/// attempt finds the same. `least` must be read before the files.
pub(crate) fn surveyed(
    directory: &Path,
    least: RequiredExtent,
    bar: &mut Progress,
    label: &str,
) -> Result<SurveyedCore> {
    let mut attempts = SurveyAttempts::default();
    loop {
        let mut pinned = CoreFiles::open(directory)?;
        bar.begin(label.to_owned(), pinned.len()?);
        let survey = survey(&mut pinned, least, bar);
        bar.end();
        let found = [&survey.problems[..], &survey.bad_snapshots[..]].concat();
        if attempts.is_last(found, pinned.is_overtaken()) {
            return Ok((pinned, survey));
        }
        ensure_not_overtaken(attempts.overtaken, directory)?;
    }
}

/// Attempts at files that a server may be writing.
#[derive(Debug, Default)]
struct SurveyAttempts {
    /// Faults that the last attempt found.
    before: Option<Vec<String>>,
    counted: usize,
    overtaken: usize,
}

impl SurveyAttempts {
    /// Reports whether the faults of an attempt are final. An attempt that was `overtaken` read files that the server
    /// had begun to reuse: faults that only such attempts find do not count, however often.
    fn is_last(&mut self, found: Vec<String>, overtaken: bool) -> bool {
        if found.is_empty() || self.before.as_ref() == Some(&found) {
            return true;
        }
        self.before = Some(found);
        self.overtaken += usize::from(overtaken);
        self.counted += usize::from(!overtaken);
        self.counted == TRIES
    }
}

/// Gives up on files that a server always reuses before they are read.
pub(super) fn ensure_not_overtaken(overtaken: usize, directory: &Path) -> Result<()> {
    ensure!(
        overtaken < OVERTAKEN_MAX,
        "the server reuses the space of its log before {} can be read: try again later, or start \
         it with a longer --keep-log",
        directory.display()
    );
    Ok(())
}

/// Files of a core and their contents.
pub(crate) type SurveyedCore = (CoreFiles, CoreSurvey);

/// Reads and checks all files of a core.
pub(crate) fn survey(
    pinned: &mut CoreFiles,
    least: RequiredExtent,
    bar: &mut Progress,
) -> CoreSurvey {
    let mut survey = CoreSurvey { least, ..survey_files(pinned, bar) };
    group::look(pinned, &mut survey);
    check_together(&mut survey);
    survey
}

/// Reads the files without checking whether any are missing.
pub(crate) fn survey_files(pinned: &mut CoreFiles, bar: &mut Progress) -> CoreSurvey {
    let mut survey = CoreSurvey { others: pinned.others().to_vec(), ..CoreSurvey::default() };
    let Some(log) = log_of(pinned) else {
        let names = pinned.list().unwrap_or_default();
        survey.problems.extend(names.iter().filter_map(|name| unreadable(pinned, name)));
        return survey;
    };
    survey.log = Some(log);
    for begun in pinned.snapshots() {
        match read_snapshot(pinned, log, begun, bar) {
            Ok(snapshot) => survey.snapshots.push(snapshot),
            Err(text) => survey.bad_snapshots.push(text),
        }
    }
    read_log(pinned, log, &mut survey, bar);
    survey
}

/// Returns the log that the files belong to, from the first readable header.
pub(crate) fn log_of(pinned: &mut CoreFiles) -> Option<LogId> {
    for first in pinned.segments() {
        let mut head = [0; SegmentHeader::LEN];
        let len = pinned.open(&segment_name(first)).and_then(|mut file| file.read_at(0, &mut head));
        if let Ok(header) = SegmentHeader::decode(checksum, &head[..len.unwrap_or(0)]) {
            return Some(LogId { id: header.log_id, core: header.core });
        }
    }
    for begun in pinned.snapshots() {
        let mut head = [0; SnapshotHeader::LEN];
        let len =
            pinned.open(&snapshot_name(begun)).and_then(|mut file| file.read_at(0, &mut head));
        if let Ok(header) = SnapshotHeader::decode(checksum, &head[..len.unwrap_or(0)]) {
            return Some(LogId { id: header.log_id, core: header.core });
        }
    }
    let mut base = vec![0; LogBase::LEN_MAX];
    let len = pinned.open(BASE_NAME).and_then(|mut file| file.read_at(0, &mut base));
    let ((id, core), _) = LogBase::decode(checksum, &base[..len.unwrap_or(0)]).ok()?;
    Some(LogId { id, core })
}

/// Returns the fault of a file's header. A single segment that was created and not written yet has none.
fn unreadable(pinned: &mut CoreFiles, name: &str) -> Option<String> {
    let mut head = [0; if LogBase::LEN_MAX > SnapshotHeader::LEN {
        LogBase::LEN_MAX
    } else {
        SnapshotHeader::LEN
    }];
    let len = match pinned.open(name).and_then(|mut file| file.read_at(0, &mut head)) {
        Ok(len) => len,
        Err(error) => return Some(error.to_string()),
    };
    let error = if name == BASE_NAME {
        LogBase::decode(checksum, &head[..len]).err()
    } else if segment_of(name).is_some() {
        let is_blank = head[..len].iter().all(|&byte| byte == 0);
        if is_blank && pinned.segments().len() == 1 {
            return None;
        }
        SegmentHeader::decode(checksum, &head[..len]).err()
    } else {
        SnapshotHeader::decode(checksum, &head[..len]).err()
    };
    error.map(|error| format!("{name}: {error}"))
}

fn read_snapshot(
    pinned: &mut CoreFiles,
    log: LogId,
    begun: u64,
    bar: &mut Progress,
) -> Result<SnapshotSurvey, String> {
    let text = |error: scurry_engine::SnapshotError| error.to_string();
    let name = snapshot_name(begun);
    let len = pinned.open(&name).and_then(|mut file| file.len());
    let len = len.map_err(|error| error.to_string())?;
    let mut reader = SnapshotReader::open(pinned, log, begun).map_err(text)?;
    let mut entries = CountsByKind::default();
    let mut account = Account::empty(Status::Active);
    let (mut broken, mut read) = (None, 0);
    let count = reader.footer().chunks.max(1);
    while reader
        .chunk(|entry| {
            entries.add(kind_of_entry(entry));
            if let SnapshotEntry::Account { id, image } = entry
                && let Err(error) = decode_account(image, &mut account)
            {
                let text = || format!("{name}: account {}: {error}", id.escape_ascii());
                broken.get_or_insert_with(text);
            }
        })
        .map_err(text)?
    {
        // The lengths of the chunks are unknown: the bar takes them as equal.
        bar.add(len / count);
        read += len / count;
    }
    bar.add(len.saturating_sub(read));
    if let Some(broken) = broken {
        return Err(broken);
    }
    let (header, footer) = (*reader.header(), *reader.footer());
    let ranges = reader.into_ranges().iter().count();
    Ok(SnapshotSurvey { begun, header, footer, ranges, entries, len })
}

/// Checks that log and snapshots fit each other.
fn check_together(survey: &mut CoreSurvey) {
    let first = survey.segments.first().map_or(1, |segment| segment.first);
    let last = survey.last();
    for snapshot in &survey.snapshots {
        let (name, as_of) = (snapshot_name(snapshot.begun), snapshot.footer.as_of);
        if snapshot.begun + 1 < first {
            survey.problems.push(format!(
                "the log begins at sequence {first}, and {name} needs it from {} on: files were \
                 removed",
                snapshot.begun + 1
            ));
        }
        // A node that has received a snapshot waits for the log after it.
        let waits = survey.group.as_ref().is_some_and(|group| group.waits_for.is_some());
        if last < as_of && !waits {
            survey.problems.push(format!(
                "the log ends at sequence {last}, and {name} shows {as_of}: its end was lost"
            ));
        }
    }
    if survey.problems.is_empty() && last < survey.least.sequence {
        // Records after the last good frame had been reported as durable, so the cut is a loss.
        let cut = survey.cut.take();
        let newest = survey.segments.last().map(|segment| segment.first);
        let lost = RecoveryError::lost(last, survey.least.sequence, cut.as_ref(), newest);
        survey.problems.push(lost.to_string());
    }
    if survey.snapshots.is_empty() && first <= 1 && survey.least.snapshot {
        survey.problems.push(RecoveryError::NoSnapshot.to_string());
    }
    let has_base = survey.group.as_ref().is_some_and(|group| group.base.is_some());
    if survey.snapshots.is_empty() && has_base && survey.segments.is_empty() {
        survey
            .problems
            .push("the log has a base and no good snapshot: files were removed".to_owned());
    }
    if survey.snapshots.is_empty() && first > 1 {
        survey.problems.push(format!(
            "the log begins at sequence {first} and there is no good snapshot before it: files were \
             removed"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::{OVERTAKEN_MAX, SurveyAttempts, TRIES, ensure_not_overtaken};
    use std::path::Path;

    fn fault(number: usize) -> Vec<String> {
        vec![format!("log-{number} belongs to another log")]
    }

    #[test]
    fn what_the_room_used_anew_shows_is_no_damage() {
        let mut attempts = SurveyAttempts::default();
        for look in 1..OVERTAKEN_MAX {
            assert!(!attempts.is_last(fault(look), true), "look {look}");
            ensure_not_overtaken(attempts.overtaken, Path::new("g1/0")).expect("it goes on");
        }
        assert!(attempts.is_last(Vec::new(), true), "a look that found nothing");
        assert!(!attempts.is_last(fault(0), true));
        let refused = ensure_not_overtaken(attempts.overtaken, Path::new("g1/0")).unwrap_err();
        assert!(refused.to_string().contains("longer --keep-log"), "{refused}");
    }

    #[test]
    fn damage_is_found_twice_in_its_place() {
        for overtaken in [false, true] {
            let mut attempts = SurveyAttempts::default();
            assert!(!attempts.is_last(fault(1), overtaken));
            assert!(attempts.is_last(fault(1), overtaken));
        }
        let mut attempts = SurveyAttempts::default();
        for look in 1..TRIES {
            assert!(!attempts.is_last(fault(look), false), "look {look}");
        }
        assert!(attempts.is_last(fault(TRIES), false));
    }
}
