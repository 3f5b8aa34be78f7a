//! Tests of the log of a group's node: entries are appended, cut off for another leader, and written again, on a
//! machine that may stop at any operation. A reader must find the node's last entries, at least up to the last synced
//! one, and never an entry that was cut off.

use scurry_codec::{
    FrameWriter, Framed, Index, LogEntry, LogFormat, Seal, Sequence, Term, content_of, put_entry,
    read_frame,
};
use scurry_engine::{
    Commits, Config, Disk, Durability, Expiry, File, History, LogError, LogFollower, LogId,
    LogReader, LogWriter, RecoveryEnd, RecoveryError, ReplayError, RequiredExtent, Shard, checksum,
    recover, segment_of, survey_group,
};
use scurry_ledger::Time;
use scurry_model::Random;
use scurry_sim::{Crash, Faults, SimDisk, entries_of};

const LOG: LogId = LogId { id: 7, core: 0 };
const NOW: Time = Time(1_700_000_000_000);
/// The length of a segment, bytes. It is full after a few entries.
const SEGMENT_LEN: u64 = 900;
const SEEDS: u64 = 1_000;
const STEPS: usize = 60;

fn seal() -> Seal {
    Seal::new(checksum, LOG.id).in_format(LogFormat::Replicated)
}

/// An entry, as described by its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    term: Term,
    index: Index,
    first: u64,
    /// The sequence after the entry.
    next: u64,
    content: u32,
    chain: u32,
}

struct Node {
    disk: SimDisk,
    writer: LogWriter<SimDisk>,
    /// All entries that were appended and not cut off.
    entries: Vec<Entry>,
    /// The number of entries that are on the device.
    synced: usize,
    /// All entries before a cut that the machine did not complete; None if no such cut is pending.
    cutting: Option<Vec<Entry>>,
    term: Term,
    /// The number of committed entries. These are never cut off.
    committed: usize,
}

impl Node {
    fn new(seed: u64) -> Node {
        let disk = SimDisk::new(seed, Faults { room: true, ..Faults::default() });
        let writer = writer(&disk);
        Node {
            disk,
            writer,
            entries: vec![],
            synced: 0,
            cutting: None,
            term: Term(1),
            committed: 0,
        }
    }

    fn next(&self) -> (Index, u64, u32) {
        let start = (Index(1), 1, seal().chain_start());
        self.entries.last().map_or(start, |entry| {
            let place = place_of(entry, 0);
            (entry.index.next(), entry.next, place.next_chain(seal()))
        })
    }

    /// Appends a batch of entries, or a mark if `entries` is 0, and syncs it. If the machine stops in the meantime, an
    /// unknown part of the batch is written.
    fn write(&mut self, random: &mut Random, entries: usize) {
        let first = self.next().1;
        let synced = self.synced.checked_sub(1).map_or(0, |at| self.entries[at].next - 1);
        let mut batch = Vec::new();
        for _ in 0..entries {
            batch.extend_from_slice(&self.entry(random, synced));
        }
        // A mark: an empty frame with the place of the last entry.
        if entries == 0 {
            let Some(&last) = self.entries.last() else { return };
            let chain = self.next().2;
            let (mut frame, _) = sealed(FrameWriter::new(seal(), last.next));
            let content = content_of(seal(), &frame).expect("a frame");
            let place = LogEntry { chain, content, ..place_of(&last, self.committed) };
            assert!(put_entry(seal(), &mut frame, &place, Sequence(synced)));
            batch = frame;
        }
        let outcome =
            self.writer.write(Sequence(first), &mut batch).and_then(|()| self.writer.sync());
        match outcome {
            Ok(()) => self.synced = self.entries.len(),
            Err(why) => assert!(self.disk.is_off(), "{why}"),
        }
    }

