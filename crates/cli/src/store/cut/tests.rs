//! Cuts of logs that go on while their ends are found, and the copies that end there.

use super::{Cut, LOOKS_MAX, UNSURE_LOOKS_MAX};
use crate::store::{CopiedCore, CoreSource, Progress, Target, copy_core, surveyed};
use anyhow::Result;
use scurry_codec::{FrameWriter, LogEntry, LogFormat, Seal, content_of, put_entry};
use scurry_disk::{Directory, Manifest, Store};
use scurry_engine::{
    Commits, Config, Durability, Expiry, Index, LogId, LogRetention, LogWriter, Piece,
    RequiredExtent, Sequence, Shard, Snapshot, SnapshotWriter, Term, forget,
};
use scurry_ledger::Time;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Holds few frames, so that logs have several segments.
const SEGMENT_LEN: u64 = 300;
const MANIFEST: Manifest = Manifest { store: 7, generation: 1, threads: 2, restored: 0 };

/// A core as a server has it.
struct Core {
    directory: PathBuf,
    log: LogId,
    shard: Shard,
    commits: Commits,
    writer: LogWriter<Directory>,
}

impl Core {
    fn new(place: &Path, core: u16) -> Core {
        let path = place.join("data");
        let store = Store::open(&path).expect("opened");
        let (log, directory) = (MANIFEST.log(core), store.core(1, core).expect("made"));
        let mut shard = Shard::new(Config::default());
        shard.keep_journal(log, 1);
        Core {
            directory: path.join(format!("g1/{core}")),
            log,
            shard,
            commits: Commits::new(Durability::Fsync, 0),
            writer: LogWriter::new(directory, log, SEGMENT_LEN),
        }
    }

    /// Writes a frame of one record.
    fn write(&mut self, at: i64) {
        let key = format!("key-{at}");
        let key = self.shard.key(key.as_bytes());
        self.shard.set(Time(at), key, b"value", Expiry::Never).expect("set");
        let mut batch = self.commits.batch(&mut self.shard, Time(at)).expect("something to write");
        let outcome = batch.run(&mut self.writer);
        self.commits.done(batch, outcome).expect("written");
    }

    /// Writes a snapshot, and removes what is no longer needed.
    fn snapshot(&mut self, at: i64) {
        let open = || Directory::open(&self.directory).expect("it is there");
        let mut snapshot = Snapshot::begin(&mut self.shard, self.log, Time(at));
        let mut writer = SnapshotWriter::new(open(), snapshot.begun()).expect("a new file");
        while let Some(piece) = snapshot.piece(&mut self.shard, Vec::new(), Time(at)) {
            let (Piece::Bytes(bytes) | Piece::Last { bytes, .. }) = piece else {
                panic!("nothing clears it")
            };
            writer.write(&bytes).expect("written");
        }
        writer.sync().expect("synced");
        let oldest = writer.publish().expect("published");
        forget(&mut open(), self.log, Sequence(oldest), LogRetention::Nothing, Time(at))
            .expect("forgotten");
    }
}

/// A log of a node of a group, of entries with one record.
struct GroupLog {
    directory: PathBuf,
    seal: Seal,
    writer: LogWriter<Directory>,
    last: u64,
    chain: u32,
}

impl GroupLog {
    fn new(place: &Path, core: u16) -> GroupLog {
        let path = place.join("data");
        let store = Store::open(&path).expect("opened");
        let (log, directory) = (MANIFEST.log(core), store.core(1, core).expect("made"));
        let seal = log.seal_in(LogFormat::Replicated);
        GroupLog {
            directory: path.join(format!("g1/{core}")),
            seal,
            writer: LogWriter::new(directory, log, SEGMENT_LEN).in_format(LogFormat::Replicated),
            last: 0,
            chain: seal.chain_start(),
        }
    }

    /// Writes an entry that calls the entries up to an index committed.
    fn write(&mut self, at: i64, committed: u64) {
        let mut frames = FrameWriter::new(self.seal, self.last + 1);
        frames.value(b"key", None, b"value");
        frames.seal(0, Time(at));
        let mut frame = Vec::new();
        frames.take_sealed(&mut frame);
        let content = content_of(self.seal, &frame).expect("a frame");
        let entry = LogEntry {
            term: Term(1),
            index: Index(self.last + 1),
            committed: Index(committed),
            chain: self.chain,
            content,
        };
        put_entry(self.seal, &mut frame, &entry, Sequence(self.last));
        self.writer.write(Sequence(self.last + 1), &mut frame).expect("written");
        self.writer.sync().expect("synced");
        (self.last, self.chain) = (self.last + 1, entry.next_chain(self.seal));
    }
}

fn place() -> TempDir {
    TempDir::new().expect("a place for files")
}

/// Copies a core up to a sequence, and returns the copy's directory too.
fn copied(place: &Path, directory: &Path, core: u16, end: u64) -> Result<(CopiedCore, PathBuf)> {
    let target = Target::open(&place.join(format!("copy-{core}")), &place.join("data"), MANIFEST)?;
    let source = CoreSource { path: directory, least: RequiredExtent::default(), end: Some(end) };
    let copied = copy_core(source, &target, (1, core), &mut Progress::new())?;
    Ok((copied, target.core_path(core)))
}

