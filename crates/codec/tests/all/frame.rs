//! Frames of the log: pinned bytes, round trips, and damage that is refused.

use crate::support::{AT, CHECKSUM, LOG_ID, flipped, hex, name, seal};
use scurry_codec::{
    Balance, BucketAmounts, DeferredRecord, FRAME_LEN_MAX, Frame, FrameError, FrameWriter, Framed,
    Malformed, Record, RecordError, RecordSubject, Seal, decode_change, read_frame,
    read_raw_record,
};
use scurry_ledger::{Account, BucketNo, BucketTerms, Change, Op, Posting, Status, Time, apply};

const HEADER_LEN: usize = 36;

fn frame(bytes: &[u8]) -> Frame<'_> {
    match read_frame(seal(), bytes) {
        Framed::Frame(frame) => frame,
        other => panic!("{other:?}"),
    }
}

fn is_refused(bytes: &[u8]) -> bool {
    !matches!(read_frame(seal(), bytes), Framed::Frame(_))
}

/// Returns a frame with a valid checksum around any body.
fn framed(body: &[u8], count: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&u32::try_from(HEADER_LEN + body.len()).expect("short").to_le_bytes());
    bytes.extend_from_slice(&[0; 4 + 24]);
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes.extend_from_slice(body);
    let sum = CHECKSUM(CHECKSUM(0, &LOG_ID.to_le_bytes()), &bytes[8..]);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn new_bucket(id: &str, unit: &str) -> Op {
    let terms =
        BucketTerms { priority: 0, valid_from: Time(0), valid_to: None, floor: 0, mark: None };
    Op::AddBucket { id: name(id), unit: name(unit), terms }
}

fn credit(bucket: u16, amount: i64) -> Op {
    Op::Credit(Posting { bucket: BucketNo(bucket), amount })
}

fn change(ops: Vec<Op>) -> Change {
    Change { at: AT, ops }
}

fn applied(account: &mut Option<Account>, ops: Vec<Op>) -> Change {
    let change = change(ops);
    apply(account, &change);
    change
}

/// Returns a frame with every kind of record, a mark, and a frame with one record, in one buffer.
fn sample() -> Vec<u8> {
    let mut writer = FrameWriter::new(seal(), 41);
    let mut account = None;
    let created = applied(
        &mut account,
        vec![
            Op::Create(Status::Active),
            new_bucket("main", "octets"),
            new_bucket("gift", "octets"),
            credit(0, 1_000),
        ],
    );
    writer.account(b"15550100", &created, account.as_ref());
    let credited = applied(&mut account, vec![credit(1, 5)]);
    writer.account(b"15550100", &credited, account.as_ref());
    let deleted = applied(&mut account, vec![Op::Delete]);
    writer.account(b"15550100", &deleted, account.as_ref());
    writer.value(b"key", Some(AT), b"value");
    writer.value(b"forever", None, b"");
    writer.append(b"key", b"tail");
    writer.expiry(b"key", None);
    writer.expiry(b"key", Some(Time(1)));
    writer.remove(b"key");
    writer.entity(b"entity", u64::MAX, Some(AT), b"\0\xff");
    writer.entity(b"entity", 1, None, b"1");
    writer.tombstone(b"entity", 2, AT);
    writer.clear();
    writer.seal(40, AT);
    writer.seal(53, AT.plus_ms(100));
    writer.remove(b"last");
    writer.seal(53, AT.plus_ms(200));
    let mut bytes = Vec::new();
    writer.take_sealed(&mut bytes);
    bytes
}

