//! Lists beside naive ones: every change, whoever reads them again, and what is refused.

use scurry_codec::{
    ChunkWriter, Chunked, Entry, Framed, LIST_LEN_MAX, Positions, Record, Seal, read_chunk,
    read_frame,
};
use scurry_engine::{
    Config, End, Expiry, KeyKind, LogId, ReplayError, Shard, WriteError, WrongType, checksum,
};
use scurry_ledger::Time;
use std::collections::VecDeque;

const NOW: Time = Time(1_700_000_000_000);
const LOG: LogId = LogId { id: 7, core: 0 };
const STEPS: usize = 4_000;

/// A generator with a seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).expect("64 bits") % bound
    }

    fn element(&mut self) -> Vec<u8> {
        let byte = b'a' + u8::try_from(self.below(3)).expect("small");
        vec![byte; [0, 1, 1, 1, 2, 127, 128, 300][self.below(8)]]
    }
}

fn shown(shard: &Shard, now: Time, key: &[u8]) -> Option<Vec<Vec<u8>>> {
    let list = shard.list(now, shard.key(key)).expect("a list or nothing")?;
    let elements: Vec<Vec<u8>> = list.iter().map(<[u8]>::to_vec).collect();
    assert_eq!(list.len(), elements.len());
    Some(elements)
}

fn push(shard: &mut Shard, key: &[u8], elements: &[&[u8]]) -> Result<usize, WriteError> {
    shard.list_push(NOW, shard.key(key), End::Tail, elements)
}

/// The bytes of what the journal has.
fn frames(shard: &mut Shard) -> Vec<u8> {
    let mut log = Vec::new();
    let journal = shard.journal().expect("a journal");
    journal.seal(0, NOW);
    journal.take(&mut log);
    log
}

/// A shard that has replayed them.
fn replayed(log: &[u8]) -> Shard {
    let mut shard = Shard::new(Config::default());
    let Framed::Frame(frame) = read_frame(Seal::new(checksum, LOG.id), log) else {
        panic!("a frame");
    };
    let mut records = frame.records();
    while let Some(record) = records.next() {
        shard.replay(&record.expect("a record")).expect("it is applied");
    }
    shard
}

/// A shard that has restored what this one puts into a snapshot.
fn restored(shard: &Shard) -> Shard {
    let mut writer = ChunkWriter::new(Seal::new(checksum, LOG.id));
    assert_eq!(shard.copy_chunk(0, usize::MAX, &mut writer), 0);
    writer.seal(Positions { from: 0, to: 0 }, 0);
    let mut bytes = Vec::new();
    writer.take(&mut bytes);
    let Chunked::Chunk(chunk) = read_chunk(Seal::new(checksum, LOG.id), &bytes) else {
        panic!("a chunk");
    };
    let mut other = Shard::new(Config::default());
    for entry in chunk.entries() {
        other.restore(&entry.expect("an entry")).expect("it is taken");
    }
    other
}

/// One change of a list and of the naive one.
fn step(shard: &mut Shard, naive: &mut VecDeque<Vec<u8>>, random: &mut Random) {
    let (key, len) = (shard.key(b"list"), naive.len());
    let end = [End::Head, End::Tail][random.below(2)];
    match random.below(8) {
        0..=3 => {
            let elements: Vec<Vec<u8>> = (0..=random.below(4)).map(|_| random.element()).collect();
            let slices: Vec<&[u8]> = elements.iter().map(Vec::as_slice).collect();
            let pushed = shard.list_push(NOW, key, end, &slices);
            match end {
                End::Head => elements.into_iter().for_each(|one| naive.push_front(one)),
                End::Tail => elements.into_iter().for_each(|one| naive.push_back(one)),
            }
            assert_eq!(pushed, Ok(naive.len()));
        }
        4 => {
            let (at, element) = (random.below(len + 2), random.element());
            assert_eq!(shard.list_set(NOW, key, at, &element), Ok(at < len));
            if let Some(one) = naive.get_mut(at) {
                *one = element;
            }
        }
        5 => {
            let (element, max) = (random.element(), [1, 2, usize::MAX][random.below(3)]);
            let removed = shard.list_remove(NOW, key, &element, end, max);
            let mut gone = 0;
            let mut stays = |one: &Vec<u8>| {
                let goes = *one == element && gone < max;
                gone += usize::from(goes);
                !goes
            };
            match end {
                End::Head => naive.retain(stays),
                End::Tail => {
                    let kept: Vec<Vec<u8>> = naive.drain(..).rev().filter(&mut stays).collect();
                    naive.extend(kept.into_iter().rev());
                }
            }
            assert_eq!(removed, Ok(gone));
        }
        _ => {
            // Now and then nearly everything goes.
            let wide = if random.below(10) == 0 { len + 1 } else { 3.min(len) + 1 };
            let (start, end) = (random.below(wide), len.saturating_sub(random.below(wide)));
            let end = end.max(start);
            shard.list_keep(NOW, key, start..end).expect("nothing refuses it");
            naive.truncate(end);
            naive.drain(..start.min(naive.len()));
        }
    }
}

