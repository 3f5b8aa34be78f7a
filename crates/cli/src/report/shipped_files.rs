//! The files that `scurry ship files` wrote, read in the order of their events. Their names are ranges of positions, so
//! a missing file, files of two stores and the same events twice are noticed before anything is read.

use super::event_rows::record_of_row;
use crate::store::{Progress, count_text};
use anyhow::{Context, Result, bail, ensure};
use scurry_service::{EventId, Position};
use scurry_ship::{Record, StoreId, decode};
use scurry_sink_files::{FileKind, FileName};
use scurry_tables::ParquetRows;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

const EVENTS: FileKind = FileKind("events");
const USAGE: FileKind = FileKind("usage");
const PART: &str = ".part";
/// Longest event, bytes: DATA and all names of an event are far below it.
const EVENT_LEN_MAX: usize = 16 << 20;

/// What is done with an event, which is at this position.
pub(crate) type SeeEvent<'a> = &'a mut dyn FnMut(Position, Record) -> Result<()>;

/// Files of events of one store.
pub(crate) struct ShippedFiles {
    directory: PathBuf,
    store: StoreId,
    /// By generation, thread and position.
    files: Vec<FileName>,
    /// Files that are not complete.
    parts: usize,
}

impl ShippedFiles {
    /// Reads the names of a directory, and checks that they fit together.
    pub(crate) fn open(directory: &Path) -> Result<ShippedFiles> {
        let shown = directory.display();
        let entries = fs::read_dir(directory).with_context(|| format!("cannot read {shown}"))?;
        let (mut files, mut parts, mut has_usage) = (Vec::new(), 0, false);
        for entry in entries {
            let name = entry.with_context(|| format!("cannot read {shown}"))?.file_name();
            let name = name.to_string_lossy();
            if let Some(stem) = name.strip_suffix(PART) {
                parts += usize::from(FileName::parse(EVENTS, stem).is_some());
            } else if let Some(file) = FileName::parse(EVENTS, &name) {
                files.push(file);
            }
            has_usage |= FileName::parse(USAGE, &name).is_some();
        }
        let Some(store) = files.first().map(|file| file.store) else {
            let found = match (has_usage, parts) {
                (true, _) => "it has usage records: ship events into another directory, with",
                (false, 0) => "write some with",
                (false, _) => "its files are not complete yet (.part): wait for --flush-ms of",
            };
            bail!("{shown} has no files of events: {found} `scurry ship files DIR`");
        };
        if let Some(other) = files.iter().find(|file| file.store != store) {
            bail!(
                "{shown} has events of the stores {store} and {}: give a directory that has those of one",
                other.store
            );
        }
        files.sort_by_key(|file| {
            let order = |at: Position| (at.sequence, at.index);
            (file.to.generation, file.to.thread, order(file.from), order(file.to))
        });
        for pair in files.windows(2) {
            ensure_follows(&pair[0], &pair[1]).with_context(|| format!("{shown}"))?;
        }
        Ok(ShippedFiles { directory: directory.to_owned(), store, files, parts })
    }

    /// Returns the store.
    pub(crate) fn store(&self) -> StoreId {
        self.store
    }

    /// Returns a remark about files that are not complete.
    pub(crate) fn parts_remark(&self) -> Option<String> {
        (self.parts > 0).then(|| {
            format!(
                "{} not complete yet (.part), and their events are not in the report",
                match self.parts {
                    1 => "1 file is".to_owned(),
                    more => format!("{} are", count_text(more as u64, "file")),
                }
            )
        })
    }

    /// Returns the position at which the files of each thread begin, and whether the store's events begin there.
    pub(crate) fn begins(&self) -> Vec<(Position, bool)> {
        let mut begins: Vec<(Position, bool)> = Vec::new();
        let first = self.files.first().map_or(0, |file| file.from.generation);
        for FileName { from, .. } in &self.files {
            if begins.iter().any(|(begin, _)| begin.thread == from.thread) {
                continue;
            }
            // In the first generation the log starts where the store started. A thread of a later generation starts
            // where the threads before it end.
            let is_begin = (from.sequence, from.index) == (1, 0);
            let is_whole = is_begin && first == 1;
            begins.push((*from, is_whole));
        }
        begins
    }

    /// Calls `see` with each event.
    pub(crate) fn each(&self, see: SeeEvent<'_>) -> Result<()> {
        let mut bar = Progress::new();
        let len = |file: &FileName| fs::metadata(self.path(file)).map_or(0, |found| found.len());
        bar.begin("reading".to_owned(), self.files.iter().map(len).sum());
        for name in &self.files {
            let path = self.path(name);
            self.each_of_file(name, see).with_context(|| format!("{}", path.display()))?;
            bar.add(len(name));
        }
        bar.end();
        Ok(())
    }