    /// Adds an entry, and returns its frame.
    fn entry(&mut self, random: &mut Random, synced: u64) -> Vec<u8> {
        let (index, first, chain) = self.next();
        let mut writer = FrameWriter::new(seal(), first);
        for _ in 0..=random.below(3) {
            let value = vec![b'x'; random.below(60)];
            match random.below(8) {
                0 => writer.group(&value),
                _ => writer.value(&random.below(1 << 30).to_le_bytes(), None, &value),
            }
        }
        let (mut frame, next) = sealed(writer);
        let content = content_of(seal(), &frame).expect("a frame");
        let term = self.term;
        let place =
            LogEntry { term, index, committed: Index(self.committed as u64), chain, content };
        assert!(put_entry(seal(), &mut frame, &place, Sequence(synced)));
        self.entries.push(Entry { term, index, first, next, content, chain });
        frame
    }

    /// Cuts off all entries after the first `keep`, because another leader does not have them.
    fn cut(&mut self, keep: usize) {
        let cut_off = self.entries.clone();
        self.entries.truncate(keep);
        self.synced = self.synced.min(keep);
        let index = Index(keep as u64 + 1);
        // The machine has stopped: the next start finds the old entries or the remaining ones.
        if self.writer.truncate(index).is_err() {
            self.cutting = Some(cut_off);
        }
        self.term.0 += 1;
    }

    /// Ends the machine, starts it again, and checks the entries that a reader finds.
    fn restart(&mut self, crash: Crash) {
        self.disk.restart(crash);
        let mut disk = self.disk.clone();
        let mut reader = LogReader::new(&mut disk, LOG, 1).expect("the log begins at 1").in_group();
        let mut read: Vec<Entry> = Vec::new();
        let mut committed = Index(0);
        while let Some(frame) =
            reader.frame().unwrap_or_else(|why| panic!("{why}\n{}", self.disk.trace().tail()))
        {
            let place = *frame.entry().expect("a frame of a group's log");
            committed = committed.max(place.committed);
            if frame.count() > 0 {
                let LogEntry { term, index, content, chain, .. } = place;
                read.push(Entry {
                    term,
                    index,
                    first: frame.first(),
                    next: frame.next(),
                    content,
                    chain,
                });
            }
        }
        let history = reader.history();
        drop(reader);
        self.survey(&read, history, committed);
        assert!(read.len() >= self.synced, "{} of {} synced: {read:?}", read.len(), self.synced);
        // After a cut that was not complete, the reader may find the old entries or the remaining ones.
        let is_had = |had: &[Entry]| had.starts_with(&read);
        let is_old = self.cutting.take().is_some_and(|had| is_had(&had));
        assert!(is_old || is_had(&self.entries), "{read:#?}\nbeside {:#?}", self.entries);
        self.entries = read;
        self.synced = self.entries.len();
        self.writer = writer(&self.disk);
        let (_, _, chain) = self.next();
        let last = self.entries.last();
        let expected = last.map(|last| History { term: last.term, index: last.index, chain });
        // Without entries, the log may have a mark of an entry that was cut off.
        if last.is_some() {
            assert_eq!(history, expected);
        }
        self.term.0 += 1;
    }
}

