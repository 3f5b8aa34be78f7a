//! Determines where a copy of a store with several cores ends in each of its logs, so that it has no step of a transfer
//! between two cores without the step before it.
//!
//! A core executes a step after the other core has logged the step before, and gives no later frame of its log an
//! earlier time than that one had. So logs that all end at one time, `C`, fit together, if every frame up to `C` is in
//! the files when they are read. A running server still writes such frames for a moment. Once the logs were found to end
//! in the same places twice, they are complete: a step that was found the first time was preceded by the other one, which
//! is found the second time. No clock is compared with the server's, whose time may be another one.

use super::pinned::CoreFiles;
use super::survey::{ensure_not_overtaken, log_of};
use super::{DataDirectory, time_text};
use anyhow::{Result, bail};
use scurry_engine::{
    BASE_NAME, Disk, LogError, LogId, LogReader, RecoveryError, RequiredExtent, look_at_group,
    shown_by_snapshots,
};
use scurry_ledger::Time;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Pause between two looks at the ends of the logs.
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum number of looks: about a minute.
const LOOKS_MAX: usize = 3_000;
/// Looks before entries that are not known to be committed are left out: a second or more. A node marks the end of an
/// idle log as committed after a tenth of that.
const UNSURE_LOOKS_MAX: usize = 50;
/// Attempts at reading a log that a server is writing.
const TRIES: usize = 5;

/// Where the copy of a store ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The time after which nothing is copied.
    time: Time,
    /// The last sequence of each core.
    ends: Vec<u64>,
    /// True if changes before this time are left out, because they are not known to be committed.
    is_lowered: bool,
}

/// The end of one log at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LogEnd {
    /// The last sequence that was written at this time or before.
    last: u64,
    /// The time of the first entry up to it that a group may not have committed.
    unsure: Option<Time>,
}

/// A core's log, as far as it concerns its end.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    /// First sequence of the segment that had the end at the first look. None if there was no frame.
    from: Option<u64>,
}

impl Cut {
    /// Finds the cut of a store with several cores; None for one core, whose log is copied as far as it goes.
    pub(crate) fn find(source: &DataDirectory) -> Result<Option<Cut>> {
        let paths: Vec<PathBuf> = source.cores().into_iter().map(|(_, path)| path).collect();
        if paths.len() < 2 {
            return Ok(None);
        }
        Cut::of_logs(&paths, LOOKS_MAX, || thread::sleep(PAUSE)).map(Some) // tidy: allow (a file has no event to wait for)
    }

    /// Finds the cut of these logs. Everything that is in them now is before it.
    fn of_logs(paths: &[PathBuf], looks_max: usize, mut pause: impl FnMut()) -> Result<Cut> {
        let mut time = Time(i64::MIN);
        let mut logs = Vec::new();
        for path in paths {
            let (from, newest) = tried(path, newest)?.unzip();
            time = time.max(newest.unwrap_or(time));
            logs.push(Log { path: path.clone(), from });
        }
        let (mut before, mut is_lowered) = (None, false);
        for look in 0..looks_max {
            let mut found = Vec::new();
            for log in &logs {
                found.push(tried(&log.path, |pinned| log.end(pinned, time))?);
            }
            let unsure = found.iter().filter_map(|end| end.unsure).min();
            if let Some(unsure) = unsure
                && look >= UNSURE_LOOKS_MAX
            {
                // Other cores may have steps that followed such an entry.
                (time, is_lowered) = (unsure.plus_ms(-1), true);
                before = None;
            } else if unsure.is_none() && before.as_ref() == Some(&found) {
                let ends = found.into_iter().map(|end| end.last).collect();
                return Ok(Cut { time, ends, is_lowered });
            } else {
                before = Some(found);
            }
            pause();
        }
        bail!(
            "the server goes on writing changes with times up to {}: its clock was set back. Try again after that time, \
             or stop the server and try again",
            time_text(time)
        )
    }

