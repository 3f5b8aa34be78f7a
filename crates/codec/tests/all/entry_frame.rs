//! Frames of a replicated log: pinned bytes, damage that is refused, and the checksums that nodes compare.

use scurry_codec::{
    Ballot, Frame, FrameError, FrameWriter, Framed, HeaderError, Index, LogBase, LogEntry,
    LogFormat, Record, Seal, Sequence, Term, checked_frame, content_of, put_entry, read_frame,
};
use scurry_ledger::Time;

const CHECKSUM: scurry_codec::Checksum = crc32c::crc32c_append;
const LOG_ID: u64 = 0x0123_4567_89ab_cdef;
const AT: Time = Time(1_700_000_000_000);
const HEADER_LEN: usize = 68;
const PLACE: LogEntry = LogEntry {
    term: Term(3),
    index: Index(9),
    committed: Index(7),
    chain: 0x0102_0304,
    content: 0,
};
const BALLOT: Ballot = Ballot { log_id: LOG_ID, core: 3, term: Term(7), vote: 2 };

fn single() -> Seal {
    Seal::new(CHECKSUM, LOG_ID)
}

fn seal() -> Seal {
    single().in_format(LogFormat::Replicated)
}

/// Returns a frame as a leader seals it.
fn sealed(at: Time) -> Vec<u8> {
    let mut writer = FrameWriter::new(seal(), 41);
    writer.value(b"key", None, b"value");
    writer.group(b"");
    writer.group(b"members");
    writer.digest(b"digest");
    writer.seal(0, at);
    let mut bytes = Vec::new();
    writer.take_sealed(&mut bytes);
    bytes
}

