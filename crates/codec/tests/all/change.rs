//! Changes: pinned bytes, round trips, one form for each Change, and damage that is refused.

use crate::support::{AT, every_op, flipped, hex, name};
use scurry_codec::{ChangeError, Malformed, decode_change, encode_change};
use scurry_ledger::{BucketNo, BucketTerms, Change, ItemAt, Op, Posting, SessionAt, Time};

fn encode(change: &Change) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_change(change, &mut bytes);
    bytes
}

fn decode(bytes: &[u8]) -> Result<Change, ChangeError> {
    let mut change = Change { at: Time(0), ops: vec![Op::Forget] };
    decode_change(bytes, &mut change).map(|()| change)
}

fn refused(bytes: &[u8]) -> String {
    decode(bytes).expect_err("it is wrong").to_string()
}

/// Returns a Change with version 1, the time 0 and these bytes.
fn at_zero(rest: &[u8]) -> Vec<u8> {
    [&[3, 0], rest].concat()
}

#[test]
fn every_op_comes_back() {
    let change = every_op();
    assert_eq!(decode(&encode(&change)), Ok(change.clone()));
    for op in change.ops {
        let alone = Change { at: Time(-1), ops: vec![op] };
        assert_eq!(decode(&encode(&alone)), Ok(alone));
    }
}

#[test]
fn numbers_of_any_length_come_back_in_ops_on_items() {
    let numbers = [0, 127, 128, 0x3fff, 0x4000, u16::MAX];
    let amounts = [1, 127, 128, 0x3fff, 0x4000, 0x1f_ffff, 0x20_0000, i64::MAX];
    for (session, bucket) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b))) {
        for (item, amount) in [0, 127, 128, 255].iter().flat_map(|a| amounts.map(|b| (*a, b))) {
            let at = ItemAt { session: SessionAt(u32::from(session)), item };
            let posting = Posting { bucket: BucketNo(bucket), amount };
            let ops = vec![
                Op::Hold(at, posting),
                Op::Settle(at, posting),
                Op::Release(at, posting),
                Op::ReleaseExpired(at, posting),
                Op::Grant { at, amount, request: 1 },
                Op::Credit(posting),
            ];
            let change = Change { at: Time(amount), ops };
            assert_eq!(decode(&encode(&change)), Ok(change));
        }
    }
}

#[test]
fn bytes_are_put_behind_what_is_there() {
    let mut bytes = b"before".to_vec();
    encode_change(&every_op(), &mut bytes);
    assert_eq!(bytes, [b"before", encode(&every_op()).as_slice()].concat());
}

#[test]
fn the_bytes_are_pinned() {
    expect_test::expect_file!["../golden/change.hex"].assert_eq(&hex(&encode(&every_op())));
}

#[test]
fn numbers_of_ops_are_those_of_the_page() {
    let ops = every_op().ops;
    let numbers: Vec<u8> =
        ops.into_iter().map(|op| encode(&Change { at: Time(0), ops: vec![op] })[3]).collect();
    let mut expected: Vec<u8> = (1..=32).collect();
    expected.splice(3..4, [4, 4]);
    let grant = expected.iter().position(|number| *number == 19).expect("it is there");
    expected.insert(grant + 1, 77);
    let bury = expected.iter().position(|number| *number == 28).expect("it is there");
    expected.splice(bury..=bury, [28, 28, 28]);
    expected.extend([53, 60, 61, 78, 62, 63, 64, 54, 54, 54, 54, 55, 56, 57, 58, 59, 87, 88]);
    expected.extend([28, 65, 65, 66]);
    expected.extend([28, 28, 28, 70, 70, 71, 72, 73, 74, 28, 75, 76, 65, 65, 54, 54, 54, 79, 80]);
    expected.extend([81, 82, 83, 83, 84, 85, 86, 86]);
    assert_eq!(numbers, expected);
}

#[test]
fn every_truncation_and_a_longer_change_are_refused() {
    let bytes = encode(&every_op());
    for len in 0..bytes.len() {
        assert!(decode(&bytes[..len]).is_err(), "{len}");
    }
    let left = decode(&[bytes.as_slice(), &[31, 31]].concat());
    assert_eq!(left, Err(ChangeError::Malformed(Malformed::Left(2))));
}

