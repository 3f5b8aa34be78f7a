//! Frames of a log: no bytes make the reader panic, with a right or wrong checksum. Everything read, written again,
//! reads the same.

use crate::change::one_form;
use scurry_codec::{
    Balance, DeferredRecord, Frame, FrameWriter, Framed, Index, LogEntry, LogFormat, Record,
    RecordSubject, Seal, Sequence, StateDigest, Term, content_of, put_entry, read_frame,
    read_raw_record,
};

/// Log id of the seed inputs.
pub const LOG_ID: u64 = 7;

/// Length of a frame's header in bytes; the checksum covers everything after the first eight.
const HEADER_LEN: usize = 36;

fn seal() -> Seal {
    Seal::new(crc32c::crc32c_append, LOG_ID)
}

/// Reads the input as a frame, and again with corrected length and checksum.
pub fn check(data: &[u8]) {
    if let Framed::Frame(frame) = read_frame(seal(), data) {
        read(&frame);
    }
    check_entry(data);
    if let Some(data) = with_valid_checksum(data) {
        match read_frame(seal(), &data) {
            Framed::Frame(frame) => read(&frame),
            other => panic!("its checksum is right: {other:?}"),
        }
    }
}

/// Reads the input as a frame of a replicated log, and again with corrected length and checksums.
fn check_entry(data: &[u8]) {
    let seal = seal().in_format(LogFormat::Replicated);
    if let Framed::Frame(frame) = read_frame(seal, data) {
        read(&frame);
    }
    let mut bytes = data.to_vec();
    let (Ok(len), Some(content)) = (u32::try_from(bytes.len()), content_of(seal, &bytes)) else {
        return;
    };
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    let place = LogEntry { term: Term(1), index: Index(2), committed: Index(3), chain: 4, content };
    assert!(put_entry(seal, &mut bytes, &place, Sequence(5)));
    match read_frame(seal, &bytes) {
        Framed::Frame(frame) => {
            assert_eq!((frame.entry(), frame.synced()), (Some(&place), 5));
            read(&frame);
        }
        other => panic!("its checksums are right: {other:?}"),
    }
}

/// Returns the bytes as a frame or a chunk with a correct length and checksum.
pub(crate) fn with_valid_checksum(data: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = data.to_vec();
    let len = u32::try_from(bytes.len()).ok()?;
    bytes.get_mut(..HEADER_LEN)?[..4].copy_from_slice(&len.to_le_bytes());
    let start = crc32c::crc32c(&LOG_ID.to_le_bytes());
    let sum = crc32c::crc32c_append(start, &bytes[8..]);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    Some(bytes)
}

/// Checks that a record that was passed on and decoded later equals the same record decoded at once.
fn same(record: &Record<'_>, passed: &[u8]) {
    match (record, read_raw_record(passed).expect("it was read before")) {
        (
            Record::Account { id, change, balances, .. },
            DeferredRecord::Account { id: i, change: c, left },
        ) => {
            assert_eq!((*id, *change), (i, c));
            let of = |balance: &Balance| (balance.bucket, balance.available, balance.held);
            let left = left.map(|left| left.expect("it was read before"));
            assert!(
                left.map(|left| (left.bucket, left.available, left.held))
                    .eq(balances.iter().map(of))
            );
        }
        (record, DeferredRecord::Other(other)) => assert_eq!(*record, other),
        other => panic!("{other:?}"),
    }
}

fn read(frame: &Frame<'_>) {
    let mut records = frame.records();
    let mut writer = FrameWriter::new(seal(), frame.first());
    let (mut count, mut expected) = (0, Vec::new());
    let mut passed = frame.records();
    while let Some(record) = records.next() {
        // The numbers of a record that is passed on are checked when it is decoded.
        let late = passed.pass();
        if let Ok(record) = &record {
            let late = late.expect("as many").expect("what can be read is passed on");
            let about = match record {
                Record::Group { .. } => RecordSubject::Nothing,
                other => other.key().map_or(RecordSubject::All, RecordSubject::Key),
            };
            assert_eq!(late.about, about);
            same(record, late.bytes);
        }
        let Ok(record) = record else {
            assert!(records.next().is_none(), "an error is the end");
            return;
        };
        count += 1;
        // Records with balances are compared without them: the writer takes balances from an account, and has none
        // here.
        if let Some(text) = write(&mut writer, &record) {
            expected.push(text);
        }
    }
    assert_eq!(count, frame.count(), "records are missing");
    writer.seal(frame.synced(), frame.at());
    let mut bytes = Vec::new();
    writer.take_sealed(&mut bytes);
    let Framed::Frame(again) = read_frame(seal(), &bytes) else { panic!("its own is refused") };
    assert_eq!(
        (again.first(), again.synced(), again.at()),
        (frame.first(), frame.synced(), frame.at())
    );
    assert_eq!(again.len(), bytes.len());
    let mut records = again.records();
    let mut found = Vec::new();
    while let Some(record) = records.next() {
        found.push(format!("{:?}", record.expect("it was just written")));
    }
    assert_eq!(found, expected);
}

/// Writes a record again. Returns its text; None when it cannot be written.
fn write(writer: &mut FrameWriter, record: &Record<'_>) -> Option<String> {
    match *record {
        Record::Account { id, change, .. } => {
            let decoded = one_form(change).ok()?;
            writer.account(id, &decoded, None);
            let alone = Record::Account { id, change, version: 0, balances: &[] };
            return Some(format!("{alone:?}"));
        }
        Record::Value { key, expires, value } => writer.value(key, expires, value),
        Record::Append { key, tail } => writer.append(key, tail),
        Record::Expiry { key, expires } => writer.expiry(key, expires),
        Record::Remove { key } => writer.remove(key),
        Record::Entity { key, version, expires, value } => {
            writer.entity(key, version, expires, value);
        }
        Record::Tombstone { key, version, forget_at } => writer.tombstone(key, version, forget_at),
        Record::Clear => writer.clear(),
        Record::Image { id, image } => writer.image(id, image),
        Record::Group { members } => writer.group(members),
        Record::Digest { digest } => {
            // No bytes make its reader panic.
            let _ = StateDigest::decode(digest);
            writer.digest(digest);
        }
    }
    Some(format!("{record:?}"))
}