impl Node {
    /// Checks that a start finds the same entries as the reader, leaves the log unchanged if it ends too early and is
    /// refused, and has nothing to cut the next time.
    fn survey(&self, read: &[Entry], history: Option<History>, committed: Index) {
        let next = read.last().map_or(1, |last| last.next);
        let least = |sequence| RequiredExtent { sequence, snapshot: false };
        let changes = self.disk.changes();
        let more = survey_group(&mut self.disk.clone(), LOG, least(next));
        assert!(
            matches!(&more, Err(RecoveryError::Lost { .. } | RecoveryError::Log(_))),
            "{next} is not there: {more:?}"
        );
        assert_eq!(self.disk.changes(), changes, "it was refused");
        // Twice, because a start must leave the log in a state in which the next one finds the same.
        for _ in 0..2 {
            let found = survey_group(&mut self.disk.clone(), LOG, least(next - 1));
            let found = found.expect("it is as the reader has found it");
            let entries = found.entries.iter().map(|entry| {
                let next = entry.last.next().get();
                (entry.term, entry.index, entry.first.get(), next, entry.content)
            });
            let expected = read
                .iter()
                .map(|entry| (entry.term, entry.index, entry.first, entry.next, entry.content));
            assert!(entries.eq(expected), "{:#?}\nbeside {read:#?}", found.entries);
            let chain = history.map_or(seal().chain_start(), |history| history.chain);
            assert_eq!(
                (found.next, found.chain, found.committed),
                (Sequence(next), chain, committed)
            );
        }
        let again = survey_group(&mut self.disk.clone(), LOG, least(next - 1));
        let cut = again.expect("as before").cut;
        assert!(cut.as_ref().is_none_or(|cut| cut.bytes == 0), "{cut:?}");
    }
}

/// Returns the frame of a writer, and the sequence after it.
fn sealed(mut writer: FrameWriter) -> (Vec<u8>, u64) {
    writer.seal(0, NOW);
    let next = writer.next();
    let mut frame = Vec::new();
    writer.take_sealed(&mut frame);
    (frame, next)
}

fn writer(disk: &SimDisk) -> LogWriter<SimDisk> {
    LogWriter::new(disk.clone(), LOG, SEGMENT_LEN).in_format(LogFormat::Replicated)
}

fn place_of(entry: &Entry, committed: usize) -> LogEntry {
    let Entry { term, index, content, chain, .. } = *entry;
    LogEntry { term, index, committed: Index(committed as u64), chain, content }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let mut node = Node::new(seed);
    for _ in 0..STEPS {
        if random.below(12) == 0 {
            node.disk.stop_after(random.below(20) as u64);
        }
        match random.below(16) {
            0..=11 => {
                let entries = 1 + random.below(4);
                node.write(&mut random, entries);
            }
            12 => node.write(&mut random, 0),
            13 => node.committed = node.committed.max(random.below(node.synced + 1)),
            14 if node.entries.len() > node.committed => {
                let keep = node.committed + random.below(node.entries.len() - node.committed);
                node.cut(keep);
            }
            _ => {
                let crash = random.pick(&[Crash::Process, Crash::Power]);
                node.restart(crash);
            }
        }
        if node.disk.is_off() {
            node.restart(Crash::Power);
        }
    }
}

#[test]
fn what_was_cut_off_never_comes_back_and_what_was_synced_is_there() {
    for seed in 0..SEEDS {
        if let Err(why) = std::panic::catch_unwind(|| run(seed)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(why);
        }
    }
}

/// A reader does not continue with a segment of the same node from another time, such as a restored file, although its
/// sequences and checksums are right.
#[test]
fn a_segment_of_another_history_is_not_gone_on_with() {
    let written = |filler: u8| {
        let disk = SimDisk::new(0, Faults::default());
        let mut node = Node { writer: writer(&disk), disk, ..Node::new(0) };
        while node.disk.contents().len() < 3 {
            let (index, first, chain) = node.next();
            let mut frames = FrameWriter::new(seal(), first);
            frames.value(b"key", None, &[filler; 200]);
            let (mut frame, next) = sealed(frames);
            let content = content_of(seal(), &frame).expect("a frame");
            let place = LogEntry { term: Term(1), index, committed: Index(0), chain, content };
            assert!(put_entry(seal(), &mut frame, &place, Sequence(0)));
            node.writer.write(Sequence(first), &mut frame).expect("room");
            node.writer.sync().expect("no faults");
            node.entries.push(Entry { term: Term(1), index, first, next, content, chain });
        }
        node
    };
    let (ours, mut other) = (written(b'a'), written(b'b'));
    let mut segments: Vec<String> =
        ours.disk.contents().into_iter().map(|(name, _)| name).collect();
    segments.retain(|name| segment_of(name).is_some());
    segments.sort_unstable();
    let [first, second, ..] = &segments[..] else { panic!("{segments:?}") };
    let bytes =
        ours.disk.contents().into_iter().find(|(name, _)| name == first).expect("it is there").1;
    let mut put_back = other.disk.create(first, 0).expect("no faults");
    put_back.write_at(0, &bytes).expect("no faults");
    let mut disk = other.disk.clone();
    let mut reader = LogReader::new(&mut disk, LOG, 1).expect("it begins at 1").in_group();
    while let Some(frame) = reader.frame().expect("nothing is proven of what follows") {
        assert!(frame.next() <= segment_of(second).expect("a segment"), "{frame:?}");
    }
    assert_eq!(reader.cut().map(|cut| cut.file.clone()), Some(second.clone()));
}