#[test]
fn a_flipped_bit_is_refused_or_gives_another_change() {
    let change = every_op();
    for (bit, bytes) in flipped(&encode(&change)) {
        if let Ok(other) = decode(&bytes) {
            assert_ne!(other, change, "bit {bit}");
            assert_eq!(encode(&other), bytes, "bit {bit}: one change has two forms");
        }
    }
}

#[test]
fn errors_say_what_is_wrong() {
    assert_eq!(refused(&[]), "change is damaged: the bytes end inside of something");
    let older = "change of format 1, which this Scurry does not read: it reads format 3 alone";
    assert_eq!(refused(&[1]), older);
    assert_eq!(
        refused(&[4]),
        "change written by a newer Scurry (format 4); this one reads up to 3"
    );
    assert_eq!(refused(&at_zero(&[1, 99])), "change with an unknown op 99");
    assert_eq!(refused(&at_zero(&[1, 0])), "change with an unknown op 0");
    assert_eq!(refused(&at_zero(&[0, 7])), "change is damaged: 1 bytes are left over");
}

#[test]
fn a_count_without_ops_asks_for_no_memory() {
    let mut count = at_zero(&[0xff; 9]);
    count.push(1);
    assert_eq!(decode(&count), Err(ChangeError::Malformed(Malformed::Ends)));
    // Likewise for the items of a tombstone, the parts of a debit, and bytes after a length.
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let bury = [&[1, 28, 1, b'a', 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..], &huge].concat();
    let remember = [&[1, 29, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0][..], &huge].concat();
    let blob = [&[1, 25, 0][..], &huge].concat();
    for bytes in [bury, remember, blob] {
        assert_eq!(decode(&at_zero(&bytes)), Err(ChangeError::Malformed(Malformed::Ends)));
    }
}

