//! Tests that records gathered by key are applied as if one by one in log order.

use super::chunks::Chunks;
use super::replay::{self, RecordBatch, Replay};
use super::{Base, Progress, RecoveryError, Sink};
use crate::log_id::LogId;
use crate::{
    Config, EntityPut, Expiry, KeyHasher, Outcome, Piece, ReplayError, Shard, Snapshot, Step,
};
use scurry_codec::{
    Chunked, DeferredRecord, FrameWriter, Framed, HashKey, Record, SnapshotEntry, checked_chunk,
    read_chunk, read_frame, read_raw_record,
};
use scurry_ledger::{
    BucketAttributes, BucketNo, BucketTerms, Change, Command, Create, ItemRequest, Name, NewBucket,
    Op, Posting, SessionRequest, Status, Time, apply,
};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

const LOG: LogId = LogId { id: 7, core: 0 };
const KEYS: u64 = 5;

/// The history of each key since the last clear, in order.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    keys: BTreeMap<Vec<u8>, Vec<String>>,
    clears: u32,
}

impl Seen {
    fn see(&mut self, key: &[u8], what: String) {
        self.keys.entry(key.to_vec()).or_default().push(what);
    }
}

impl Sink for Seen {
    fn clear(&mut self) {
        unreachable!("no snapshot is given up");
    }

    fn restore(&mut self, _: &SnapshotEntry<'_>) -> Result<(), ReplayError> {
        unreachable!("there is no snapshot");
    }

    fn replay(&mut self, record: &Record<'_>) -> Result<(), ReplayError> {
        match record.key() {
            Some(key) => self.see(key, format!("{record:?}")),
            None => {
                self.keys.clear();
                self.clears += 1;
            }
        }
        Ok(())
    }

    fn replay_account<'r>(
        &mut self,
        id: &[u8],
        steps: impl Iterator<Item = Step<'r>>,
    ) -> Result<(), (u64, ReplayError)> {
        for step in steps {
            self.see(id, format!("{:?}", (step.change, step.left.collect::<Vec<_>>())));
        }
        Ok(())
    }

    fn hasher(&self) -> KeyHasher {
        KeyHasher::new(HashKey::known(3))
    }

    fn touch(&mut self, hashes: &[u64]) {
        assert!(hashes.len() <= 64);
    }
}

fn change(at: u64) -> Change {
    Change { at: Time(at.cast_signed()), ops: Vec::new() }
}

/// Builds a log with every kind of record on a few keys and two clears, in frames of some length.
fn log() -> Vec<u8> {
    let (mut writer, mut log) = (FrameWriter::new(LOG.seal(), 1), Vec::new());
    for number in 0..3_000_u64 {
        let key = format!("key:{}", number % KEYS);
        let (key, value) = (key.as_bytes(), number.to_string());
        let (value, expires) = (value.as_bytes(), (number % 3 == 0).then_some(Time(5)));
        match number % 8 {
            0 => writer.value(key, expires, value),
            1 => writer.append(key, value),
            2 => writer.expiry(key, expires),
            3 => writer.remove(key),
            4 => writer.entity(key, number, expires, value),
            5 => writer.tombstone(key, number, Time(number.cast_signed())),
            6 => writer.value(key, None, value),
            _ => writer.account(key, &change(number), None),
        }
        if number == 900 || number == 2_500 {
            writer.clear();
        }
        if number % 37 == 0 {
            writer.seal(0, Time(0));
        }
    }
    writer.seal(0, Time(0));
    writer.take_sealed(&mut log);
    log
}

/// Replays a log without a second thread, and returns the number of records applied.
fn replay(log: &[u8], base: &Base, sink: &mut impl Sink) -> Result<u64, RecoveryError> {
    let hasher = sink.hasher();
    let mut replay = Replay::new(&hasher, base, u64::MAX, Progress::default());
    let (mut outcome, mut hashes) = (Ok(()), Vec::new());
    let mut give = |mut sheaf: RecordBatch| {
        if outcome.is_ok() {
            outcome = replay::apply(&mut sheaf, &mut hashes, sink);
        }
        RecordBatch::default()
    };
    visit(log, |frame| replay.frame(frame, &mut give).expect("it is taken"));
    replay.finish(&mut give);
    outcome.map(|()| replay.read.records)
}