    fn path(&self, name: &FileName) -> PathBuf {
        self.directory.join(name.to_string())
    }

    fn each_of_file(&self, name: &FileName, see: SeeEvent<'_>) -> Result<()> {
        let file = File::open(self.path(name)).context("it cannot be read")?;
        let mut last = None;
        let mut take = |record: Record| {
            let at = self.place(name, &record, last)?;
            last = Some((at.sequence, at.index));
            see(at, record)
        };
        match name.extension.as_str() {
            "jsonl" => each_line(BufReader::new(file), &mut take),
            "pb" => each_message(BufReader::with_capacity(1 << 16, file), &mut take),
            "parquet" => {
                let rows = ParquetRows::open(file).map_err(|error| damaged("", &error))?;
                for (number, row) in (1..).zip(rows) {
                    let of = || format!("row {number} ");
                    let row = row.map_err(|error| damaged(&of(), &error))?;
                    take(record_of_row(row).with_context(of)?)?;
                }
                Ok(())
            }
            other => bail!("no form of events has the ending .{other}: jsonl, pb and parquet have"),
        }
    }

    /// Returns the position of an event, which must be in the range of its file.
    fn place(
        &self,
        name: &FileName,
        record: &Record,
        last: Option<(u64, u32)>,
    ) -> Result<Position> {
        let Record { id, store, .. } = record;
        ensure!(
            *store == self.store.to_string(),
            "the event {id} is of the store {store}, and the file's name has {}",
            self.store
        );
        let at = match EventId::parse(id.as_bytes()) {
            Some(EventId::At(at)) => at,
            Some(EventId::Missed { to, .. }) => return Ok(to),
            Some(EventId::Crossing { .. }) | None => bail!("{id:?} is no id of an event"),
        };
        let order = |at: Position| (at.sequence, at.index);
        let is_in_range = (at.generation, at.thread) == (name.to.generation, name.to.thread)
            && order(name.from) <= order(at)
            && order(at) < order(name.to)
            && last.is_none_or(|last| last < order(at));
        ensure!(
            is_in_range,
            "the event {id} is not one of this file, or not in its order: the file was renamed or changed"
        );
        Ok(at)
    }
}

/// Checks that a file follows another one of its thread.
fn ensure_follows(before: &FileName, after: &FileName) -> Result<()> {
    let log = |file: &FileName| (file.to.generation, file.to.thread);
    if log(before) != log(after) || before.to == after.from {
        return Ok(());
    }
    let order = |at: Position| (at.sequence, at.index);
    ensure!(
        order(before.to) < order(after.from),
        "{before} and {after} have the same events: remove one of them"
    );
    bail!(
        "the file between {before} and {after} is missing: bring it back, or ship into another directory"
    )
}

fn damaged(what: &str, error: &dyn std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!(
        "{what}cannot be read: {error}. Remove the directory, and ship into another one"
    )
}

fn each_line(mut file: impl BufRead, take: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let most = EVENT_LEN_MAX as u64 + 1;
        file.by_ref().take(most).read_until(b'\n', &mut line).context("it cannot be read")?;
        let Some((end, text)) = line.split_last() else { break };
        if *end != b'\n' {
            return Err(damaged(&format!("line {number} "), &"it is cut off"));
        }
        let record: Record = serde_json::from_slice(text)
            .map_err(|error| damaged(&format!("line {number} "), &error))?;
        take(record)?;
    }
    Ok(())
}

fn each_message(mut file: impl BufRead, take: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
    let mut message = Vec::new();
    for number in 1_u64.. {
        if file.fill_buf().context("it cannot be read")?.is_empty() {
            break;
        }
        let what = format!("message {number} ");
        let mut len = 0_usize;
        for shift in (0..).step_by(7) {
            let mut byte = [0];
            file.read_exact(&mut byte).map_err(|error| damaged(&what, &error))?;
            len |= usize::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                break;
            }
            ensure!(shift < 21, damaged(&what, &"its length is none of an event"));
        }
        ensure!(len <= EVENT_LEN_MAX, damaged(&what, &"its length is none of an event"));
        message.resize(len, 0);
        file.read_exact(&mut message).map_err(|error| damaged(&what, &error))?;
        take(decode(&message).map_err(|error| damaged(&what, &error))?)?;
    }
    Ok(())
}
