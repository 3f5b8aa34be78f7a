//! The part of a survey about the log.

use super::super::CoreFiles;
use super::super::line::kind_of;
use super::super::progress::Progress;
use super::super::tally::CountsByKind;
use super::{CoreSurvey, SegmentSurvey};
use scurry_codec::{Record, decode_account, decode_change};
use scurry_engine::{History, LogError, LogId, LogReader, segment_name, segment_of};
use scurry_ledger::{Account, Change, Status, Time};

/// Reads the log. After damage it continues with the next segment.
pub(super) fn read_log(
    pinned: &mut CoreFiles,
    log: LogId,
    survey: &mut CoreSurvey,
    bar: &mut Progress,
) {
    let mut from = pinned.segments().first().copied();
    while let Some(first) = from {
        from = None;
        if let Err(error) = read_log_from(pinned, log, first, u64::MAX, survey, bar) {
            let file = match &error {
                LogError::Header { file, .. }
                | LogError::Stale { file, .. }
                | LogError::Foreign { file }
                | LogError::Replicated { file }
                | LogError::Damaged { file, .. } => segment_of(file),
                LogError::Io { .. } | LogError::Directory(_) | LogError::Missing { .. } => None,
            };
            survey.problems.push(error.to_string());
            let later = |bad: u64| pinned.segments().into_iter().find(|&first| first > bad);
            from = file.and_then(later);
        }
    }
}

/// Leaves out what the log has after a sequence, which is the last one of a frame. Returns the end of a group's log there.
pub(super) fn end_log_at(
    pinned: &mut CoreFiles,
    log: LogId,
    last: u64,
    survey: &mut CoreSurvey,
) -> Result<Option<(History, Time)>, LogError> {
    let kept = survey.segments.partition_point(|segment| segment.first <= last);
    (survey.cut, survey.cut_off) = (None, Vec::new());
    if kept == 0 {
        // A snapshot needs a log after it, even if that is empty.
        survey.segments.retain(|segment| segment.first == last + 1);
        for segment in &mut survey.segments {
            *segment = SegmentSurvey::empty(segment.first);
        }
        return Ok(None);
    }
    let first = survey.segments[kept - 1].first;
    survey.segments.truncate(kept - 1);
    read_log_from(pinned, log, first, last, survey, &mut Progress::new())
}

/// Reads the log up to a sequence. Returns the end of a group's log there, and the time of its last frame.
fn read_log_from(
    pinned: &mut CoreFiles,
    log: LogId,
    first: u64,
    last: u64,
    survey: &mut CoreSurvey,
    bar: &mut Progress,
) -> Result<Option<(History, Time)>, LogError> {
    let all = pinned.segments();
    let mut reader = LogReader::new(pinned, log, first)?.in_group();
    let mut end = None;
    let mut change = Change { at: Time(0), ops: Vec::new() };
    loop {
        let mut records = CountsByKind::default();
        let mut broken = None;
        let Some(frame) = reader.frame()? else { break };
        if frame.first() > last {
            return Ok(end);
        }
        let (first, next, at, synced) = (frame.first(), frame.next(), frame.at(), frame.synced());
        let (mut sequence, len) = (first, frame.len() as u64);
        let mut all_records = frame.records();
        while let Some(record) = all_records.next() {
            // An unreadable record does not end the survey: the first one of a frame is reported.
            match record.map_err(|error| error.to_string()).and_then(|record| {
                readable(&record, &mut change)?;
                Ok(kind_of(&record))
            }) {
                Ok(kind) => records.add(kind),
                Err(error) => {
                    broken.get_or_insert((sequence, error));
                }
            }
            sequence += 1;
        }
        end = reader.history().map(|history| (history, at));
        survey.is_replicated |= end.is_some();
        let Some((segment, end)) = reader.position() else { break };
        if let Some((sequence, error)) = broken {
            let offset = end - len;
            survey.problems.push(format!(
                "{} has a frame at byte {offset} in which sequence {sequence} cannot be read: {error}",
                segment_name(segment)
            ));
        }
        bar.add(len);
        begin_segments(survey, &all, segment);
        let Some(found) = survey.segments.last_mut() else { break };
        found.frames += 1;
        found.marks += u64::from(first == next);
        found.records.merge(&records);
        (found.next, found.end) = (next, end);
        found.synced = found.synced.max(synced);
        found.times = Some((found.times.map_or(at, |(begin, _)| begin), at));
    }
    // The reader has dropped the segments after a cut.
    let left: Vec<u64> = reader.segments().to_vec();
    survey.cut = reader.cut().filter(|cut| cut.bytes > 0).cloned();
    if let Some(&last) = left.last() {
        begin_segments(survey, &left, last);
        survey.cut_off = pinned.segments().into_iter().filter(|&first| first > last).collect();
    }
    Ok(end)
}

/// Adds a segment to the survey, and the segments before it that have no frame.
fn begin_segments(survey: &mut CoreSurvey, all: &[u64], to: u64) {
    let after = survey.segments.last().map(|segment| segment.first);
    for &first in all.iter().filter(|&&first| after.is_none_or(|last| first > last) && first <= to)
    {
        survey.segments.push(SegmentSurvey::empty(first));
    }
}

fn readable(record: &Record<'_>, change: &mut Change) -> Result<(), String> {
    match record {
        Record::Account { change: bytes, .. } => {
            decode_change(bytes, change).map_err(|error| error.to_string())
        }
        Record::Image { image, .. } => {
            let mut account = Account::empty(Status::Active);
            decode_account(image, &mut account).map_err(|error| error.to_string())
        }
        _ => Ok(()),
    }
}