fn visit(log: &[u8], mut visit: impl FnMut(&scurry_codec::Frame<'_>)) {
    let mut rest = log;
    while !rest.is_empty() {
        let Framed::Frame(frame) = read_frame(LOG.seal(), rest) else { panic!("no frame") };
        visit(&frame);
        rest = &rest[frame.len()..];
    }
}

#[test]
fn each_key_sees_its_records_in_their_order() {
    let log = log();
    let mut one_by_one = Seen::default();
    visit(&log, |frame| {
        let mut records = frame.records();
        while let Some(record) = records.pass() {
            match read_raw_record(record.expect("a record").bytes).expect("a record") {
                DeferredRecord::Account { id, change, left } => {
                    let step = Step { sequence: 0, change, left };
                    one_by_one.replay_account(id, std::iter::once(step)).expect("it is taken");
                }
                DeferredRecord::Other(record) => one_by_one.replay(&record).expect("it is taken"),
            }
        }
    });
    assert_eq!((one_by_one.keys.len(), one_by_one.clears), (usize::try_from(KEYS).unwrap_or(0), 2));
    let base = Base::default();
    let mut gathered = Seen::default();
    assert_eq!(replay(&log, &base, &mut gathered).expect("it is applied"), 3_002);
    assert_eq!(gathered, one_by_one);
}

/// A sink that refuses one record.
struct Refusing(Vec<u8>);

impl Sink for Refusing {
    fn clear(&mut self) {}

    fn restore(&mut self, _: &SnapshotEntry<'_>) -> Result<(), ReplayError> {
        Ok(())
    }

    fn replay(&mut self, _: &Record<'_>) -> Result<(), ReplayError> {
        Ok(())
    }

    fn replay_account<'r>(
        &mut self,
        id: &[u8],
        mut steps: impl Iterator<Item = Step<'r>>,
    ) -> Result<(), (u64, ReplayError)> {
        match steps.next().filter(|_| id == self.0) {
            Some(step) => Err((step.sequence, ReplayError::WrongType("refused".to_owned()))),
            None => {
                steps.for_each(drop);
                Ok(())
            }
        }
    }

    fn hasher(&self) -> KeyHasher {
        KeyHasher::new(HashKey::known(3))
    }

    fn touch(&mut self, _: &[u64]) {}
}

#[test]
fn what_does_not_fit_is_named_by_its_sequence() {
    let mut writer = FrameWriter::new(LOG.seal(), 100);
    for key in ["a", "b", "c", "b", "b"] {
        writer.account(key.as_bytes(), &change(1), None);
    }
    writer.seal(0, Time(0));
    let mut log = Vec::new();
    writer.take_sealed(&mut log);
    let base = Base { is_snapshot: true, begun: 99, ..Base::default() };
    let error = replay(&log, &base, &mut Refusing(b"b".to_vec())).expect_err("it is refused");
    assert!(matches!(error, RecoveryError::Replay { sequence: 101, .. }), "{error}");
}