/// Returns the bytes with each bit flipped on its own.
fn flipped(bytes: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..bytes.len() * 8).map(|bit| {
        let mut copy = bytes.to_vec();
        copy[bit / 8] ^= 1 << (bit % 8);
        (bit, copy)
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn placed(place: LogEntry, synced: u64) -> Vec<u8> {
    let mut bytes = sealed(AT);
    let content = content_of(seal(), &bytes).expect("a frame");
    assert!(put_entry(seal(), &mut bytes, &LogEntry { content, ..place }, Sequence(synced)));
    bytes
}

fn frame(bytes: &[u8]) -> Frame<'_> {
    match read_frame(seal(), bytes) {
        Framed::Frame(frame) => frame,
        other => panic!("{other:?}"),
    }
}

fn place(bytes: &[u8]) -> LogEntry {
    *frame(bytes).entry().expect("the place of an entry")
}

#[test]
fn an_entry_comes_back_with_its_place() {
    let bytes = placed(PLACE, 40);
    let read = frame(&bytes);
    assert_eq!((read.first(), read.next(), read.count()), (41, 45, 4));
    assert_eq!((read.synced(), read.at(), read.len()), (40, AT, bytes.len()));
    assert_eq!(place(&bytes), LogEntry { content: place(&bytes).content, ..PLACE });
    let mut records = read.records();
    assert_eq!(
        records.next(),
        Some(Ok(Record::Value { key: b"key", expires: None, value: b"value" }))
    );
    assert_eq!(records.next(), Some(Ok(Record::Group { members: b"" })));
    assert_eq!(records.next(), Some(Ok(Record::Group { members: b"members" })));
    assert_eq!(records.next(), Some(Ok(Record::Digest { digest: b"digest" })));
    assert_eq!(records.next(), None);
    assert_eq!(read.body(), &bytes[HEADER_LEN..]);
    let again = checked_frame(seal(), &bytes).expect("a frame");
    assert_eq!((again.entry(), again.len()), (read.entry(), read.len()));
}

#[test]
fn version_2_is_pinned() {
    expect_test::expect_file!["../golden/log-frames-v2.hex"].assert_eq(&hex(&placed(PLACE, 40)));
    let mut ballot = Vec::new();
    BALLOT.encode(CHECKSUM, &mut ballot);
    assert_eq!((ballot.len(), Ballot::decode(CHECKSUM, &ballot)), (Ballot::LEN, Ok(BALLOT)));
    expect_test::expect_file!["../golden/ballot-v1.hex"].assert_eq(&hex(&ballot));
    for (bit, bytes) in flipped(&ballot) {
        assert!(Ballot::decode(CHECKSUM, &bytes).is_err(), "bit {bit}");
    }
    let other = Ballot::decode(CHECKSUM, &placed(PLACE, 40)).expect_err("no ballot");
    assert!(matches!(other, HeaderError::Magic(_)), "{other}");
}

#[test]
fn a_base_is_pinned_and_every_flipped_bit_is_refused() {
    let base = LogBase {
        index: Index(812),
        term: Term(3),
        sequence: Sequence(4_100),
        at: AT.0,
        chain: 0x1234_5678,
        voters: vec![1, 0xfed, u64::MAX],
        learners: vec![7],
    };
    let mut bytes = Vec::new();
    base.encode((5, 2), CHECKSUM, &mut bytes);
    assert!(bytes.len() <= LogBase::LEN_MAX);
    assert_eq!(LogBase::decode(CHECKSUM, &bytes), Ok(((5, 2), base)));
    expect_test::expect_file!["../golden/log-base-v1.hex"].assert_eq(&hex(&bytes));
    for (bit, bytes) in flipped(&bytes) {
        assert!(LogBase::decode(CHECKSUM, &bytes).is_err(), "bit {bit}");
    }
    for len in 0..bytes.len() {
        assert!(LogBase::decode(CHECKSUM, &bytes[..len]).is_err(), "{len}");
    }
    bytes.push(0);
    assert!(LogBase::decode(CHECKSUM, &bytes).is_err(), "bytes behind it");
}

#[test]
fn every_flipped_bit_and_every_truncation_is_refused() {
    let bytes = placed(PLACE, 40);
    for (bit, damaged) in flipped(&bytes) {
        assert!(!matches!(read_frame(seal(), &damaged), Framed::Frame(_)), "bit {bit}");
    }
    for len in 0..bytes.len() {
        assert!(matches!(read_frame(seal(), &bytes[..len]), Framed::Torn), "{len}");
    }
    for len in [0, 1, 4, 8, HEADER_LEN, 4096] {
        assert!(matches!(read_frame(seal(), &vec![0; len]), Framed::Torn), "{len}");
    }
    let mut short = [0; 100];
    short[0] = HEADER_LEN as u8 - 1;
    assert!(matches!(read_frame(seal(), &short), Framed::Damaged(FrameError::Length(67))));
}

#[test]
fn what_has_no_place_yet_and_what_is_of_another_log_or_format_is_refused() {
    assert!(!matches!(read_frame(seal(), &sealed(AT)), Framed::Frame(_)));
    let bytes = placed(PLACE, 40);
    let other = Seal::new(CHECKSUM, LOG_ID + 1).in_format(LogFormat::Replicated);
    assert!(matches!(read_frame(other, &bytes), Framed::Damaged(_)));
    assert!(matches!(read_frame(single(), &bytes), Framed::Damaged(_)));
    assert!(!put_entry(seal(), &mut [0; HEADER_LEN - 1], &PLACE, Sequence(0)));
    assert_eq!(content_of(seal(), &[0; HEADER_LEN - 1]), None);
}

/// `synced` and `committed` may differ between nodes, so neither the content nor the chain covers them.
#[test]
fn nodes_compare_what_they_share_and_nothing_else() {
    let one = place(&placed(PLACE, 40));
    let another = place(&placed(LogEntry { committed: Index(8), ..PLACE }, 41));
    assert_eq!(one.content, another.content);
    assert_eq!(one.next_chain(seal()), another.next_chain(seal()));
    let later = content_of(seal(), &sealed(AT.plus_ms(1)));
    assert_ne!(later, Some(one.content));
    let differing = [
        LogEntry { term: Term(4), ..one },
        LogEntry { index: Index(10), ..one },
        LogEntry { chain: 5, ..one },
        LogEntry { content: 6, ..one },
    ];
    for other in differing {
        assert_ne!(other.next_chain(seal()), one.next_chain(seal()), "{other:?}");
    }
}
