//! Headers of files, and chunks of a snapshot: pinned bytes, and damage that is refused.

use crate::support::{AT, CHECKSUM, LOG_ID, flipped, hex, seal};
use scurry_codec::{
    Chunk, ChunkWriter, Chunked, FileKind, HashKey, HeaderError, LogFormat, Malformed, Positions,
    RecordError, Seal, SegmentHeader, SnapshotEntry, SnapshotFooter, SnapshotHeader, read_chunk,
};
use scurry_ledger::Time;

const CHUNK_HEADER_LEN: usize = 36;

const SEGMENT: SegmentHeader =
    SegmentHeader { log_id: LOG_ID, core: 3, first: 41, format: LogFormat::Single };

const KEY: HashKey = HashKey::new(*b"0123456789abcdef");

const HEADER: SnapshotHeader =
    SnapshotHeader { log_id: LOG_ID, core: 3, key: KEY, log_next: 41, at: AT };

const FOOTER: SnapshotFooter =
    SnapshotFooter { chunks: 2, entries: 5, as_of: 43, version_last: 9, at: AT };

const ENTRIES: [SnapshotEntry<'_>; 5] = [
    SnapshotEntry::Value { key: b"forever", expires: None, value: b"" },
    SnapshotEntry::Value { key: b"key", expires: Some(AT), value: b"value" },
    SnapshotEntry::Account { id: b"15550100", image: b"image" },
    SnapshotEntry::Entity { key: b"entity", version: 8, expires: None, value: b"\0\xff" },
    SnapshotEntry::Tombstone { key: b"gone", version: 9, forget_at: Time(-1) },
];

fn segment(header: &SegmentHeader) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.encode(CHECKSUM, &mut bytes);
    bytes
}

fn header(header: &SnapshotHeader) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.encode(CHECKSUM, &mut bytes);
    bytes
}

fn footer() -> Vec<u8> {
    let mut bytes = Vec::new();
    FOOTER.encode(seal(), &mut bytes);
    bytes
}

/// Returns a chunk with every kind of entry, and one without entries.
fn chunks() -> Vec<u8> {
    let mut writer = ChunkWriter::new(seal());
    for entry in ENTRIES {
        writer.entry(&entry);
    }
    writer.seal(Positions { from: 0, to: 1 << 63 }, 42);
    writer.seal(Positions { from: 1 << 63, to: 0 }, 43);
    let mut bytes = Vec::new();
    writer.take_sealed(&mut bytes);
    bytes
}

fn chunk(bytes: &[u8]) -> Chunk<'_> {
    match read_chunk(seal(), bytes) {
        Chunked::Chunk(chunk) => chunk,
        other => panic!("{other:?}"),
    }
}

