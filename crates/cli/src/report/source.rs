//! Where the events of a report come from: a backup or data directory, or files that `scurry ship files` wrote.

use super::answer::Value;
use super::coverage::Coverage;
use super::period::Period;
use super::shipped_files::{SeeEvent, ShippedFiles};
use crate::ship::BackupEvents;
use anyhow::Result;
use clap::Args;
use scurry_ledger::Time;
use scurry_service::{EventId, Position};
use scurry_ship::{Record, StoreId};
use std::path::PathBuf;

/// Options of the source.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct SourceOptions {
    /// Read a backup, or the data directory of a server, which may run, and ask no server
    #[arg(long, value_name = "DIR")]
    pub(crate) backup: Option<PathBuf>,

    /// Read the files that `scurry ship files` wrote to this directory: JSON lines, Protobuf or Parquet
    #[arg(long, value_name = "DIR")]
    pub(crate) files: Option<PathBuf>,
}

/// Events of a store.
pub(crate) enum EventSource {
    /// Those that a log keeps.
    Backup(BackupEvents),
    /// Those that were shipped.
    Files(ShippedFiles),
}

impl SourceOptions {
    /// Opens the source.
    pub(crate) fn open(&self) -> Result<EventSource> {
        match (&self.backup, &self.files) {
            (Some(path), _) => Ok(EventSource::Backup(BackupEvents::open(path)?)),
            (None, Some(path)) => Ok(EventSource::Files(ShippedFiles::open(path)?)),
            (None, None) => anyhow::bail!("give --backup or --files"),
        }
    }
}

impl EventSource {
    /// Calls `see` with each event, in the order of each thread, and returns what is known of them. From a log it reads
    /// events of these names only, of all if there is none, and may skip those before `since`.
    pub(crate) fn each(
        &self,
        names: &[&'static str],
        since: Option<i64>,
        see: &mut dyn FnMut(&Record) -> Result<()>,
    ) -> Result<Coverage> {
        let mut commit = Commit { at: None, events: Vec::new() };
        let mut coverage = Coverage::of_store(self.store().to_string());
        match self {
            EventSource::Backup(backup) => {
                let store = coverage.store.clone();
                for thread in 0..backup.threads() {
                    let kept = backup.kept(thread)?;
                    let kept_from = kept.from.map(|time| time.0);
                    coverage.begin_thread(thread, kept.is_whole, kept_from);
                    let last = backup.each(thread, since.map(Time), names, &mut |event| {
                        let at = match event.id {
                            EventId::At(at) | EventId::Crossing { at, .. } => at,
                            EventId::Missed { to, .. } => to,
                        };
                        let record = Record::of_event(&store, event);
                        coverage.see(at, &record);
                        commit.add(at, record, see)
                    })?;
                    coverage.last = coverage.last.max(last.map(|time| time.0));
                }
            }
            EventSource::Files(files) => {
                coverage.compare_versions();
                for (begin, is_whole) in files.begins() {
                    coverage.begin_thread(begin.thread, is_whole, None);
                }
                let each: SeeEvent<'_> = &mut |at, record| {
                    coverage.see(at, &record);
                    commit.add(at, record, see)
                };
                files.each(each)?;
                files.parts_remark().into_iter().for_each(|remark| coverage.remark(remark));
            }
        }
        commit.pass_on(see)?;
        Ok(coverage)
    }

    fn store(&self) -> StoreId {
        match self {
            EventSource::Backup(backup) => StoreId(backup.store()),
            EventSource::Files(files) => files.store(),
        }
    }
}

/// Names of events that a reader of movements needs: the last one has name and unit of a bucket that a commit removes.
pub(crate) fn with_removals(names: &[&'static str]) -> Vec<&'static str> {
    names.iter().copied().chain(["bucket-removed", "loaded", "cleared"]).collect()
}

/// Returns what every report says of itself: its name, the store, and the period.
pub(crate) fn about(
    report: &'static str,
    coverage: &Coverage,
    period: &Period,
) -> Vec<(&'static str, Value)> {
    let zone = match period.zone.named() {
        Some(zone) => zone.name(),
        None => "UTC",
    };
    vec![
        ("report", Value::Text(report.to_owned())),
        ("store", Value::Text(coverage.store.clone())),
        ("from", Value::of_time(period.from)),
        ("to", Value::of_time(period.to)),
        ("zone", Value::Text(zone.to_owned())),
        ("last_event", Value::of_time(coverage.last)),
    ]
}

/// The events of one commit. Movements of a bucket that the commit removes get its name and unit from its end.
struct Commit {
    /// Generation, thread and sequence.
    at: Option<(u32, u16, u64)>,
    events: Vec<Record>,
}

impl Commit {
    fn add(
        &mut self,
        at: Position,
        record: Record,
        see: &mut dyn FnMut(&Record) -> Result<()>,
    ) -> Result<()> {
        let at = Some((at.generation, at.thread, at.sequence));
        if self.at != at {
            self.pass_on(see)?;
            self.at = at;
        }
        self.events.push(record);
        Ok(())
    }

    fn pass_on(&mut self, see: &mut dyn FnMut(&Record) -> Result<()>) -> Result<()> {
        let is_removal = |event: &&Record| event.event == "bucket-removed";
        let removed: Vec<Record> = self.events.iter().filter(is_removal).cloned().collect();
        for mut event in self.events.drain(..) {
            let has_no_unit = event.unit.as_ref().is_none_or(String::is_empty);
            if has_no_unit && event.bucket_no.is_some() {
                let found = removed.iter().find(|of| of.bucket_no == event.bucket_no);
                if let Some(found) = found {
                    (event.bucket, event.unit) = (found.bucket.clone(), found.unit.clone());
                }
            }
            see(&event)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_movement_of_a_removed_bucket_has_its_unit() {
        let event = |name: &str, unit: &str, bucket_no| Record {
            event: name.to_owned(),
            unit: Some(unit.to_owned()),
            bucket_no: Some(bucket_no),
            ..Record::default()
        };
        let at = |sequence| Position { generation: 1, thread: 0, sequence, index: 0 };
        let mut seen = Vec::new();
        let mut see = |record: &Record| {
            seen.push((record.event.clone(), record.unit.clone().unwrap_or_default()));
            Ok(())
        };
        let mut commit = Commit { at: None, events: Vec::new() };
        for (sequence, event) in [
            (1, event("settled", "", 3)),
            (1, event("settled", "cent", 4)),
            (1, event("bucket-removed", "octet", 3)),
            (2, event("settled", "", 3)),
        ] {
            commit.add(at(sequence), event, &mut see).expect("taken");
        }
        commit.pass_on(&mut see).expect("taken");
        let units: Vec<&str> = seen.iter().map(|(_, unit)| unit.as_str()).collect();
        assert_eq!(units, ["octet", "cent", "octet", ""]);
    }
}