#[test]
fn every_kind_of_record_comes_back() {
    let bytes = sample();
    let first = frame(&bytes);
    assert_eq!((first.first(), first.count(), first.next()), (41, 13, 54));
    assert_eq!((first.synced(), first.at()), (40, AT));
    let mut records = first.records();
    let balance = |no, id, available| Balance {
        bucket: BucketNo(no),
        name: name(id),
        unit: name("octets"),
        available,
        held: 0,
    };
    let expected: [(u64, &[Balance]); 3] = [
        (1, &[balance(0, "main", 1_000), balance(1, "gift", 0)]),
        (2, &[balance(1, "gift", 5)]),
        (0, &[]),
    ];
    for (expected_version, expected) in expected {
        let Some(Ok(Record::Account { id, change, version, balances })) = records.next() else {
            panic!("an account");
        };
        assert_eq!((id, version, balances), (&b"15550100"[..], expected_version, expected));
        decode_change(change, &mut self::change(vec![])).expect("a change");
    }
    let key: &[u8] = b"key";
    let plain = [
        Record::Value { key, expires: Some(AT), value: b"value" },
        Record::Value { key: b"forever", expires: None, value: b"" },
        Record::Append { key, tail: b"tail" },
        Record::Expiry { key, expires: None },
        Record::Expiry { key, expires: Some(Time(1)) },
        Record::Remove { key },
        Record::Entity { key: b"entity", version: u64::MAX, expires: Some(AT), value: b"\0\xff" },
        Record::Entity { key: b"entity", version: 1, expires: None, value: b"1" },
        Record::Tombstone { key: b"entity", version: 2, forget_at: AT },
        Record::Clear,
    ];
    for record in plain {
        assert_eq!(records.next(), Some(Ok(record)));
    }
    assert_eq!(records.next(), None);

    let mark = frame(&bytes[first.len()..]);
    assert_eq!((mark.first(), mark.count(), mark.next()), (54, 0, 54));
    assert_eq!((mark.synced(), mark.at(), mark.len()), (53, AT.plus_ms(100), HEADER_LEN));
    assert_eq!(mark.records().next(), None);

    let last = frame(&bytes[first.len() + mark.len()..]);
    assert_eq!((last.first(), last.next()), (54, 55));
    assert_eq!(first.len() + mark.len() + last.len(), bytes.len());
}

#[test]
fn version_1_is_pinned() {
    expect_test::expect_file!["../golden/log-frames-v1.hex"].assert_eq(&hex(&sample()));
}

#[test]
fn every_flipped_bit_is_refused() {
    let bytes = sample();
    let first = &bytes[..frame(&bytes).len()];
    for (bit, damaged) in flipped(first) {
        assert!(is_refused(&damaged), "bit {bit}");
        // Also if other frames follow, which a greater length would include.
        let followed = [damaged.as_slice(), &bytes[first.len()..]].concat();
        assert!(is_refused(&followed), "bit {bit}");
    }
}

#[test]
fn every_truncation_is_torn() {
    let bytes = sample();
    for len in 0..frame(&bytes).len() {
        assert!(matches!(read_frame(seal(), &bytes[..len]), Framed::Torn), "{len}");
    }
}

#[test]
fn room_that_was_never_written_is_torn() {
    for len in [0, 1, 4, 8, HEADER_LEN, 4096] {
        assert!(matches!(read_frame(seal(), &vec![0; len]), Framed::Torn), "{len}");
    }
    for at in 4..HEADER_LEN {
        let mut bytes = vec![0; 100];
        bytes[at] = 1;
        let read = read_frame(seal(), &bytes);
        assert!(matches!(read, Framed::Damaged(FrameError::Length(0))), "{at}: {read:?}");
    }
}

#[test]
fn lengths_are_bounded() {
    for len in [1, HEADER_LEN - 1, FRAME_LEN_MAX + 1, u32::MAX as usize] {
        let len = u32::try_from(len).expect("32 bits");
        let mut bytes = [0; 100];
        bytes[..4].copy_from_slice(&len.to_le_bytes());
        let read = read_frame(seal(), &bytes);
        assert!(matches!(read, Framed::Damaged(FrameError::Length(l)) if l == len), "{read:?}");
    }
    for len in [101, FRAME_LEN_MAX] {
        let mut bytes = [0; 100];
        bytes[..4].copy_from_slice(&u32::try_from(len).expect("32 bits").to_le_bytes());
        assert!(matches!(read_frame(seal(), &bytes), Framed::Torn), "{len}");
    }
}

#[test]
fn a_frame_of_another_log_is_refused() {
    let other = Seal::new(CHECKSUM, LOG_ID + 1);
    let Framed::Damaged(error) = read_frame(other, &sample()) else { panic!("it was read") };
    assert!(matches!(error, FrameError::Checksum { .. }));
    assert!(error.to_string().ends_with("or belong to another log"), "{error}");
}