/// Recovery reads committed entries without a write, even while entries are appended after them and cut off. It gives
/// the same state as a follower that has applied the entries one by one.
#[test]
fn what_is_committed_is_read_while_the_log_is_written_and_cut_behind_it() {
    let mut cuts = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut node = Node::new(seed);
        for _ in 0..4 + random.below(12) {
            let entries = random.below(4);
            node.write(&mut random, entries);
        }
        node.committed = random.below(node.entries.len() + 1);
        let last = node.committed.checked_sub(1).map_or(0, |at| node.entries[at].next - 1);
        let mut follower = Shard::new(Config::default());
        follower.keep_journal_in(LOG, LogFormat::Replicated, 1);
        let mut disk = node.disk.clone();
        let mut reader = LogReader::new(&mut disk, LOG, 1).expect("it begins at 1").in_group();
        while reader.next() <= last {
            let frame = reader.frame().expect("it is sound").expect("it is there");
            follower.apply_frame(&frame).expect("it follows");
        }
        assert_eq!(follower.sequence(), last);

        let recover_to = |disk: &SimDisk, last, progress: &mut dyn FnMut()| {
            let (mut shard, until) = (Shard::new(Config::default()), RecoveryEnd::Committed(last));
            let found = recover(&mut disk.clone(), LOG, until, &mut shard, |_| progress());
            found.map(|found| (found.next - 1, entries_of(&shard, NOW)))
        };
        let expected = (last, entries_of(&follower, NOW));
        let quiet = node.disk.fork();
        let changes = quiet.changes();
        assert_eq!(recover_to(&quiet, last, &mut || ()).expect("it is there"), expected);
        let end = node.next().1;
        let more = recover_to(&quiet, end, &mut || ());
        assert!(
            matches!(more, Err(RecoveryError::Lost { .. } | RecoveryError::Log(_))),
            "{more:?}"
        );
        assert_eq!(quiet.changes(), changes);

        let disk = node.disk.clone();
        let busy = recover_to(&disk, last, &mut || {
            if random.below(3) == 0 && node.entries.len() > node.committed {
                let keep = node.committed + random.below(node.entries.len() - node.committed);
                node.cut(keep);
                cuts += 1;
            } else {
                let entries = random.below(4);
                node.write(&mut random, entries);
            }
        });
        assert_eq!(busy.expect("it is there"), expected, "seed {seed}");
    }
    assert!(cuts > 100, "{cuts} cuts");
}