    /// Returns the last sequence of a core.
    pub(crate) fn end(&self, core: u16) -> u64 {
        self.ends.get(usize::from(core)).copied().unwrap_or(0)
    }

    /// Warns when changes were left out that may be part of what was answered.
    pub(crate) fn tell_if_lowered(&self) {
        if self.is_lowered {
            eprintln!(
                "scurry: the copy ends at {}: it is not known of a later change that it is committed, and other threads \
                 may have changes that followed it",
                time_text(self.time)
            );
        }
    }
}

impl Log {
    /// Returns the end of the log at a time.
    fn end(&self, pinned: &mut CoreFiles, time: Time) -> Result<LogEnd, RecoveryError> {
        let Some(log) = log_of(pinned) else { return Ok(LogEnd::default()) };
        let segments = pinned.segments();
        let oldest = segments.first().copied();
        // Where the segment is gone that had the end, so is the log before the cut, and the copy of it fails.
        let Some(from) = self.from.filter(|from| segments.contains(from)).or(oldest) else {
            return group_end(pinned, log, time);
        };
        let mut reader = LogReader::new(pinned, log, from)?.in_group();
        let mut last = from - 1;
        while let Some(frame) = reader.frame()?
            && frame.at() <= time
        {
            last = frame.next() - 1;
        }
        match reader.history() {
            Some(_) => group_end(pinned, log, time),
            None => Ok(LogEnd { last, unsure: None }),
        }
    }
}

/// Returns the segment with the newest frame of a log, and the time of that frame; None without a frame.
fn newest(pinned: &mut CoreFiles) -> Result<Option<(u64, Time)>, RecoveryError> {
    let Some(log) = log_of(pinned) else { return Ok(None) };
    for first in pinned.segments().into_iter().rev() {
        let mut reader = LogReader::new(pinned, log, first)?.in_group();
        let mut at = None;
        while let Some(frame) = reader.frame()? {
            at = Some(frame.at());
        }
        if let Some(at) = at {
            return Ok(Some((first, at)));
        }
    }
    Ok(None)
}

/// Returns the end of the log of a node of a group at a time.
fn group_end(pinned: &mut CoreFiles, log: LogId, time: Time) -> Result<LogEnd, RecoveryError> {
    if !pinned.list().is_ok_and(|names| names.iter().any(|name| name == BASE_NAME))
        && pinned.segments().is_empty()
    {
        return Ok(LogEnd::default());
    }
    let found = look_at_group(pinned, log, RequiredExtent::default())?;
    let snapshots = shown_by_snapshots(pinned, log).map_err(LogError::Directory)?;
    let committed = found.committed(&snapshots).sequence;
    let base = found.base.as_ref().map_or(0, |base| base.sequence.get());
    let before = found.entries.partition_point(|entry| entry.at <= time);
    let entries = &found.entries[..before];
    let unsure = entries.iter().find(|entry| entry.last > committed).map(|entry| entry.at);
    Ok(LogEnd { last: entries.last().map_or(base, |entry| entry.last.get()), unsure })
}

/// Reads the files of a core until that succeeds: a server may be writing or removing some.
fn tried<T: Default>(
    path: &Path,
    read: impl Fn(&mut CoreFiles) -> Result<T, RecoveryError>,
) -> Result<T> {
    let (mut tries, mut overtaken) = (0, 0);
    // A core without a directory is an error that is reported when its files are to be copied.
    while path.is_dir() {
        let mut pinned = CoreFiles::open(path)?;
        match read(&mut pinned) {
            Ok(found) => return Ok(found),
            Err(_) if pinned.is_overtaken() => overtaken += 1,
            Err(error) if tries == TRIES => bail!(
                "{} is damaged, and a copy would be: {error}. `scurry inspect {0}` shows all of it",
                path.display()
            ),
            Err(_) => tries += 1,
        }
        ensure_not_overtaken(overtaken, path)?;
    }
    Ok(T::default())
}

#[cfg(test)]
mod tests;
