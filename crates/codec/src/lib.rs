//! Bytes that outlive a command: the account image, which is the form of an account in memory between two commands and
//! in a snapshot; the Change; the log; the snapshot. All are versioned, docs/formats has them byte by byte, and golden
//! tests pin them. No input makes a reader panic.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod byte_count;
mod change;
mod chunk;
mod chunk_writer;
mod cursor;
mod cycle;
mod entry;
mod entry_frame;
mod frame;
mod frame_writer;
mod framing;
mod group_members;
mod hash_key;
mod header;
mod image;
mod log_base;
mod log_header;
mod log_numbers;
mod pairs;
mod passed;
mod pen;
mod reader;
mod record;
mod records;
mod session_terms;
mod snapshot;
mod state_digest;
mod untrusted_image;
mod varint;
mod window;
mod writer;

pub use byte_count::ByteCount;
pub use change::{ChangeError, ChangeVisitor, decode_change, encode_change, read_change};
pub use chunk::{Chunk, Chunked, Entries, Positions, checked_chunk, read_chunk};
pub use chunk_writer::ChunkWriter;
pub use cursor::Malformed;
pub use entry::{ENTRY_LEN_MIN, SnapshotEntry};
pub use entry_frame::{LogEntry, content_of, put_entry};
pub use frame::{Frame, Framed, checked_frame, read_frame};
pub use frame_writer::FrameWriter;
pub use framing::{Checksum, FRAME_LEN_MAX, FrameError, LogFormat, Seal};
pub use group_members::{GroupMember, GroupMembers, GroupMembersError};
pub use hash_key::HashKey;
pub use header::{FileKind, HeaderError};
pub use image::{
    ImageError, decode_account, decode_item, decode_part, decode_session, decode_state,
    encode_account, encode_account_over, encode_item, encode_session, is_in_parts, mark_in_parts,
};
pub use log_base::LogBase;
pub use log_header::{Ballot, SegmentHeader, SyncedPart};
pub use log_numbers::{Index, LogPosition, Sequence, Term};
pub use passed::{
    BucketAmounts, BucketAmountsIter, DeferredRecord, Passed, RecordSubject, read_raw_record,
};
pub use record::{Balance, Record, RecordError};
pub use records::Records;
pub use snapshot::{SnapshotFooter, SnapshotHeader};
pub use state_digest::StateDigest;
pub use untrusted_image::{IMAGE_LEN_MAX, UntrustedImageError, decode_foreign_account};
