//! The sink.

use crate::directory::fault;
use crate::{Directory, EventTable, FileKind, FileName, Lines};
use scurry_service::Position;
use scurry_ship::{Delivery, Form, Positions, Sink, SinkError, StoreId};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// Writes one file.
pub trait FileWriter: Send {
    /// Adds an event.
    fn write(&mut self, delivery: &Delivery<'_>) -> io::Result<()>;

    /// Writes what is left, and returns the file, which is not synced. It gets this name.
    fn finish(self: Box<Self>, name: &FileName) -> io::Result<File>;
}

/// What the files contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Payloads one after the other.
    Payloads(Form),
    /// A table of Parquet with a column for each field of an event.
    Parquet,
}

/// Ships events to files of a directory.
pub struct FileSink {
    path: PathBuf,
    layout: Layout,
    kind: FileKind,
    flush_len: usize,
    directory: Option<Directory>,
    reached: Option<Positions>,
    /// Where the events of threads begin of which there is no file, by thread.
    begins: BTreeMap<u16, Position>,
    /// Files that are not complete, by thread.
    open: BTreeMap<u16, OpenFile>,
}

struct OpenFile {
    name: FileName,
    writer: Box<dyn FileWriter>,
}

const EVENTS: FileKind = FileKind("events");

impl FileSink {
    /// Returns a sink for this directory. A file is complete when it has this many bytes of payload, or at the time of
    /// the next flush.
    pub fn new(path: PathBuf, layout: Layout, flush_len: usize) -> FileSink {
        FileSink {
            path,
            layout,
            kind: EVENTS,
            flush_len,
            directory: None,
            reached: None,
            begins: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// Gives the files names that begin with another word.
    pub fn of_kind(self, kind: FileKind) -> FileSink {
        FileSink { kind, ..self }
    }

    fn fault(&self, error: &io::Error) -> SinkError {
        fault(&self.path, error)
    }

    /// Begins the file of a thread, at the position that is reached, or where the thread's events begin, or at this one if
    /// those are of an earlier log.
    fn begin(&self, at: Position) -> io::Result<OpenFile> {
        let (directory, reached) = (self.directory(), self.reached());
        let known = reached.next(at.thread).or_else(|| self.begins.get(&at.thread).copied());
        let from = known.filter(|known| known.generation == at.generation).unwrap_or(at);
        let extension = match self.layout {
            Layout::Payloads(form) => Lines::extension(form),
            Layout::Parquet => EventTable::EXTENSION,
        };
        let extension = extension.to_owned();
        let name = FileName { kind: self.kind, store: reached.store(), from, to: from, extension };
        let file = directory.begin(&name)?;
        let writer: Box<dyn FileWriter> = match self.layout {
            Layout::Payloads(form) => Box::new(Lines::begin(file, form)),
            Layout::Parquet => Box::new(EventTable::begin(file)?),
        };
        Ok(OpenFile { name, writer })
    }

    /// Writes a file without events, whose range ends here.
    fn complete_empty(&self, next: Position) -> io::Result<()> {
        let OpenFile { name, writer } = self.begin(next)?;
        self.directory().complete(&writer.finish(&name)?, &name, &name)
    }

    fn directory(&self) -> &Directory {
        self.directory.as_ref().expect("the sink was resumed")
    }

    fn reached(&self) -> &Positions {
        self.reached.as_ref().expect("the sink was resumed")
    }

    fn complete(&mut self, reached: &Positions) -> io::Result<()> {
        let open = std::mem::take(&mut self.open);
        let has_file: Vec<u16> = open.keys().copied().collect();
        for (thread, OpenFile { name, writer }) in open {
            let to = reached.next(thread).unwrap_or(name.to);
            let complete = FileName { to, ..name.clone() };
            let file = writer.finish(&complete)?;
            self.directory().complete(&file, &name, &complete)?;
        }
        // A thread without a file has one from now on: where reading began is known after a restart.
        for next in reached.iter().filter(|next| self.reached().next(next.thread).is_none()) {
            if has_file.contains(&next.thread) {
                continue;
            }
            self.complete_empty(next)?;
        }
        self.directory().sync()
    }
}

impl Sink for FileSink {
    fn resume(&mut self, store: StoreId) -> Result<Positions, SinkError> {
        self.open.clear();
        self.begins.clear();
        // The lock of an earlier attempt is given back first.
        self.directory = None;
        let directory = Directory::open(&self.path, self.kind)?;
        let reached = directory.reached(store)?;
        self.directory = Some(directory);
        self.reached = Some(reached.clone());
        Ok(reached)
    }

    fn begin_thread(&mut self, begin: Position) {
        self.begins.insert(begin.thread, begin);
    }

    fn append(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError> {
        let at = delivery.at;
        if !self.open.contains_key(&at.thread) {
            let open = self.begin(at).map_err(|error| self.fault(&error))?;
            self.open.insert(at.thread, open);
        }
        let open = self.open.get_mut(&at.thread).expect("it was just opened");
        open.writer.write(delivery).map_err(|error| fault(&self.path, &error))
    }

    fn flush(&mut self, reached: &Positions) -> Result<(), SinkError> {
        let has_file: Vec<u16> = self.open.keys().copied().collect();
        self.complete(reached).map_err(|error| self.fault(&error))?;
        let known = self.reached.as_mut().expect("the sink was resumed");
        for next in reached.iter() {
            // Without a file nothing says that this was reached: the next file of the thread begins where the last one ends.
            let is_new = known.next(next.thread).is_none_or(|at| at.generation != next.generation);
            if is_new || has_file.contains(&next.thread) {
                known.set(next);
            }
        }
        Ok(())
    }

    fn flush_part(&mut self, _: &Positions) -> Result<(), SinkError> {
        // One file has all of a state: its name is the position from which events follow.
        Ok(())
    }

    fn flush_len(&self) -> usize {
        self.flush_len
    }
}
