//! Records that were gathered by key are applied as if they had come one by one.

use super::replay::{self, Replay, Sheaf};
use super::{Base, Progress, RecoveryError, Sink};
use crate::log_id::LogId;
use crate::{Config, KeyHasher, ReplayError, Shard, Step};
use scurry_codec::{Entry, FrameWriter, Framed, HashKey, Late, Record, read_frame, read_passed};
use scurry_ledger::{BucketNo, BucketTerms, Change, Name, Op, Posting, Status, Time, apply};
use std::collections::BTreeMap;

const LOG: LogId = LogId { id: 7, core: 0 };
const KEYS: u64 = 5;

/// The history of each key since all was cleared, in its order.
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

    fn restore(&mut self, _: &Entry<'_>) -> Result<(), ReplayError> {
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

/// A log of every kind of record on a few keys, and all cleared twice, in frames of some length.
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
    writer.take(&mut log);
    log
}

/// Replays a log without a second thread, and says how many records were taken.
fn replay(log: &[u8], base: &Base, sink: &mut impl Sink) -> Result<u64, RecoveryError> {
    let hasher = sink.hasher();
    let mut replay = Replay::new(&hasher, base, u64::MAX, Progress::default());
    let (mut outcome, mut hashes) = (Ok(()), Vec::new());
    let mut give = |mut sheaf: Sheaf| {
        if outcome.is_ok() {
            outcome = replay::apply(&mut sheaf, &mut hashes, sink);
        }
        Sheaf::default()
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
            match read_passed(record.expect("a record").bytes).expect("a record") {
                Late::Account { id, change, left } => {
                    let step = Step { sequence: 0, change, left };
                    one_by_one.replay_account(id, std::iter::once(step)).expect("it is taken");
                }
                Late::Other(record) => one_by_one.replay(&record).expect("it is taken"),
            }
        }
    });
    assert_eq!((one_by_one.keys.len(), one_by_one.clears), (usize::try_from(KEYS).unwrap_or(0), 2));
    let base = Base::default();
    let mut gathered = Seen::default();
    assert_eq!(replay(&log, &base, &mut gathered).expect("it is applied"), 3_002);
    assert_eq!(gathered, one_by_one);
}

/// Refuses one record.
struct Refusing(Vec<u8>);

impl Sink for Refusing {
    fn clear(&mut self) {}

    fn restore(&mut self, _: &Entry<'_>) -> Result<(), ReplayError> {
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
    writer.take(&mut log);
    let base = Base { is_snapshot: true, begun: 99, ..Base::default() };
    let error = replay(&log, &base, &mut Refusing(b"b".to_vec())).expect_err("it is refused");
    assert!(matches!(error, RecoveryError::Replay { sequence: 101, .. }), "{error}");
}

#[test]
fn a_change_that_leaves_another_balance_is_refused() {
    let name = |text| Name::new(text).expect("a name");
    let terms = BucketTerms { priority: 0, valid_from: Time(0), valid_to: None, floor: 0 };
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
        writer.take(&mut log);
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
    writer.take(&mut log);
    let mut replay = Replay::new(&hasher, &base, u64::MAX, Progress::default());
    let (mut taken, mut longest, mut before) = (0, 0, 0);
    let mut give = |sheaf: Sheaf| {
        // Once it has begun, one that waits gets the next after some records, not after many.
        longest = if before == 0 { 0 } else { longest.max(sheaf.read.records - before) };
        before = sheaf.read.records;
        taken += sheaf.len() as u64;
        Sheaf::default()
    };
    visit(&log, |frame| {
        replay.frame(frame, &mut give).expect("it is taken");
    });
    replay.finish(&mut give);
    assert_eq!(taken, 300_000);
    assert!(longest < 4_000, "{longest} records without a sheaf");
}
