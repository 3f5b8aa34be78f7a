//! Tests of the base of a log of a group's node: entries up to it are forgotten, and another log that begins after a
//! snapshot replaces this one, on a machine that may stop at any operation. A start must find all of the old log or
//! all of the new one, with the entries after its base that were on the device.

use scurry_codec::{
    FrameWriter, Index, LogEntry, LogFormat, Seal, Sequence, Term, content_of, put_entry,
};
use scurry_engine::{
    Disk, File, LogBase, LogError, LogId, LogRetention, LogWriter, RecoveryError, RequiredExtent,
    checksum, incoming_name, read_base, segment_of, snapshot_name, snapshot_of, survey_group,
};
use scurry_ledger::Time;
use scurry_model::Random;
use scurry_sim::{Crash, Faults, SimDisk};

const LOG: LogId = LogId { id: 7, core: 0 };
const NOW: Time = Time(1_700_000_000_000);
/// The length of a segment, bytes. It is full after a few entries.
const SEGMENT_LEN: u64 = 900;
const SEEDS: u64 = 1_000;
const STEPS: usize = 50;

fn seal() -> Seal {
    Seal::new(checksum, LOG.id).in_format(LogFormat::Replicated)
}

/// An entry, and the base of a log that begins after it.
type Entry = (LogEntry, LogBase);

struct Node {
    disk: SimDisk,
    writer: LogWriter<SimDisk>,
    base: LogBase,
    /// The entries after the base.
    entries: Vec<Entry>,
    synced: usize,
    term: Term,
    /// The base that was being written when the machine stopped, and whether it belongs to an exchange of the log.
    other: Option<(LogBase, bool)>,
    /// The number of exchanges that were completed at once, and the number that a start completed.
    exchanges: [usize; 2],
}

impl Node {
    fn new(seed: u64) -> Node {
        let disk = SimDisk::new(seed, Faults { room: true, ..Faults::default() });
        let base = LogBase { chain: seal().chain_start(), voters: vec![1], ..LogBase::default() };
        Node {
            writer: writer(&disk),
            disk,
            base,
            entries: vec![],
            synced: 0,
            term: Term(1),
            other: None,
            exchanges: [0; 2],
        }
    }

    fn end(&self) -> &LogBase {
        self.entries.last().map_or(&self.base, |(_, behind)| behind)
    }

    fn write(&mut self, random: &mut Random, entries: usize) {
        let (first, mut batch) = (self.end().sequence.next(), Vec::new());
        for _ in 0..entries {
            let end = self.end().clone();
            let mut writer = FrameWriter::new(seal(), end.sequence.next().get());
            for _ in 0..=random.below(3) {
                writer.value(b"key", None, &vec![b'x'; random.below(60)]);
            }
            writer.seal(0, NOW);
            let next = writer.next();
            let mut frame = Vec::new();
            writer.take_sealed(&mut frame);
            let content = content_of(seal(), &frame).expect("a frame");
            let (term, index) = (self.term, end.index.next());
            let place = LogEntry { term, index, committed: Index(0), chain: end.chain, content };
            assert!(put_entry(seal(), &mut frame, &place, Sequence(0)));
            let (sequence, chain) = (Sequence(next - 1), place.next_chain(seal()));
            let behind = LogBase { index, term, sequence, at: NOW.0, chain, ..end };
            self.entries.push((place, behind));
            batch.extend(frame);
        }
        let outcome = self.writer.write(first, &mut batch).and_then(|()| self.writer.sync());
        match outcome {
            Ok(()) => self.synced = self.entries.len(),
            Err(why) => assert!(self.disk.is_off(), "{why}"),
        }
    }

    /// Forgets all entries up to a random synced one.
    fn forget(&mut self, random: &mut Random) {
        let Some(last) = self.synced.checked_sub(1) else { return };
        let last = random.below(last + 1);
        let base = self.entries[last].1.clone();
        match self.writer.forget(&base, LogRetention::Nothing) {
            Ok(()) => self.now_at(base),
            Err(why) => {
                assert!(self.disk.is_off(), "{why}");
                self.other = Some((base, false));
            }
        }
    }

    /// Moves the base, and drops the entries up to it.
    fn now_at(&mut self, base: LogBase) {
        let gone = usize::try_from(base.index.get() - self.base.index.get()).expect("few");
        self.entries.drain(..gone);
        self.synced -= gone;
        self.base = base;
    }

    /// Exchanges the log for another, which begins after a snapshot of another node.
    fn exchange(&mut self, random: &mut Random) {
        let ahead = 1 + random.below(30) as u64;
        let end = self.end();
        let base = LogBase {
            index: Index(end.index.get() + ahead),
            term: Term(self.term.get() + 1),
            // Uncommitted entries may have sequences that other entries use again.
            sequence: Sequence(self.base.sequence.get() + ahead),
            at: NOW.0,
            chain: random.below(1 << 30) as u32,
            voters: vec![1, 2],
            learners: vec![3],
        };
        let outcome = (|| {
            let name = incoming_name(base.sequence.get(), base.sequence.get());
            let mut file = self.disk.create(&name, 0)?;
            file.write_at(0, &base.sequence.get().to_le_bytes())?;
            file.sync()?;
            self.disk.sync_dir()?;
            self.writer.begin_at(&base)
        })();
        match outcome {
            Ok(()) => {
                self.begun(base);
                self.exchanges[0] += 1;
            }
            Err(why) => {
                assert!(self.disk.is_off(), "{why}");
                self.other = Some((base, true));
            }
        }
    }