#[test]
fn a_change_that_leaves_another_balance_is_refused() {
    let name = |text| Name::new(text).expect("a name");
    let terms =
        BucketTerms { priority: 0, valid_from: Time(0), valid_to: None, floor: 0, mark: None };
    let ops = vec![
        Op::Create(Status::Active),
        Op::AddBucket { id: name(b"main"), unit: name(b"eur"), terms },
    ];
    let created = Change { at: Time(1), ops };
    let posting = Posting { bucket: BucketNo(0), amount: 5 };
    let credited = Change { at: Time(2), ops: vec![Op::Credit(posting)] };
    let mut account = None;
    apply(&mut account, &created);
    let before = account.clone();
    apply(&mut account, &credited);
    let right = account.clone().expect("an account");
    let mut wrong = [right.clone(), right.clone()];
    wrong[0].buckets[0].available = 6;
    wrong[1].buckets[0].held = 1;
    for (after, is_right) in [(&right, true), (&wrong[0], false), (&wrong[1], false)] {
        let mut writer = FrameWriter::new(LOG.seal(), 7);
        writer.account(b"a", &created, before.as_ref());
        writer.account(b"a", &credited, Some(after));
        writer.seal(0, Time(0));
        let mut log = Vec::new();
        writer.take_sealed(&mut log);
        let base = Base { is_snapshot: true, begun: 6, ..Base::default() };
        match replay(&log, &base, &mut Shard::new(Config::default())) {
            Ok(_) => assert!(is_right),
            Err(RecoveryError::Replay { sequence: 8, error: ReplayError::Balance { .. } }) => {
                assert!(!is_right);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn records_are_given_in_turn_and_never_many_at_once() {
    let hasher = KeyHasher::new(HashKey::known(3));
    let base = Base::default();
    let mut writer = FrameWriter::new(LOG.seal(), 1);
    for number in 0..300_000_u64 {
        writer.remove(&number.to_le_bytes());
        if number % 100 == 0 {
            writer.seal(0, Time(0));
        }
    }
    writer.seal(0, Time(0));
    let mut log = Vec::new();
    writer.take_sealed(&mut log);
    let mut replay = Replay::new(&hasher, &base, u64::MAX, Progress::default());
    let (mut taken, mut longest, mut before) = (0, 0, 0);
    let mut give = |sheaf: RecordBatch| {
        // After the first hand-over, the next one follows after a bounded number of records.
        longest = if before == 0 { 0 } else { longest.max(sheaf.read.records - before) };
        before = sheaf.read.records;
        taken += sheaf.len() as u64;
        RecordBatch::default()
    };
    visit(&log, |frame| {
        replay.frame(frame, &mut give).expect("it is taken");
    });
    replay.finish(&mut give);
    assert_eq!(taken, 300_000);
    assert!(longest < 4_000, "{longest} records without a sheaf");
}

const START: Time = Time(1_700_000_000_000);

/// Builds accounts, every third with sessions, some with an identity, some so long that they are kept in parts; and
/// values and entities, some of which expire.
fn shard_of_everything(config: &Config, keys: &[String]) -> Shard {
    let name = |text: &str| Name::new(text.as_bytes()).expect("a name");
    let mut shard = Shard::new(config.clone());
    shard.keep_journal(LOG, 1);
    for (amount, (number, key)) in (1_000_000..).zip(keys.iter().enumerate()) {
        let key = shard.key(key.as_bytes());
        if number % 7 == 5 {
            let expiry =
                if number % 2 == 0 { Expiry::Never } else { Expiry::At(Time(START.0 + 500)) };
            shard.set(START, key, b"value", expiry).expect("it is set");
            continue;
        }
        if number % 7 == 6 {
            shard.entity_put(START, key, b"entity", EntityPut::default()).expect("it is put");
            continue;
        }
        let unit = name(["octets", "cent"][number % 2]);
        let valid_to = (number % 5 == 0).then_some(Some(Time(START.0 + 90_000)));
        let attributes = BucketAttributes { valid_to, ..BucketAttributes::default() };
        let bucket = NewBucket { bucket: name("main"), unit, amount, attributes };
        let identity = number.to_string();
        let identities = [(name("msisdn"), identity.as_bytes())];
        let identities = if number % 11 == 0 { &identities[..] } else { &[] };
        let buckets = [bucket];
        let create = Create { identities, ..Create::active(&buckets) };
        let mut run = |command: &Command<'_>| {
            let outcome = shard.execute(START, key, command);
            assert!(matches!(outcome, Outcome::Answer { replayed: false, .. }), "{outcome:?}");
        };
        run(&Command::Create(create));
        let sessions = if number % 10 == 9 { 40 } else { number % 3 };
        for session in 0..sessions {
            let items =
                [ItemRequest { key: 1.into(), unit, used: None, requested: Some(10), min: None }];
            let session = format!("session-of-some-length-{session}");
            let session = session.as_bytes();
            run(&Command::Reserve(SessionRequest { session, items: &items, ..Default::default() }));
        }
    }
    shard
}

/// Returns the chunks of a snapshot, with their offsets.
fn chunks_of(shard: &mut Shard) -> Vec<(u64, Vec<u8>)> {
    let mut snapshot = Snapshot::begin(shard, LOG, START).with_chunks_of(2_000);
    let (mut chunks, mut offset) = (Vec::new(), 0);
    while let Some(piece) = snapshot.piece(shard, Vec::new(), START) {
        let (Piece::Bytes(bytes) | Piece::Last { bytes, .. }) = piece else { panic!("cleared") };
        // Pieces other than chunks, such as the header, are skipped.
        if let Chunked::Chunk(chunk) = read_chunk(LOG.seal(), &bytes) {
            chunks.push((offset, bytes[..chunk.len()].to_vec()));
        }
        offset += bytes.len() as u64;
    }
    chunks
}

fn restored_as_prepared(config: &Config, chunks: &[(u64, Vec<u8>)]) -> (Shard, Progress) {
    let (mut shard, mut read) = (Shard::new(config.clone()), Progress::default());
    let mut preparer = shard.preparer();
    let mut load = Chunks::default();
    for (number, (offset, chunk)) in chunks.iter().enumerate() {
        load.push(*offset, chunk, Some(&mut preparer));
        // Several chunks are restored together, and buffers are reused.
        if number % 3 == 2 || number + 1 == chunks.len() {
            assert!(load.restore(1, &mut shard, &mut read).is_ok());
        }
    }
    (shard, read)
}

#[test]
fn what_was_prepared_is_restored_as_what_was_not() {
    let config = Config { apart_len: 1_000, entity_index: true, ..Config::default() };
    let keys: Vec<String> = (0..1_000).map(|number| format!("key:{number}")).collect();
    let mut shard = shard_of_everything(&config, &keys);
    let chunks = chunks_of(&mut shard);
    assert!(chunks.len() > 50, "{}", chunks.len());
    let mut alone = Shard::new(config.clone());
    for (_, chunk) in &chunks {
        let chunk = checked_chunk(chunk).expect("it was written so");
        for entry in chunk.entries() {
            alone.restore(&entry.expect("it was written so")).expect("it has room");
        }
    }
    let (mut prepared, read) = restored_as_prepared(&config, &chunks);
    assert_eq!(read.entries, keys.len() as u64);
    let look = |shard: &mut Shard, now: Time| {
        let mut hasher = DefaultHasher::new();
        keys.iter().for_each(|key| shard.hash_state(now, shard.key(key.as_bytes()), &mut hasher));
        let mut found = 0;
        for (number, key) in keys.iter().enumerate() {
            let value = number.to_string();
            let kind = Name::new(b"msisdn").expect("a name");
            shard.find_accounts(kind, value.as_bytes(), 9, |id| {
                assert_eq!(id, key.as_bytes());
                found += 1;
            });
        }
        let mut totals = shard.totals().clone();
        totals.units.sort_by_key(|unit| unit.unit.as_bytes().to_vec());
        let memory = shard.stats().memory_bytes;
        (hasher.finish(), found, totals, shard.next_due(), memory, shard.len())
    };
    // Up to after the end of the sessions, of the buckets and of the values.
    for later in [0, 600, 100_000, 10_000_000] {
        let now = Time(START.0 + later);
        let shards = [&mut shard, &mut alone, &mut prepared].map(|shard| {
            while shard.tick(now) > 0 {}
            look(shard, now)
        });
        let [before, alone, prepared] = shards;
        assert_eq!(alone, prepared, "{later}");
        assert_eq!((before.0, before.1, &before.2), (alone.0, alone.1, &alone.2), "{later}");
    }
}
