//! One shard, sans-I/O. It owns accounts, plain values and entities, decides commands on them, and releases or removes
//! expired entries that no command touches. It reads no clock and opens no file: the host passes `now` in and receives
//! outcomes.
#![forbid(unsafe_code)]

mod account_parts;
mod account_slot;
mod blocks;
mod chain;
mod config;
mod disk;
mod entity;
mod entry;
mod events;
mod identities;
mod index;
mod key;
mod log;
mod log_id;
mod outcome;
mod prepared;
mod recovery;
mod shard;
mod snapshot;
mod stats;
mod table;
mod timers;
mod transfer_name;
mod transfers;
mod value;
mod version;
mod working_account;

pub use account_parts::{ACCOUNT_LEN_MAX, APART_LEN, AccountParts, NeededParts};
pub use account_slot::AccountSlot;
pub use chain::{AccountSlots, ChainRoom};
pub use config::Config;
pub use disk::{Disk, File};
pub use entity::{
    Entity, EntityContent, EntityDelete, EntityFound, EntityPut, EntityState, EntityTerms,
    EntityWrite, VersionClock,
};
pub use entry::{KEY_LEN_MAX, VALUE_LEN_MAX};
pub use events::{
    Ending, Event, EventAt, EventFilter, EventReader, EventWithOrigin, Found, LowThresholds,
    Movement, Origin, OriginItem, Read, ReadBack, ReadEventsError, Stop, TimeRange, events_of,
};
pub use identities::UniqueIdentities;
pub use key::{Key, KeyHasher};
pub use log::{
    BASE_NAME, Batch, Commits, DiscardedTail, Durability, Failed, FollowError, FramePosition,
    History, LogBallot, LogError, LogExtent, LogFollower, LogReach, LogReader, LogRetention,
    LogSpace, LogWriter, Note, NoteError, NoteFile, SEGMENT_LEN_MAX, Vote, clear_incoming, extent,
    forget, incoming_name, is_disk_full, is_spare, read_base, remove_unclaimed_spares,
    segment_name, segment_of, sync_behind, write_base,
};
pub use log_id::{LogId, checksum};
pub use outcome::{ChainOutcome, LoadError, NoIndex, Outcome, ReadError, WriteError, WrongType};
pub use prepared::{PreparedEntry, Preparer};
pub use recovery::{
    GroupEntry, GroupLog, Progress, Recovered, RecoveryEnd, RecoveryError, RequiredExtent, Sink,
    look_at_group, recover, survey_group,
};
pub use scurry_codec::{ByteCount, HashKey, Index, LogBase, LogPosition, Sequence, Term};
pub use shard::{ChangedKeys, Compared, EntryCopy, ReplayError, Shard, Step, WalkLimit};
pub use snapshot::{
    Piece, Ranges, Snapshot, SnapshotError, SnapshotReader, SnapshotSequences, SnapshotWriter,
    shown_by_snapshots, snapshot_name, snapshot_of,
};
pub use stats::{Denials, Memory, PROBE_LEN_MAX, Stats};
pub use transfer_name::TransferName;
pub use transfers::{Courier, PayeeStep, StepResult};
pub use value::{Expiry, KeyKind, Value};
pub use version::{NODE_MAX, Version};
pub use working_account::{WorkingAccount, unpack};