/// A node that sends entries which are no longer in memory reads them from the disk as they are now, even if its reader
/// has read ahead before they were written, or has read entries that were cut off since.
#[test]
fn entries_are_read_from_the_disk_while_the_log_is_written_and_cut() {
    let (mut read, mut cut) = (0, 0);
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let mut node = Node::new(seed);
        let mut reader = LogFollower::new(node.disk.clone(), LOG);
        for _ in 0..40 {
            match random.below(8) {
                0..=2 => {
                    let entries = random.below(4);
                    node.write(&mut random, entries);
                }
                3 => node.committed = node.committed.max(random.below(node.synced + 1)),
                4 if node.entries.len() > node.committed => {
                    let keep = node.committed + random.below(node.entries.len() - node.committed);
                    node.cut(keep);
                    cut += 1;
                }
                // A leader also reads entries that are not committed.
                5 if node.synced > 0 => {
                    let sequence = node.entries[random.below(node.synced)].first;
                    assert!(reader.seek(sequence).expect("it is sound"));
                    let frame = reader.raw().expect("it is sound").expect("it is there");
                    assert!(!frame.is_empty());
                }
                _ if node.committed > 0 => {
                    let from = random.below(node.committed);
                    let committed = &node.entries[from..node.committed];
                    let last = committed[committed.len() - 1].next - 1;
                    let len_max = 1 + random.below(900);
                    let frames = reader.frames(committed[0].first, last, len_max);
                    let frames = frames.expect("it is sound").expect("it is kept");
                    let before: usize = frames[..frames.len() - 1].iter().map(Vec::len).sum();
                    assert!(before < len_max);
                    let is_all = frames.len() == committed.len();
                    let len: usize = frames.iter().map(Vec::len).sum();
                    assert!(is_all || len >= len_max, "{} of {}", frames.len(), committed.len());
                    for (frame, entry) in frames.iter().zip(committed) {
                        assert_eq!(entry_of(frame), *entry, "seed {seed}");
                    }
                    read += frames.len();
                    if let Some(next) = committed.get(frames.len()) {
                        let frame = reader.raw().expect("it is sound").expect("it is there");
                        assert_eq!(entry_of(frame), *next, "seed {seed}");
                    }
                }
                _ => {}
            }
        }
    }
    assert!(read > 4_000 && cut > 1_000, "{read} read, {cut} cuts");
}

/// A reader looks again at the bytes that it has read ahead after the end, once more was written.
#[test]
fn a_reader_at_the_end_goes_on_when_there_is_more() {
    let mut random = Random::new(0);
    let mut node = Node::new(0);
    let mut reader = LogFollower::new(node.disk.clone(), LOG);
    node.write(&mut random, 1);
    assert!(reader.seek(1).expect("it is sound"));
    for _ in 0..100 {
        let last = node.entries.len() - 1;
        let frame = reader.raw().expect("it is sound").expect("it is there");
        assert_eq!(entry_of(frame), node.entries[last]);
        // Too early: the next frame does not exist yet.
        reader.raw().expect_err("nothing is there");
        node.write(&mut random, 1);
    }
    assert!(node.disk.contents().len() > 3, "some segments");
}

/// Returns the entry of a frame.
fn entry_of(frame: &[u8]) -> Entry {
    let Framed::Frame(frame) = read_frame(seal(), frame) else { panic!("{frame:?}") };
    let LogEntry { term, index, content, chain, .. } = *frame.entry().expect("an entry");
    Entry { term, index, first: frame.first(), next: frame.next(), content, chain }
}

/// The log of a store without a group is refused as a node's log.
#[test]
fn the_log_of_a_store_without_a_group_is_refused_in_words() {
    let disk = SimDisk::new(0, Faults::default());
    let mut single = Shard::new(Config::default());
    single.keep_journal(LOG, 1);
    let key = single.key(b"key");
    single.set(NOW, key, b"value", Expiry::Never).expect("room");
    let mut commits = Commits::new(Durability::Fsync, 0);
    let mut batch = commits.batch(&mut single, NOW).expect("a record");
    let mut writer = LogWriter::new(disk.clone(), LOG, SEGMENT_LEN);
    batch.run(&mut writer).expect("no faults");
    let changes = disk.changes();
    let refused = survey_group(&mut disk.clone(), LOG, RequiredExtent::default())
        .expect_err("it is no node's");
    assert!(refused.to_string().contains("files were mixed"), "{refused}");
    assert_eq!(disk.changes(), changes);
}