    fn begun(&mut self, base: LogBase) {
        (self.entries, self.synced) = (vec![], 0);
        self.term = base.term;
        self.base = base;
        self.has_snapshot();
    }

    /// Checks that the snapshot with which the log begins is there, and no file of the former log.
    fn has_snapshot(&self) {
        let contents = self.disk.contents();
        let snapshots: Vec<_> =
            contents.iter().filter(|(name, _)| snapshot_of(name).is_some()).collect();
        let [(name, bytes)] = &snapshots[..] else { panic!("{snapshots:?}") };
        assert_eq!(*name, snapshot_name(self.base.sequence.get()));
        assert_eq!(bytes[..8], self.base.sequence.get().to_le_bytes());
        assert!(!contents.iter().any(|(name, _)| segment_of(name).is_some()), "a segment");
    }

    fn restart(&mut self, crash: Crash) {
        self.disk.restart(crash);
        let mut disk = self.disk.clone();
        let found = survey_group(&mut disk, LOG, RequiredExtent::default());
        let found = found.unwrap_or_else(|why| panic!("{why}\n{}", self.disk.trace().tail()));
        let base = found.base.clone().unwrap_or_else(|| LogBase {
            chain: seal().chain_start(),
            voters: vec![1],
            ..LogBase::default()
        });
        // The device has the old base, or the base that was being written.
        match self.other.take() {
            Some((other, true)) if base == other => {
                self.begun(other);
                self.exchanges[1] += 1;
            }
            Some((other, false)) if base == other => self.now_at(other),
            _ => assert_eq!(base, self.base),
        }
        assert!(!self.disk.contents().iter().any(|(name, _)| name.starts_with("incoming")));
        let read = found.entries.len();
        assert!(self.synced <= read && read <= self.entries.len(), "{read} of {}", self.synced);
        for (entry, (place, behind)) in found.entries.iter().zip(&self.entries) {
            let expected = (place.term, place.index, place.content, behind.sequence);
            assert_eq!((entry.term, entry.index, entry.content, entry.last), expected);
        }
        self.entries.truncate(read);
        self.synced = read;
        assert_eq!((found.chain, found.next), (self.end().chain, self.end().sequence.next()));
        let again = survey_group(&mut disk, LOG, RequiredExtent::default()).expect("as before");
        assert_eq!((again.base, again.entries.len()), (found.base, read));
        let least = RequiredExtent { sequence: self.end().sequence.next().get(), snapshot: false };
        let more = survey_group(&mut disk, LOG, least);
        assert!(
            matches!(&more, Err(RecoveryError::Lost { .. } | RecoveryError::Log(_))),
            "{more:?}"
        );
        self.writer = writer(&self.disk);
        self.term.0 += 1;
    }
}

fn writer(disk: &SimDisk) -> LogWriter<SimDisk> {
    LogWriter::new(disk.clone(), LOG, SEGMENT_LEN).in_format(LogFormat::Replicated)
}

fn run(seed: u64) -> [usize; 2] {
    let mut random = Random::new(seed);
    let mut node = Node::new(seed);
    for _ in 0..STEPS {
        if random.below(6) == 0 {
            node.disk.stop_after(random.below(20) as u64);
        }
        match random.below(16) {
            0..=9 => {
                let entries = 1 + random.below(4);
                node.write(&mut random, entries);
            }
            10..=12 => node.forget(&mut random),
            13 => node.exchange(&mut random),
            _ => {
                let crash = random.pick(&[Crash::Process, Crash::Power]);
                node.restart(crash);
            }
        }
        if node.disk.is_off() {
            node.restart(Crash::Power);
        }
    }
    node.exchanges
}

#[test]
fn a_log_begins_at_one_base_or_at_the_other() {
    let (mut ended, mut begun) = (0, 0);
    for seed in 0..SEEDS {
        match std::panic::catch_unwind(|| run(seed)) {
            Ok([here, there]) => (ended, begun) = (ended + here, begun + there),
            Err(why) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(why);
            }
        }
    }
    assert!(ended > 1_000 && begun > 100, "{ended} exchanges, {begun} ended by a start");
}

/// A base that does not fit the entries on the device is refused without removing a file, if more was promised than
/// the base.
#[test]
fn a_base_that_is_put_back_removes_nothing_that_was_promised() {
    let mut node = Node::new(0);
    let mut random = Random::new(0);
    node.write(&mut random, 4);
    let base = LogBase {
        chain: 9,
        sequence: Sequence(2),
        index: Index(1),
        term: Term(1),
        ..node.base.clone()
    };
    scurry_engine::write_base(&mut node.disk, LOG, &base).expect("no faults");
    let least = RequiredExtent { sequence: node.end().sequence.get(), snapshot: false };
    let (files, found) = (node.disk.contents(), survey_group(&mut node.disk.clone(), LOG, least));
    assert!(matches!(found, Err(RecoveryError::Lost { .. })), "{found:?}");
    assert_eq!(node.disk.contents(), files);
    let mut damaged = node.disk.open("base").expect("it is there");
    damaged.write_at(30, &[0xff]).expect("no faults");
    let found = read_base(&mut node.disk, LOG);
    assert!(matches!(found, Err(LogError::Header { .. })), "{found:?}");
}