#[test]
fn a_list_is_what_a_naive_one_is_also_from_the_log_and_from_a_snapshot() {
    for seed in 1..=6_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (mut shard, mut naive) = (Shard::new(Config::default()), VecDeque::new());
        shard.keep_journal(LOG, 1);
        let (mut empty, mut longest) = (0, 0);
        for _ in 0..STEPS / 6 {
            step(&mut shard, &mut naive, &mut random);
            let expected = (!naive.is_empty()).then(|| Vec::from(naive.clone()));
            assert_eq!(shown(&shard, NOW, b"list"), expected, "seed {seed}");
            assert_eq!(shard.len(), usize::from(expected.is_some()), "an emptied list is gone");
            (empty, longest) = (empty + usize::from(expected.is_none()), longest.max(naive.len()));
        }
        assert!(empty > 0 && longest > 10, "seed {seed}: {empty}, {longest}");
        push(&mut shard, b"list", &[b"last"]).expect("there is room");
        let expected = shown(&shard, NOW, b"list");
        assert_eq!(shown(&replayed(&frames(&mut shard)), NOW, b"list"), expected);
        let copy = restored(&shard);
        assert_eq!(shown(&copy, NOW, b"list"), expected);
        assert_eq!(copy.kind(NOW, copy.key(b"list")), Some(KeyKind::List));
        assert_eq!((copy.stats().values, shard.stats().values), (1, 1));
    }
}

#[test]
fn an_emptied_list_stays_away() {
    let mut shard = Shard::new(Config::default());
    shard.keep_journal(LOG, 1);
    let key = shard.key(b"list");
    push(&mut shard, b"list", &[b"a", b"b", b"a"]).expect("there is room");
    assert_eq!(shard.list_remove(NOW, key, b"a", End::Tail, 5), Ok(2));
    shard.list_keep(NOW, key, 1..1).expect("nothing refuses it");
    // Of nothing there is nothing to tell.
    let told = shard.sequence();
    assert_eq!(shard.list_remove(NOW, key, b"a", End::Head, 5), Ok(0));
    shard.list_keep(NOW, key, 0..0).expect("nothing refuses it");
    assert_eq!(push(&mut shard, b"list", &[]), Ok(0));
    assert_eq!((shard.sequence(), shard.len(), shard.stats().memory.values), (told, 0, 0));
    assert_eq!(replayed(&frames(&mut shard)).len(), 0);
}

#[test]
fn the_expiry_of_a_list_stays_moves_and_comes() {
    let mut shard = Shard::new(Config::default());
    shard.keep_journal(LOG, 1);
    let (key, later) = (shard.key(b"list"), Time(NOW.0 + 1_000));
    push(&mut shard, b"list", &[b"a", b"b"]).expect("there is room");
    assert_eq!(shard.plain_expiry(NOW, key), Ok(Some(None)));
    assert_eq!(shard.set_expiry(NOW, key, Some(later)), Ok(true));
    push(&mut shard, b"list", &[b"c"]).expect("there is room");
    shard.list_keep(NOW, key, 1..3).expect("nothing refuses it");
    assert_eq!(shard.list_set(NOW, key, 0, b"B"), Ok(true));
    for shard in [replayed(&frames(&mut shard)), restored(&shard)] {
        assert_eq!(shard.plain_expiry(NOW, key), Ok(Some(Some(later))));
        assert_eq!(shown(&shard, NOW, b"list"), Some(vec![b"B".to_vec(), b"c".to_vec()]));
        assert_eq!(shown(&shard, later, b"list"), None);
    }
    // A push after its end begins a list without an expiry, also for who reads the log.
    assert_eq!(shard.list_push(later, key, End::Head, &[b"new"]), Ok(1));
    let again = replayed(&frames(&mut shard));
    assert_eq!(again.plain_expiry(later, key), Ok(Some(None)));
    assert_eq!(shown(&again, later, b"list"), Some(vec![b"new".to_vec()]));
    // A timer takes it away when nobody looks.
    assert_eq!(shard.set_expiry(later, key, Some(Time(later.0 + 50))), Ok(true));
    while shard.tick(Time(later.0 + 100)) > 0 {}
    assert_eq!((shard.len(), shard.stats().timers), (0, 0));
}