#[test]
fn what_is_sealed_is_taken_and_what_is_open_stays() {
    let mut writer = FrameWriter::new(seal(), 1);
    assert!(writer.is_empty());
    assert_eq!(writer.open_len(), HEADER_LEN);
    writer.remove(b"one");
    writer.seal(0, AT);
    writer.remove(b"two");
    assert_eq!((writer.next(), writer.is_empty()), (3, false));
    assert_eq!(writer.open_len(), HEADER_LEN + 5);
    let mut taken = b"what was there before".to_vec();
    writer.take_sealed(&mut taken);
    assert_eq!((frame(&taken).first(), frame(&taken).len()), (1, taken.len()));
    assert_eq!(writer.open_len(), HEADER_LEN + 5);
    writer.take_sealed(&mut taken);
    assert_eq!(taken, [0; 0]);
    writer.remove(b"three");
    writer.seal(1, AT);
    writer.take_sealed(&mut taken);
    let second = frame(&taken);
    assert_eq!((second.first(), second.count(), second.len()), (2, 2, taken.len()));
    let mut records = second.records();
    assert_eq!(records.next(), Some(Ok(Record::Remove { key: b"two" })));
    assert_eq!(records.next(), Some(Ok(Record::Remove { key: b"three" })));
    assert_eq!(records.next(), None);
}

#[test]
fn times_of_frames_never_go_back() {
    let mut writer = FrameWriter::new(seal(), 1);
    let mut bytes = Vec::new();
    for (at, expected) in [(-7, -7), (50, 50), (20, 50), (51, 51)] {
        writer.seal(0, Time(at));
        writer.take_sealed(&mut bytes);
        assert_eq!((frame(&bytes).at(), writer.latest()), (Time(expected), Time(expected)));
    }
    // Nor is a frame earlier than one of another log that it follows, which may be open already.
    writer.remove(b"key");
    for (other, expected) in [(60, 60), (55, 60)] {
        writer.not_before(Time(other));
        writer.seal(0, Time(52));
        writer.take_sealed(&mut bytes);
        assert_eq!(frame(&bytes).at(), Time(expected));
    }
}

#[test]
fn lengths_of_every_width_come_back() {
    let mut writer = FrameWriter::new(seal(), 0);
    let lens = [0, 1, 127, 128, 129, 16_383, 16_384, 70_000];
    for len in lens {
        writer.value(&vec![b'k'; len], None, &vec![b'v'; len]);
        let blob = Op::SetBlob(scurry_ledger::SessionAt(0), vec![b'b'; len]);
        writer.account(b"a", &change(vec![blob]), None);
    }
    writer.seal(0, AT);
    let mut bytes = Vec::new();
    writer.take_sealed(&mut bytes);
    let mut records = frame(&bytes).records();
    for len in lens {
        let (key, value) = (vec![b'k'; len], vec![b'v'; len]);
        let expected = Record::Value { key: &key, expires: None, value: &value };
        assert_eq!(records.next(), Some(Ok(expected)));
        let Some(Ok(Record::Account { change: bytes, .. })) = records.next() else {
            panic!("an account");
        };
        let mut read = change(vec![]);
        decode_change(bytes, &mut read).expect("a change");
        assert_eq!(read.ops, [Op::SetBlob(scurry_ledger::SessionAt(0), vec![b'b'; len])]);
    }
    assert_eq!(records.next(), None);
}

#[test]
fn names_and_units_come_back_whatever_their_number() {
    let mut writer = FrameWriter::new(seal(), 0);
    let pairs: Vec<(String, String)> =
        (0..400).map(|n| (format!("bucket-{n}"), format!("unit-{}", n % 7))).collect();
    let mut accounts = Vec::new();
    for (bucket, unit) in &pairs {
        let mut account = None;
        let ops = vec![Op::Create(Status::Active), new_bucket(bucket, unit)];
        let change = applied(&mut account, ops);
        accounts.push((change, account));
    }
    // Twice in one frame, and again in a second frame, which does not know the indexes of the first.
    for _ in 0..2 {
        for _ in 0..2 {
            for (change, account) in &accounts {
                writer.account(b"a", change, account.as_ref());
            }
        }
        writer.seal(0, AT);
    }
    let mut bytes = Vec::new();
    writer.take_sealed(&mut bytes);
    let first = frame(&bytes);
    for frame in [first, frame(&bytes[first.len()..])] {
        let mut records = frame.records();
        for (bucket, unit) in pairs.iter().chain(&pairs) {
            let Some(Ok(Record::Account { balances: [balance], .. })) = records.next() else {
                panic!("one balance");
            };
            assert_eq!((balance.name.as_str(), balance.unit.as_str()), (&**bucket, &**unit));
        }
        assert_eq!(records.next(), None);
    }
    assert_eq!(first.len() * 2, bytes.len());
}

