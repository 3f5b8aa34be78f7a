//! Prints the records of a log and the entries of a snapshot.

use crate::store::{CoreFiles, entry_line, log_of, record_line};
use anyhow::{Context, Result, bail, ensure};
use scurry_engine::{LogError, LogReader, SnapshotReader};
use std::io::Write;

/// Selection of the records to print, and their form.
pub(super) struct RecordFilter {
    /// First sequence. None for the start of the log.
    pub(super) from: Option<u64>,
    pub(super) count: u64,
    pub(super) is_json: bool,
    /// Core that each line names. None if the store has only one.
    pub(super) core: Option<u16>,
}

impl RecordFilter {
    fn print(&self, line: &str, out: &mut impl Write) -> Result<()> {
        match (self.core, line.strip_prefix('{')) {
            (Some(core), Some(rest)) if self.is_json => writeln!(out, "{{\"core\":{core},{rest}")?,
            (Some(core), _) => writeln!(out, "{core}  {line}")?,
            (None, _) => writeln!(out, "{line}")?,
        }
        Ok(())
    }
}

/// Prints the records of a log. A running server may have written the end only in part, so an error counts only if a
/// second attempt finds the same one.
pub(super) fn print_records(
    mut open: impl FnMut() -> Result<CoreFiles>,
    wanted: &RecordFilter,
    out: &mut impl Write,
) -> Result<()> {
    let mut pinned = open()?;
    let Some(&first) = pinned.segments().first() else { return Ok(()) };
    if let Some(from) = wanted.from {
        let core = wanted.core.map(|core| format!("core {core}: ")).unwrap_or_default();
        ensure!(
            from >= first,
            "{core}the log begins with sequence {first} now: give --from {first} or more"
        );
    }
    let mut at = Cursor { next: wanted.from.unwrap_or(first), left: wanted.count };
    let mut before: Option<String> = None;
    while let Err(error) = read(&mut pinned, &mut at, wanted, out)? {
        let text = error.to_string();
        if before.as_ref() == Some(&text) {
            return Err(error.into());
        }
        before = Some(text);
        pinned = open()?;
    }
    Ok(())
}

/// Position of the printing.
struct Cursor {
    next: u64,
    left: u64,
}

fn read(
    pinned: &mut CoreFiles,
    at: &mut Cursor,
    wanted: &RecordFilter,
    out: &mut impl Write,
) -> Result<Result<(), LogError>> {
    let Some(log) = log_of(pinned) else { bail!("no header of these files can be read") };
    let mut reader = match LogReader::new(pinned, log, at.next) {
        Ok(reader) => reader.in_group(),
        Err(error) => return Ok(Err(error)),
    };
    while at.left > 0 {
        let frame = match reader.frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        let (mut sequence, mut records) = (frame.first(), frame.records());
        while let Some(record) = records.next() {
            let record = record.with_context(|| format!("sequence {sequence} cannot be read"))?;
            if sequence >= at.next && at.left > 0 {
                wanted.print(&record_line(sequence, frame.at(), &record, wanted.is_json), out)?;
                at.next = sequence + 1;
                at.left -= 1;
            }
            sequence += 1;
        }
    }
    Ok(Ok(()))
}

/// Prints the entries of a snapshot.
pub(super) fn print_entries(
    pinned: &mut CoreFiles,
    begun: u64,
    wanted: &RecordFilter,
    out: &mut impl Write,
) -> Result<()> {
    ensure!(wanted.from.is_none(), "entries of a snapshot have no sequence: leave --from out");
    let Some(log) = log_of(pinned) else { bail!("the header of this snapshot cannot be read") };
    let mut reader = SnapshotReader::open(pinned, log, begun)?;
    let mut left = wanted.count;
    let mut outcome = Ok(());
    while left > 0
        && reader.chunk(|entry| {
            if left > 0 && outcome.is_ok() {
                outcome = wanted.print(&entry_line(entry, wanted.is_json), out);
                left -= 1;
            }
        })?
    {
        std::mem::replace(&mut outcome, Ok(()))?;
    }
    outcome
}