#[test]
fn what_no_ledger_writes_is_refused() {
    let wrong: [(&[u8], Malformed); 28] = [
        (&[0x80, 0], Malformed::Number),    // a count longer than it must be
        (&[1, 8, 0, 0], Malformed::Number), // a posting of 0
        (&[1, 8, 0x80, 0x80, 4, 1], Malformed::Number), // bucket 65,536
        (&[1, 1, 3], Malformed::Choice),    // a status
        (&[1, 16, 1, b'a', 3], Malformed::Choice), // an overrun policy
        (&[1, 15, 1, b'a', 1, b'b', 5], Malformed::Choice), // a period
        (&[1, 6, 0, 16, 0], Malformed::Choice), // an attribute
        (&[1, 6, 0, 1, 0, 0], Malformed::Number), // an attribute of 0 that follows
        (&[1, 6, 0, 4, 0, 0], Malformed::Number),
        (&[1, 28, 1, b'a', 0, 7], Malformed::Choice), // a kind of tombstone
        (&[1, 28, 1, b'a', 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20], Malformed::Choice), // a code
        // Causes: one for OK, an unknown one, one that the code implies, none where one is required, a limit without a
        // name.
        (&[1, 28, 1, b'a', 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 80, 1, 1 << 3, 1], Malformed::Choice),
        (&[1, 65, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 80, 1, 0, 0, 8], Malformed::Choice),
        // A limit that allows it after the last moment of the clock, and a bucket without a name.
        (
            &[
                1, 65, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 80, 1, 0, 0, 7, 1, b'l', 0x80, 0x80,
                0x80, 0x80, 0x80, 0x80, 0x80, 1,
            ],
            Malformed::Choice,
        ),
        (&[1, 65, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 80, 1, 0, 0, 6, 0], Malformed::Name),
        (&[1, 28, 1, b'a', 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 70, 1, 5 << 3, 70], Malformed::Choice),
        (&[1, 65, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 80, 1, 0, 0, 0], Malformed::Choice),
        (&[1, 65, 1, b'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 80, 1, 0, 0, 3, 0], Malformed::Name),
        (&[1, 66, 0, 1, b'7', 1, b'u'], Malformed::Id), // a key that is a number
        (&[1, 66, 0, 0, 1, b'u'], Malformed::Id),
        (&[1, 54, 1, b'a', 4], Malformed::Choice), // what a limit counts
        (&[1, 54, 1, b'a', 0, 0, 1, 1, 1, 0, 0, 90], Malformed::Choice), // a threshold
        (&[1, 54, 1, b'a', 0, 1, 0x80, 0x80, 4], Malformed::Number), // minutes from UTC
        (&[1, 57, 0, 0, 0], Malformed::Number),    // use of 0
        (&[1, 59, 1, b'a', 79], Malformed::Choice), // a threshold
        (&[1, 4, 0], Malformed::Name),
        (&[1, 16, 0, 0], Malformed::Id),
        (&[1, 26, 0, 1, 1, 9, 8], Malformed::Answer),
    ];
    for (bytes, malformed) in wrong {
        assert_eq!(decode(&at_zero(bytes)), Err(ChangeError::Malformed(malformed)), "{bytes:?}");
    }
}

#[test]
fn numbers_of_every_width_come_back() {
    for shift in 0..64 {
        for near in [-1, 0, 1] {
            for sign in [1, -1] {
                let number = (1_i64 << shift).wrapping_add(near).wrapping_mul(sign);
                let terms = BucketTerms {
                    priority: -1,
                    valid_from: Time(number),
                    valid_to: Some(Time(number)),
                    floor: number,
                    mark: Some(number),
                };
                let amount = number.saturating_abs().max(1);
                let ops = vec![
                    Op::SetBucket { bucket: BucketNo(1), terms },
                    Op::Credit(Posting { bucket: BucketNo(2), amount }),
                ];
                for at in [Time(number), AT, Time(i64::MIN)] {
                    let change = Change { at, ops: ops.clone() };
                    assert_eq!(decode(&encode(&change)), Ok(change));
                }
            }
        }
    }
}

#[test]
fn times_of_supervision_of_every_width_come_back() {
    let numbers = [0, 1, 63, 64, 600_000, 1_200_000, i64::MAX - 1, i64::MAX, i64::MIN, -1];
    for (validity_ms, tcc_ms) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
        for deadline in [AT, Time(AT.0.wrapping_add(tcc_ms)), Time(i64::MAX), Time(i64::MIN)] {
            let ops = vec![Op::Supervise { session: SessionAt(0), validity_ms, tcc_ms, deadline }];
            let change = Change { at: AT, ops };
            assert_eq!(decode(&encode(&change)), Ok(change));
        }
    }
}

#[test]
fn usual_times_of_supervision_take_a_byte_each() {
    let supervise = |tcc_ms, deadline: i64| Op::Supervise {
        session: SessionAt(0),
        validity_ms: 100,
        tcc_ms,
        deadline: Time(AT.0 + deadline),
    };
    let len = |op| encode(&Change { at: AT, ops: vec![op] }).len();
    let usual = len(supervise(200, 200));
    assert_eq!(usual, len(Op::Forget) + 4);
    assert!(len(supervise(900, 900)) > usual && len(supervise(200, 900)) > usual);
}

#[test]
fn a_stored_answer_that_is_not_whole_is_refused() {
    for behind in [&[][..], &[0; 8], &[0; 9], &[4, 0, 0, 0, 0, 0, 0, 0, 12, 0]] {
        let op = [&[26, 0, 5, behind.len() as u8], behind, &[8]].concat();
        let bytes = [&[3, 0, 1][..], &op].concat();
        assert_eq!(decode(&bytes), Err(ChangeError::Malformed(Malformed::Answer)), "{behind:?}");
    }
    assert!(decode(&[3, 0, 1, 26, 0, 5, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 8]).is_ok());
}

#[test]
fn a_name_at_the_very_end_is_read() {
    let ops = vec![Op::AddItem { session: SessionAt(0), key: 1.into(), unit: name("u") }];
    let change = Change { at: AT, ops };
    assert_eq!(decode(&encode(&change)), Ok(change));
}