#[test]
fn a_pair_that_was_written_takes_one_byte() {
    let mut writer = FrameWriter::new(seal(), 0);
    let mut account = None;
    let ops = vec![Op::Create(Status::Active), new_bucket("main", "octets"), credit(0, 1)];
    applied(&mut account, ops);
    let mut lens = Vec::new();
    for _ in 0..2 {
        let before = writer.open_len();
        writer.account(b"a", &change(vec![credit(0, 1)]), account.as_ref());
        lens.push(writer.open_len() - before);
    }
    assert_eq!(lens[0] - lens[1], 1 + 4 + 1 + 6);
}

#[test]
fn every_op_that_names_a_bucket_brings_its_balance() {
    let mut account = None;
    let buckets = (0..9).map(|n| new_bucket(&format!("b{n}"), "u"));
    applied(&mut account, [Op::Create(Status::Active)].into_iter().chain(buckets).collect());
    let mut seen = Vec::new();
    for op in crate::support::every_op().ops {
        let mut writer = FrameWriter::new(seal(), 0);
        let text = format!("{op:?}");
        writer.account(b"a", &change(vec![op]), account.as_ref());
        writer.seal(0, AT);
        let mut bytes = Vec::new();
        writer.take_sealed(&mut bytes);
        let mut records = frame(&bytes).records();
        let Some(Ok(Record::Account { balances, .. })) = records.next() else { panic!("{text}") };
        if let [balance] = balances {
            let op = text.split(['(', ' ']).next().unwrap_or_default();
            seen.push(format!("{op} {}", balance.bucket.0));
        }
    }
    assert_eq!(
        seen.join(", "),
        "Credit 0, Void 1, Refund 2, RefundExpired 3, Debit 4, Overdraw 5, Expire 6, Hold 0, \
         Settle 4, Release 5, ReleaseExpired 6, CrossMark 7"
    );
}

#[test]
fn each_bucket_that_is_named_brings_its_balance_once_and_in_its_order() {
    let mut account = None;
    let buckets = (0..140).map(|n| new_bucket(&format!("b{n}"), "u"));
    applied(&mut account, [Op::Create(Status::Active)].into_iter().chain(buckets).collect());
    let mut ops = vec![new_bucket("begun", "u")];
    ops.extend([139, 64, 3, 139, 63, 64, 3].map(|number| credit(number, 1)));
    let change = applied(&mut account, ops);
    let mut writer = FrameWriter::new(seal(), 0);
    writer.account(b"a", &change, account.as_ref());
    writer.seal(0, AT);
    let mut bytes = Vec::new();
    writer.take_sealed(&mut bytes);
    let mut records = frame(&bytes).records();
    let Some(Ok(Record::Account { balances, .. })) = records.next() else { panic!("a Change") };
    let found: Vec<(u16, i64)> = balances.iter().map(|it| (it.bucket.0, it.available)).collect();
    assert_eq!(found, [(3, 2), (63, 1), (64, 2), (139, 2), (140, 0)]);
}

#[test]
fn an_image_comes_back() {
    let mut writer = FrameWriter::new(seal(), 7);
    writer.image(b"15550100", b"\x01\0image");
    writer.seal(6, AT);
    let mut bytes = Vec::new();
    writer.take_sealed(&mut bytes);
    // Kind 9, then two strings.
    assert_eq!(bytes[HEADER_LEN..], *b"\x09\x0815550100\x07\x01\0image");
    let mut records = frame(&bytes).records();
    let expected = Record::Image { id: b"15550100", image: b"\x01\0image" };
    assert_eq!(expected.key(), Some(&b"15550100"[..]));
    assert_eq!(records.next(), Some(Ok(expected)));
    assert_eq!(records.next(), None);
}

