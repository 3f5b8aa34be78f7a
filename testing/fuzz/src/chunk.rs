//! Chunks of a snapshot: no bytes make the reader panic, with a right or wrong checksum. A chunk has exactly one
//! encoding.

use crate::frame::{LOG_ID, with_valid_checksum};
use scurry_codec::{Chunk, ChunkWriter, Chunked, Seal, decode_account, read_chunk};
use scurry_ledger::{Account, Status};

fn seal() -> Seal {
    Seal::new(crc32c::crc32c_append, LOG_ID)
}

/// Reads the input as a chunk, and again with corrected length and checksum.
pub fn check(data: &[u8]) {
    if let Chunked::Chunk(chunk) = read_chunk(seal(), data) {
        read(&chunk, data);
    }
    if let Some(data) = with_valid_checksum(data) {
        match read_chunk(seal(), &data) {
            Chunked::Chunk(chunk) => read(&chunk, &data),
            other => panic!("its checksum is right: {other:?}"),
        }
    }
}

fn read(chunk: &Chunk<'_>, data: &[u8]) {
    let mut writer = ChunkWriter::new(seal());
    let mut entries = chunk.entries();
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else {
            assert!(entries.next().is_none(), "an error is the end");
            return;
        };
        if let scurry_codec::SnapshotEntry::Account { image, .. } = entry {
            // An image may be invalid; it must not panic.
            let _ = decode_account(image, &mut Account::empty(Status::Active));
        }
        writer.entry(&entry);
    }
    assert_eq!(writer.count(), chunk.count(), "entries are missing");
    writer.seal(chunk.positions(), chunk.as_of());
    let mut bytes = Vec::new();
    writer.take_sealed(&mut bytes);
    assert_eq!(bytes, data[..chunk.len()], "a chunk has two forms");
}