#[test]
fn beyond_the_bound_nothing_changes() {
    let mut shard = Shard::new(Config::default());
    let key = shard.key(b"list");
    let most = vec![b'x'; LIST_LEN_MAX - 5];
    assert_eq!(push(&mut shard, b"list", &[&most, b""]), Err(WriteError::ListTooLong));
    assert!(shard.is_empty());
    assert_eq!(push(&mut shard, b"list", &[&most]), Ok(1));
    shard.keep_journal(LOG, 1);
    assert_eq!(push(&mut shard, b"list", &[b""]), Err(WriteError::ListTooLong));
    assert_eq!(
        shard.list_set(NOW, key, 0, &vec![b'y'; LIST_LEN_MAX - 4]),
        Err(WriteError::ListTooLong)
    );
    assert_eq!((shown(&shard, NOW, b"list"), shard.sequence()), (Some(vec![most]), 0));
    shard.set_memory_max(Some(1));
    assert_eq!(push(&mut shard, b"other", &[b"a"]), Err(WriteError::OutOfMemory));
    assert_eq!(shard.list_set(NOW, key, 0, b"a"), Err(WriteError::OutOfMemory));
    assert_eq!(shard.list_remove(NOW, key, b"a", End::Head, 1), Ok(0));
    shard.list_keep(NOW, key, 0..0).expect("what takes no memory is not refused");
    assert!(shard.is_empty());
}

#[test]
fn lists_and_values_do_not_mix_and_a_set_replaces() {
    let mut shard = Shard::new(Config::default());
    shard.keep_journal(LOG, 1);
    let (key, other) = (shard.key(b"list"), shard.key(b"value"));
    push(&mut shard, b"list", &[b"a"]).expect("there is room");
    shard.set(NOW, other, b"v", Expiry::Never).expect("there is room");
    assert_eq!(shard.value(NOW, key), Err(WrongType));
    assert_eq!(shard.append(NOW, key, b"x"), Err(WriteError::WrongType));
    assert!(matches!(shard.list(NOW, other), Err(WrongType)));
    assert_eq!(push(&mut shard, b"value", &[b"a"]), Err(WriteError::WrongType));
    assert_eq!(shard.list_set(NOW, other, 0, b"a"), Err(WriteError::WrongType));
    shard.set(NOW, key, b"now a value", Expiry::Keep).expect("it may be written over");
    let again = replayed(&frames(&mut shard));
    for shard in [&shard, &restored(&shard), &again] {
        assert_eq!(shard.kind(NOW, key), Some(KeyKind::Value));
    }
    assert_eq!(shard.del(NOW, key), Ok(true));
    push(&mut shard, b"list", &[b"a"]).expect("there is room");
    assert_eq!(shard.del(NOW, key), Ok(true));
    assert_eq!(shard.len(), 1);
}

#[test]
fn a_damaged_list_of_a_file_is_an_error() {
    let mut shard = Shard::new(Config::default());
    let (key, packed) = (&b"list"[..], &b"\x01\x02\x01a"[..]);
    let expires = None;
    let record = Record::List { key, expires, packed };
    let entry = Entry::List { key, expires, packed };
    for error in [shard.replay(&record), shard.restore(&entry)] {
        let error = error.expect_err("an element is missing");
        assert!(matches!(error, ReplayError::List { .. }));
        assert_eq!(
            error.to_string(),
            "list list: list is damaged: the bytes end inside of something"
        );
    }
    assert!(shard.is_empty());
}