#[test]
fn records_that_no_writer_writes_are_refused() {
    let ends = RecordError::Malformed(Malformed::Ends);
    let choice = RecordError::Malformed(Malformed::Choice);
    let wrong: [(&[u8], RecordError); 10] = [
        (&[], ends),
        (&[0], RecordError::Kind(0)),
        (&[12], RecordError::Kind(12)),
        (&[0x88], RecordError::Kind(0x88)),
        (&[5, 2, b'k'], ends),
        (&[5, 0xff, 0xff, 0xff, 0xff, 0x7f, b'k'], ends),
        (&[1, 1, b'a', 0, 9, 1, 0, 0, 0, 0], RecordError::Pair(0)),
        (&[1, 1, b'a', 0, 9, 1, 0x82, 1, b'n', 1, b'u', 0, 0, 0], choice),
        (&[1, 1, b'a', 0, 9, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1], ends),
        (&[8, 8], RecordError::Malformed(Malformed::Left(1))),
    ];
    for (body, error) in wrong {
        let bytes = framed(body, 1);
        let mut records = frame(&bytes).records();
        let mut last = records.next();
        if last == Some(Ok(Record::Clear)) {
            last = records.next();
        }
        assert_eq!(last, Some(Err(error)), "{body:?}");
        assert_eq!(records.next(), None, "an error is the end");
        let mut records = frame(&bytes).records();
        let mut last = records.pass();
        if matches!(last, Some(Ok(passed)) if passed.bytes == [8]) {
            last = records.pass();
        }
        assert_eq!(last, Some(Err(error)), "{body:?}");
        assert_eq!(records.pass(), None, "an error is the end");
    }
    // More records than the bytes hold, and bytes although there are no records.
    let bytes = framed(&[8], u32::MAX);
    let mut records = frame(&bytes).records();
    assert_eq!(records.next(), Some(Ok(Record::Clear)));
    assert_eq!(records.next(), Some(Err(ends)));
    let bytes = framed(&[8], 0);
    let left = RecordError::Malformed(Malformed::Left(1));
    assert_eq!(frame(&bytes).records().next(), Some(Err(left)));
}

#[test]
fn a_record_that_is_passed_on_says_the_same_later() {
    // A pair with an index, one without, and the first again, with numbers of every width.
    let mut body = vec![1, 1, b'a', 2, b'c', b'd', 9, 3, 0x80, 1, b'n', 1, b'u', 7, 4, 6];
    body.extend_from_slice(&[0x81, 1, b'm', 1, b'u', 8, 0xff, 0x7f, 0]);
    body.extend_from_slice(&[
        0, 0x80, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2,
    ]);
    body.extend_from_slice(&[5, 1, b'k', 8]);
    let bytes = framed(&body, 3);
    let (mut read, mut passed) = (frame(&bytes).records(), frame(&bytes).records());
    let mut lens = Vec::new();
    while let Some(record) = read.next() {
        let record = record.expect("a record");
        let late = passed.pass().expect("as many").expect("a record");
        assert_eq!(late.about, record.key().map_or(RecordSubject::All, RecordSubject::Key));
        lens.push(late.bytes.len());
        match (record, read_raw_record(late.bytes).expect("a record")) {
            (
                Record::Account { id, change, balances, .. },
                DeferredRecord::Account { id: i, change: c, left },
            ) => {
                assert_eq!((id, change), (i, c));
                let left: Vec<_> = left.map(|left| left.expect("it is whole")).collect();
                let same = |balance: &Balance| {
                    let Balance { bucket, available, held, .. } = *balance;
                    BucketAmounts { bucket, available, held }
                };
                assert_eq!(left, balances.iter().map(same).collect::<Vec<_>>());
            }
            (record, DeferredRecord::Other(other)) => assert_eq!(record, other),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(passed.pass(), None);
    assert_eq!(lens, [body.len() - 4, 3, 1]);
    // A number too large for a bucket is skipped, and found when it is read.
    let Ok(DeferredRecord::Account { mut left, .. }) =
        read_raw_record(&[1, 0, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0])
    else {
        panic!("an account")
    };
    assert_eq!(left.next(), Some(Err(RecordError::Malformed(Malformed::Number))));
    assert_eq!(left.next(), None);
}

#[test]
fn a_frame_numbers_128_pairs_at_most() {
    let mut body = vec![1, 1, b'a', 0, 9, 0x81, 1];
    for _ in 0..129 {
        body.extend_from_slice(&[0x80, 1, b'n', 1, b'u', 0, 0, 0]);
    }
    let bytes = framed(&body, 1);
    let choice = RecordError::Malformed(Malformed::Choice);
    assert_eq!(frame(&bytes).records().next(), Some(Err(choice)));
    body[5..7].copy_from_slice(&[0x80, 1]);
    body.truncate(body.len() - 8);
    let bytes = framed(&body, 1);
    let mut records = frame(&bytes).records();
    assert!(
        matches!(records.next(), Some(Ok(Record::Account { balances, .. })) if balances.len() == 128)
    );
}
