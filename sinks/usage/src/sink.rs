//! The sink.

use crate::book::Book;
use crate::checkpoint;
use crate::record::UsageRecord;
use scurry_service::Position;
use scurry_ship::{Delivery, Form, Positions, Record, Sink, SinkError, StoreId};
use scurry_sink_files::{FileKind, FileSink, Layout};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Events after which a checkpoint is written, at least: so many are read again after a start.
const CHECKPOINT_EVENTS: usize = 100_000;

/// Sums events to usage records, in files of a directory.
pub struct UsageSink {
    path: PathBuf,
    files: FileSink,
    period_ms: Option<i64>,
    books: BTreeMap<u16, Book>,
    /// Positions up to which the files have the records: what ends before them was delivered.
    delivered: Option<Positions>,
    has_checkpoint: bool,
    /// Events since the last checkpoint.
    events: usize,
}

impl UsageSink {
    /// Returns a sink for this directory. With a period, in ms, open sessions have a record at the end of each.
    pub fn new(path: PathBuf, flush_len: usize, period_ms: Option<i64>) -> UsageSink {
        let layout = Layout::Payloads(Form::Json);
        let files = FileSink::new(path.clone(), layout, flush_len).of_kind(FileKind("usage"));
        let books = BTreeMap::new();
        UsageSink {
            path,
            files,
            period_ms,
            books,
            delivered: None,
            has_checkpoint: false,
            events: 0,
        }
    }

    /// Passes records to the files, except those that the files have.
    fn put(
        &mut self,
        at: Position,
        records: Vec<UsageRecord>,
        event: &Record,
    ) -> Result<(), SinkError> {
        for record in records {
            let of = Position::parse(record.id.as_bytes()).unwrap_or(at);
            let is_delivered =
                self.delivered.as_ref().and_then(|reached| reached.next(at.thread)).is_some_and(
                    |next| {
                        let place = |at: Position| (at.generation, at.sequence, at.index);
                        place(of) < place(next)
                    },
                );
            if is_delivered {
                continue;
            }
            let payload = serde_json::to_vec(&record).expect("a record has no fault of JSON");
            self.files.append(&Delivery { record: event, payload: &payload, at: of })?;
        }
        Ok(())
    }
}

impl Sink for UsageSink {
    fn resume(&mut self, store: StoreId) -> Result<Positions, SinkError> {
        let delivered = self.files.resume(store)?;
        let known = checkpoint::read(&self.path, store, self.period_ms)?;
        self.has_checkpoint = known.is_some();
        let (positions, books) = match known {
            Some(known) => known,
            None => (Positions::none(store), BTreeMap::new()),
        };
        self.books = books;
        self.delivered = Some(delivered);
        self.events = 0;
        Ok(positions)
    }

    fn append(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError> {
        let Delivery { record: event, at, .. } = *delivery;
        self.events += 1;
        let book = self.books.entry(at.thread).or_insert_with(|| Book::new(self.period_ms));
        let mut records = Vec::new();
        book.read(at, event, &mut |record| records.push(record));
        self.put(at, records, event)
    }

    fn flush(&mut self, reached: &Positions) -> Result<(), SinkError> {
        let mut settled = Positions::none(reached.store());
        let nothing = Record::default();
        for next in reached.iter() {
            let Some(book) = self.books.get_mut(&next.thread) else {
                settled.set(next);
                continue;
            };
            let mut records = Vec::new();
            settled.set(book.settle_before(next, &mut |record| records.push(record)));
            self.put(next, records, &nothing)?;
        }
        self.files.flush(&settled)?;
        let open: usize = self.books.values().map(|book| book.open.len()).sum();
        if !self.has_checkpoint || self.events >= CHECKPOINT_EVENTS.max(4 * open) {
            checkpoint::write(&self.path, &settled, self.period_ms, &self.books).map_err(
                |error| SinkError::Unavailable(format!("{}: {error}", self.path.display())),
            )?;
            (self.has_checkpoint, self.events) = (true, 0);
        }
        Ok(())
    }

    fn flush_len(&self) -> usize {
        self.files.flush_len()
    }
}
