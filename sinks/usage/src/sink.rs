//! The sink.

use crate::book::Book;
use crate::checkpoint;
use crate::record::UsageRecord;
use scurry_service::Position;
use scurry_ship::{Delivery, Form, Positions, Record, Sink, SinkError, StoreId};
use scurry_sink_files::{FileKind, FileSink, Layout};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Events after which a checkpoint is written, at least: so many are read again after a start, and after each failure.
const CHECKPOINT_EVENTS: usize = 10_000;

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

    /// Returns where the files continue: never before what they have, although events before that are read again.
    fn reached_by_files(&self, settled: &Positions) -> Positions {
        let mut reached = settled.clone();
        for delivered in self.delivered.iter().flat_map(Positions::iter) {
            let known = reached.next(delivered.thread);
            if known.is_none_or(|next| place(next) < place(delivered)) {
                reached.set(delivered);
            }
        }
        reached
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
            let is_delivered = self
                .delivered
                .as_ref()
                .and_then(|reached| reached.next(at.thread))
                .is_some_and(|next| place(of) < place(next));
            if is_delivered {
                continue;
            }
            let payload = serde_json::to_vec(&record).expect("a record has no fault of JSON");
            self.files.append(&Delivery { record: event, payload: &payload, at: of })?;
        }
        Ok(())
    }
}

fn place(at: Position) -> (u32, u64, u32) {
    (at.generation, at.sequence, at.index)
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
        self.files.flush(&self.reached_by_files(&settled))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const STORE: StoreId = StoreId(7);

    fn at(sequence: u64) -> Position {
        Position { generation: 1, thread: 0, sequence, index: 0 }
    }

    fn debit(sink: &mut UsageSink, sequence: u64) {
        let record = Record {
            id: at(sequence).to_string(),
            event: "debited".to_owned(),
            account: "alice".to_owned(),
            amount: Some(1),
            ..Record::default()
        };
        let delivery = Delivery { record: &record, payload: &[], at: at(sequence) };
        sink.append(&delivery).expect("there is room");
    }

    fn flush(sink: &mut UsageSink, next: u64) {
        let mut reached = Positions::none(STORE);
        reached.set(at(next));
        sink.flush(&reached).expect("there is room");
    }

    #[test]
    fn a_flush_while_events_are_read_again_leaves_no_files_with_the_same_range() {
        let directory = tempfile::tempdir().expect("a directory");
        let start = || UsageSink::new(directory.path().to_owned(), 1, None);
        let mut sink = start();
        sink.resume(STORE).expect("an empty directory");
        for sequence in 1..4 {
            debit(&mut sink, sequence);
            flush(&mut sink, sequence + 1);
        }
        drop(sink);

        let mut sink = start();
        let reached = sink.resume(STORE).expect("it goes on");
        assert_eq!(reached.next(0), Some(at(2)), "the first flush wrote the checkpoint");
        debit(&mut sink, 2);
        flush(&mut sink, 3);
        debit(&mut sink, 3);
        debit(&mut sink, 4);
        flush(&mut sink, 5);
        drop(sink);

        start().resume(STORE).expect("each file follows the one before it");
        let entries = fs::read_dir(directory.path()).expect("a directory");
        let names = entries.map(|entry| entry.expect("an entry").path());
        let files = names.filter(|path| path.to_string_lossy().ends_with(".0.jsonl"));
        let records = files.map(|path| fs::read_to_string(path).expect("text").lines().count());
        assert_eq!(records.sum::<usize>(), 4, "each debit has one record");
    }

    #[test]
    fn files_follow_each_other_although_some_events_make_no_record() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut sink = UsageSink::new(directory.path().to_owned(), 1, None);
        sink.resume(STORE).expect("an empty directory");
        debit(&mut sink, 1);
        for next in [2, 5] {
            flush(&mut sink, next);
        }
        debit(&mut sink, 5);
        flush(&mut sink, 6);
        let entries = fs::read_dir(directory.path()).expect("a directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into()).collect();
        names.retain(|name| name.ends_with(".0.jsonl"));
        names.sort();
        let [first, second] = names.as_slice() else { panic!("{names:?}") };
        assert!(first.contains("-00000000000000000001.0-00000000000000000002.0"), "{names:?}");
        assert!(second.contains("-00000000000000000002.0-00000000000000000006.0"), "{names:?}");
    }
}