/// A server without a group refuses a node's log: it would serve entries that the group may cut off.
#[test]
fn a_log_of_a_node_is_refused_where_there_is_no_group() {
    let mut node = Node::new(0);
    node.write(&mut Random::new(0), 1);
    let mut reader = LogReader::new(&mut node.disk, LOG, 1).expect("it begins at 1");
    let refused = reader.frame().map(|frame| frame.is_some());
    assert!(matches!(refused, Err(LogError::Replicated { .. })), "{refused:?}");
}

/// A log that begins with a later entry than the first, or with another chain, is not a node's whole log.
#[test]
fn a_log_without_its_beginning_is_refused_in_words() {
    let disk = SimDisk::new(0, Faults::default());
    let mut frames = FrameWriter::new(seal(), 1);
    frames.value(b"key", None, b"value");
    let (mut frame, _) = sealed(frames);
    let content = content_of(seal(), &frame).expect("a frame");
    for (index, chain) in [(Index(5), seal().chain_start()), (Index(1), 4_711)] {
        let place = LogEntry { term: Term(1), index, committed: Index(0), chain, content };
        assert!(put_entry(seal(), &mut frame, &place, Sequence(0)));
        writer(&disk).write(Sequence(1), &mut frame).expect("room");
        let changes = disk.changes();
        let refused = survey_group(&mut disk.clone(), LOG, RequiredExtent::default());
        let refused = refused.expect_err("it is no beginning").to_string();
        assert!(refused.contains(&format!("begins with entry {}", index.get())), "{refused}");
        assert!(refused.contains("join again"), "{refused}");
        assert_eq!(disk.changes(), changes);
    }
}

/// A frame is applied only if it is the next one.
#[test]
fn a_frame_is_applied_once_and_in_its_turn() {
    let mut frames = FrameWriter::new(Seal::new(checksum, LOG.id), 1);
    let mut all = Vec::new();
    for value in [b"one", b"two"] {
        frames.value(b"key", None, value);
        frames.append(b"key", b"!");
        frames.seal(0, NOW);
    }
    frames.take_sealed(&mut all);
    let seal = Seal::new(checksum, LOG.id);
    let frame_at = |from: usize| match read_frame(seal, &all[from..]) {
        Framed::Frame(frame) => frame,
        other => panic!("{other:?}"),
    };
    let first = frame_at(0);
    let second = frame_at(first.len());
    let mut shard = Shard::new(Config::default());
    shard.keep_journal(LOG, 1);
    let wanted = |outcome, number| match outcome {
        Err((at, ReplayError::Order { wanted })) => assert_eq!((at, wanted), number),
        other => panic!("{other:?}"),
    };
    wanted(shard.apply_frame(&second), (3, 1));
    assert_eq!((shard.len(), shard.sequence()), (0, 0));
    shard.apply_frame(&first).expect("its turn");
    wanted(shard.apply_frame(&first), (1, 3));
    shard.apply_frame(&second).expect("its turn");
    assert_eq!(shard.sequence(), 4);
    let key = shard.key(b"key");
    let value = shard.value(NOW, key).expect("a value").expect("it is there");
    assert_eq!(value.bytes, b"two!");
    let journal = shard.journal().expect("it is kept");
    assert_eq!((journal.next(), journal.is_empty(), journal.latest()), (5, true, NOW));
}

/// A journal with records cannot follow another log: a sequence would be used twice.
#[test]
fn a_journal_with_a_record_follows_nobody() {
    let mut shard = Shard::new(Config::default());
    shard.keep_journal_in(LOG, LogFormat::Replicated, 1);
    let key = shard.key(b"key");
    shard.set(NOW, key, b"value", Expiry::Never).expect("room");
    let follow = std::panic::AssertUnwindSafe(|| shard.follow_to(9, NOW));
    let panic = std::panic::catch_unwind(follow).expect_err("it has a record");
    let words = panic.downcast_ref::<&str>().expect("words");
    assert!(words.contains("follows others while it has written nothing"), "{words}");
}