#[test]
fn logs_end_at_the_time_of_the_newest_record_that_was_there_first() {
    let place = place();
    let [mut first, mut second] = [0, 1].map(|core| Core::new(place.path(), core));
    first.write(10);
    first.write(20);
    second.write(15);
    let paths = [first.directory.clone(), second.directory.clone()];
    let mut pauses = 0;
    let cut = Cut::of_logs(&paths, LOOKS_MAX, || {
        pauses += 1;
        if pauses == 1 {
            // It began the turn before the look.
            first.write(20);
            (0..9).for_each(|_| second.write(21));
        }
        first.write(21);
    });
    let cut = cut.expect("it is found");
    assert_eq!((cut.time, &cut.ends[..], cut.is_lowered), (Time(20), &[3, 1][..], false));
    assert_eq!(pauses, 2, "the ends were the same once");
    for (core, end) in [(0, 3), (1, 1)] {
        let path = &paths[usize::from(core)];
        let (copied, copy) = copied(place.path(), path, core, cut.end(core)).expect("copied");
        assert_eq!((copied.last, &copied.notes[..]), (end, &[][..]));
        let (_, survey) =
            surveyed(&copy, RequiredExtent::default(), &mut Progress::new(), "").expect("read");
        assert!(survey.is_sound() && survey.last() == end, "{survey:?}");
    }
}

#[test]
fn a_log_that_goes_on_at_one_time_has_no_cut() {
    let place = place();
    let [mut first, mut second] = [0, 1].map(|core| Core::new(place.path(), core));
    first.write(20);
    second.write(10);
    let paths = [first.directory.clone(), second.directory.clone()];
    let (first, mut looks) = (RefCell::new(first), 0);
    // As after the clock was set back to 5.
    let refused = Cut::of_logs(&paths, 30, || {
        looks += 1;
        first.borrow_mut().write(20);
    });
    assert!(refused.expect_err("no end").to_string().contains("its clock was set back"));
    assert_eq!(looks, 30);
}

#[test]
fn a_snapshot_after_the_cut_is_left_out() {
    let place = place();
    let mut core = Core::new(place.path(), 0);
    core.write(1);
    core.snapshot(1);
    (2..9).for_each(|at| core.write(at));
    core.snapshot(8);
    core.write(9);
    let (copied, copy) = copied(place.path(), &core.directory, 0, 5).expect("copied");
    assert_eq!(copied.last, 5);
    let [note] = &copied.notes[..] else { panic!("{:?}", copied.notes) };
    assert!(note.contains("snapshot-00000000000000000008 was left out: it is newer"), "{note}");
    let (_, survey) =
        surveyed(&copy, RequiredExtent::default(), &mut Progress::new(), "").expect("read");
    assert!(survey.is_sound() && survey.last() == 5, "{survey:?}");
    assert_eq!(survey.snapshots.iter().map(|one| one.begun).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_log_that_is_gone_before_the_cut_is_not_copied() {
    let place = place();
    let mut core = Core::new(place.path(), 0);
    for at in 1..40 {
        core.write(at);
        if at % 10 == 0 {
            core.snapshot(at);
        }
    }
    // The snapshots show 20 and 30.
    let refused = copied(place.path(), &core.directory, 0, 15).expect_err("nothing is left");
    let refused = refused.to_string();
    assert!(refused.contains("has removed the log before them: try again"), "{refused}");
}

#[test]
fn what_may_be_uncommitted_ends_every_log() {
    let place = place();
    let [mut first, mut second] = [0, 1].map(|core| GroupLog::new(place.path(), core));
    first.write(10, 0);
    first.write(20, 1);
    second.write(11, 0);
    second.write(30, 1);
    second.write(31, 2);
    let paths = [first.directory, second.directory.clone()];
    let mut looks = 0;
    let cut = Cut::of_logs(&paths, LOOKS_MAX, || looks += 1).expect("it is found");
    assert_eq!((cut.time, &cut.ends[..], cut.is_lowered), (Time(19), &[1, 1][..], true));
    assert!(looks > UNSURE_LOOKS_MAX, "it waits for a mark: {looks}");
    let (copied, copy) = copied(place.path(), &second.directory, 1, cut.end(1)).expect("copied");
    // The entry that called it committed is left out.
    assert_eq!((copied.last, copied.committed), (1, Some(1)));
    let (_, survey) =
        surveyed(&copy, RequiredExtent::default(), &mut Progress::new(), "").expect("read");
    assert!(survey.is_sound() && survey.last() == 1, "{survey:?}");
}

#[test]
fn what_becomes_committed_while_the_cut_is_found_is_copied() {
    let place = place();
    let [mut first, mut second] = [0, 1].map(|core| GroupLog::new(place.path(), core));
    first.write(10, 0);
    second.write(11, 0);
    let paths = [first.directory.clone(), second.directory.clone()];
    let mut looks = 0;
    let cut = Cut::of_logs(&paths, LOOKS_MAX, || {
        looks += 1;
        if looks == 3 {
            first.write(12, 1);
            second.write(12, 1);
        }
    });
    let cut = cut.expect("it is found");
    assert_eq!((cut.time, &cut.ends[..], cut.is_lowered), (Time(11), &[1, 1][..], false));
}