/// Returns a chunk with a valid checksum around any body.
fn chunk_of(body: &[u8], count: u32) -> Vec<u8> {
    let len = u32::try_from(CHUNK_HEADER_LEN + body.len()).expect("short");
    let mut bytes = [&len.to_le_bytes()[..], &[0; 28], &count.to_le_bytes(), body].concat();
    let sum = CHECKSUM(CHECKSUM(0, &LOG_ID.to_le_bytes()), &bytes[8..]);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn every_kind_of_entry_comes_back() {
    let bytes = chunks();
    let first = chunk(&bytes);
    assert_eq!(first.positions(), Positions { from: 0, to: 1 << 63 });
    assert_eq!((first.as_of(), first.count()), (42, 5));
    let entries: Result<Vec<SnapshotEntry<'_>>, RecordError> = first.entries().collect();
    assert_eq!(entries.as_deref(), Ok(&ENTRIES[..]));
    let second = chunk(&bytes[first.len()..]);
    assert_eq!(second.positions(), Positions { from: 1 << 63, to: 0 });
    assert_eq!((second.as_of(), second.count(), second.len()), (43, 0, CHUNK_HEADER_LEN));
    assert_eq!(second.entries().next(), None);
    assert_eq!(first.len() + second.len(), bytes.len());
}

#[test]
fn bytes_are_pinned() {
    let snapshot = |of| hex(&[header(of), chunks(), footer()].concat());
    expect_test::expect_file!["../golden/snapshot-v1.hex"].assert_eq(&snapshot(&HEADER));
    expect_test::expect_file!["../golden/segment-header-v1.hex"]
        .assert_eq(&hex(&segment(&SEGMENT)));
    let replicated = SegmentHeader { format: LogFormat::Replicated, ..SEGMENT };
    let bytes = segment(&replicated);
    expect_test::expect_file!["../golden/segment-header-v2.hex"].assert_eq(&hex(&bytes));
    assert_eq!(SegmentHeader::decode(CHECKSUM, &bytes), Ok(replicated));
}

#[test]
fn every_flipped_bit_and_every_truncation_of_a_chunk_is_refused() {
    let bytes = chunks();
    let first = &bytes[..chunk(&bytes).len()];
    for (bit, damaged) in flipped(first) {
        assert!(!matches!(read_chunk(seal(), &damaged), Chunked::Chunk(_)), "bit {bit}");
        let followed = [damaged.as_slice(), &bytes[first.len()..]].concat();
        assert!(!matches!(read_chunk(seal(), &followed), Chunked::Chunk(_)), "bit {bit}");
    }
    for len in 0..first.len() {
        assert!(matches!(read_chunk(seal(), &first[..len]), Chunked::Torn), "{len}");
    }
    let other = Seal::new(CHECKSUM, LOG_ID ^ 1);
    assert!(matches!(read_chunk(other, &bytes), Chunked::Damaged(_)));
}

#[test]
fn what_is_sealed_is_taken_and_what_is_open_stays() {
    let mut writer = ChunkWriter::new(seal());
    let whole = Positions { from: 0, to: 0 };
    assert!(writer.is_empty());
    writer.entry(&ENTRIES[0]);
    writer.seal(whole, 1);
    writer.entry(&ENTRIES[1]);
    writer.entry(&ENTRIES[2]);
    assert_eq!((writer.count(), writer.is_empty()), (2, false));
    let open_len = writer.open_len();
    let mut taken = b"what was there before".to_vec();
    writer.take_sealed(&mut taken);
    assert_eq!((chunk(&taken).count(), chunk(&taken).len()), (1, taken.len()));
    assert_eq!(writer.open_len(), open_len);
    writer.seal(whole, 2);
    writer.take_sealed(&mut taken);
    assert_eq!((chunk(&taken).as_of(), chunk(&taken).len()), (2, taken.len()));
    let entries: Result<Vec<SnapshotEntry<'_>>, RecordError> = chunk(&taken).entries().collect();
    assert_eq!(entries.as_deref(), Ok(&ENTRIES[1..3]));
    assert_eq!((writer.count(), writer.open_len()), (0, CHUNK_HEADER_LEN));
}

#[test]
fn entries_that_no_writer_writes_are_refused() {
    let ends = RecordError::Malformed(Malformed::Ends);
    let choice = RecordError::Malformed(Malformed::Choice);
    let wrong: [(&[u8], RecordError); 9] = [
        (&[], ends),
        (&[4, 0, 1, 1, b'k', b'v'], RecordError::Kind(4)),
        (&[0, 4, 1, 1, b'k', b'v'], choice),
        (&[0, 2, 0, 1, 1, b'k', b'v'], choice),
        (&[1, 1, 0, 1, 1, b'k', b'v'], choice),
        (&[2, 0, 1, 1, b'k', b'v'], choice),
        (&[3, 2, 0, 1, 0, b'k'], choice),
        (&[3, 3, 0, 0, 1, 1, b'k', b'v'], choice),
        (&[0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x7f, b'k'], ends),
    ];
    for (body, error) in wrong {
        let bytes = chunk_of(body, 1);
        let mut entries = chunk(&bytes).entries();
        assert_eq!(entries.next(), Some(Err(error)), "{body:?}");
        assert_eq!(entries.next(), None, "an error is the end");
    }
    let bytes = chunk_of(&[0], 0);
    let left = RecordError::Malformed(Malformed::Left(1));
    assert_eq!(chunk(&bytes).entries().next(), Some(Err(left)));
}

#[test]
fn headers_and_the_footer_come_back() {
    let bytes = [segment(&SEGMENT), b"frames".to_vec()].concat();
    assert_eq!(bytes.len(), SegmentHeader::LEN + 6);
    assert_eq!(SegmentHeader::decode(CHECKSUM, &bytes), Ok(SEGMENT));
    let bytes = [header(&HEADER), b"chunks".to_vec()].concat();
    assert_eq!(bytes.len(), SnapshotHeader::LEN + 6);
    assert_eq!(SnapshotHeader::decode(CHECKSUM, &bytes), Ok(HEADER));
    assert_eq!(footer().len(), SnapshotFooter::LEN);
    assert_eq!(SnapshotFooter::decode(seal(), &footer()), Ok(FOOTER));
    let other = Seal::new(CHECKSUM, LOG_ID + 1);
    assert_eq!(SnapshotFooter::decode(other, &footer()), Err(HeaderError::Checksum));
}

#[test]
fn every_flipped_bit_and_every_truncation_of_a_header_is_refused() {
    for (bit, bytes) in flipped(&segment(&SEGMENT)) {
        assert!(SegmentHeader::decode(CHECKSUM, &bytes).is_err(), "bit {bit}");
    }
    let whole = header(&HEADER);
    for (bit, bytes) in flipped(&whole) {
        assert!(SnapshotHeader::decode(CHECKSUM, &bytes).is_err(), "bit {bit}");
    }
    for len in 0..whole.len() {
        assert!(SnapshotHeader::decode(CHECKSUM, &whole[..len]).is_err(), "{len}");
    }
    for (bit, bytes) in flipped(&footer()) {
        assert!(SnapshotFooter::decode(seal(), &bytes).is_err(), "bit {bit}");
    }
    for len in 1..SegmentHeader::LEN {
        let bytes = &segment(&SEGMENT)[..len];
        assert_eq!(SegmentHeader::decode(CHECKSUM, bytes), Err(HeaderError::Short), "{len}");
    }
    for len in 1..SnapshotFooter::LEN {
        assert!(SnapshotFooter::decode(seal(), &footer()[..len]).is_err(), "{len}");
        assert!(SnapshotFooter::decode(seal(), &footer()[len..]).is_err(), "{len}");
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let segment = segment(&SEGMENT);
    let said = |at: usize, with: u8| {
        let mut bytes = segment.clone();
        bytes[at] = with;
        SegmentHeader::decode(CHECKSUM, &bytes).expect_err("it is wrong").to_string()
    };
    assert_eq!(said(8, 3), "written by a newer Scurry (format 3); this one reads up to 2");
    assert_eq!(said(8, 2), "header is damaged: its checksum is another");
    assert_eq!(said(8, 0), "unknown format 0");
    assert_eq!(said(0, b's'), "not a log segment");
    assert_eq!(said(20, 0xff), "header is damaged: its checksum is another");
    // A newer header may have another length.
    let mut newer = segment[..10].to_vec();
    newer[8] = 3;
    let error = SegmentHeader::decode(CHECKSUM, &newer);
    assert_eq!(error, Err(HeaderError::Newer { found: 3, known: 2 }));
    assert_eq!(
        SnapshotHeader::decode(CHECKSUM, &segment),
        Err(HeaderError::Magic(FileKind::Snapshot))
    );
    let error = SegmentHeader::decode(CHECKSUM, &[]);
    assert_eq!(error, Err(HeaderError::Magic(FileKind::Segment)));
    let error = SnapshotFooter::decode(seal(), &[0; SnapshotFooter::LEN]);
    assert_eq!(error, Err(HeaderError::Magic(FileKind::SnapshotEnd)));
}

/// The key must not be shown in any assertion message, log line or panic.
#[test]
fn the_key_of_the_hash_is_not_shown() {
    assert_eq!(format!("{KEY:?}"), "HashKey(secret)");
    let shown = format!("{HEADER:?}");
    assert!(shown.contains("key: HashKey(secret)"), "{shown}");
}
