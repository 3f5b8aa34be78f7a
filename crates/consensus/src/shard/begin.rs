//! Creates a shard's group from the contents of the shard's files, and recovers the shard up to the commit.

use crate::replica::{
    Descriptor, Entry, EntryKind, Members, NodeId, Recovered, Replica, Sequence, Settings, Vote,
};
use crate::shard::channel::{HostEnd, Progress, RebuiltShard, ToCore, WakeFn};
use crate::shard::device::{LogDevice, Task};
use crate::shard::entry_frames::{End, EntryFrames, SWITCHED, chain_of};
use crate::shard::position::LogPosition;
use crate::shard::shard_group::{InitialState, ShardGroup, base_from};
use scurry_codec::{GroupMembers, LogFormat};
use scurry_engine::{
    Config, Disk, FollowError, GroupEntry, GroupLog, LogBallot, LogBase, LogFollower, LogId,
    LogRetention, LogWriter, RecoveryEnd, RecoveryError, Shard, SnapshotSequences, Version,
    recover,
};
use scurry_ledger::Time;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// A shard's files and their contents.
pub struct ShardFiles<D: Disk> {
    /// The log.
    pub log: LogId,
    /// The entries of the log.
    pub found: GroupLog,
    /// The vote.
    pub ballot: LogBallot<D::File>,
    /// The end of the log, where entries are written.
    pub writer: LogWriter<D>,
    /// Reader for frames that are no longer in memory.
    pub reader: LogFollower<D>,
    /// The snapshots on the device.
    pub snapshots: Vec<SnapshotSequences>,
}

impl<D: Disk> ShardFiles<D> {
    /// Returns the end of the last kept entry that is known to be committed.
    pub fn committed(&self) -> LogPosition {
        self.found.committed(&self.snapshots)
    }

    /// Returns the sequence that must be committed before a snapshot can be used. None when one can be used already, or
    /// none is suitable.
    pub fn shows(&self) -> Option<Sequence> {
        self.found.shows(&self.snapshots)
    }
}

/// A shard's group, and the other ends of its channels.
pub struct ShardGroupParts<D: Disk> {
    /// The group.
    pub group: ShardGroup,
    /// The device that executes its tasks.
    pub device: LogDevice<D>,
    /// Tasks for the device.
    pub tasks: Receiver<Task>,
    /// Reader for frames that are no longer in memory.
    pub reader: LogFollower<D>,
    /// Orders for the core.
    pub orders: Receiver<ToCore>,
    /// Numbers that the core reads.
    pub progress: Arc<Progress>,
}

/// Creates a shard's group from its files. `settings` are the replica's. `founder` is the only member before the first
/// entry of the group's life. `retention` says how much of the log is kept although nothing needs it. `ring` wakes the core.
pub fn begin<D: Disk>(
    shard: u16,
    files: ShardFiles<D>,
    settings: Settings,
    founder: NodeId,
    retention: LogRetention,
    ring: WakeFn,
) -> Result<ShardGroupParts<D>, String> {
    let applied = files.committed();
    let shows = files.shows();
    let ShardFiles { log, found, ballot, writer, mut reader, snapshots } = files;
    let seal = log.seal_in(LogFormat::Replicated);
    let newest = ballot.newest();
    let vote = Vote { term: newest.term, candidate: NodeId::new(newest.node) };
    let log_base = found.base.clone().unwrap_or_else(|| LogBase {
        chain: seal.chain_start(),
        voters: vec![founder.get()],
        ..LogBase::default()
    });
    // A log without a base begins with the founder as the only member.
    let base = base_from(&log_base)?;
    let entry = found.entries.iter().find(|entry| entry.index == applied.index);
    let at = entry.map_or(Time(log_base.at), |entry| entry.at);
    let last = found.entries.last().map_or(log_base.index, |entry| entry.index);
    // The group keeps the frames of all entries after the commit in memory.
    let mut tail = Vec::new();
    if applied.index < last {
        let error = |error: FollowError| error.to_string();
        reader.seek(applied.sequence.next().0).map_err(error)?;
        while tail.len() as u64 + applied.index.get() < last.get()
            && let Some(frame) = reader.raw().map_err(error)?
        {
            tail.push(frame.to_vec());
        }
    }
    // The chain value for the entry after the commit; the first such frame was stored with it.
    let chain = match tail.first() {
        Some(frame) => chain_of(seal, frame).ok_or("a frame of the log is none")?,
        None => found.chain,
    };
    let end = End { index: applied.index, sequence: applied.sequence, at, chain };
    let mut kept = EntryFrames::new(seal, end);
    for frame in tail {
        kept.push_stored(frame).ok_or("a frame of the log is none, or is not the next one")?;
    }
    if kept.end().index != last {
        let (end, last) = (kept.end().index.get(), last.get());
        return Err(format!("the log ends at entry {last} and can be read up to {end}"));
    }
    let named = found.entries.iter().rev().find_map(|entry| {
        let bytes = entry.members.as_ref().filter(|bytes| bytes.len() > 1)?;
        GroupMembers::decode(bytes).ok()
    });
    let entries: Vec<Entry> = found.entries.iter().map(entry_of).collect::<Result<_, _>>()?;
    // A snapshot may show more than the frames say is committed.
    let committed = found.committed.max(applied.index);
    let recovered = Recovered { vote, base, entries, committed };
    let replica =
        Replica::new(settings, recovered).map_err(|error| format!("shard {shard}: {error}"))?;
    let (store, tasks) = channel();
    let (to_core, orders) = channel();
    let progress = Arc::new(Progress::default());
    progress.note_applied(applied.sequence);
    let beginning = InitialState {
        shard,
        replica,
        bodies: kept,
        core: HostEnd { orders: to_core, ring, progress: progress.clone() },
        store,
        applied,
        named,
        base: log_base,
        snapshot: snapshots.last().copied(),
        shows,
    };
    let device = LogDevice { writer, ballot, retention };
    Ok(ShardGroupParts {
        group: ShardGroup::new(beginning),
        device,
        tasks,
        reader,
        orders,
        progress,
    })
}

fn entry_of(entry: &GroupEntry) -> Result<Entry, String> {
    let kind = match entry.members.as_deref() {
        None => EntryKind::Frame(Descriptor {
            first: entry.first,
            last: entry.last,
            len: entry.len,
            checksum: entry.content,
        }),
        Some([]) => EntryKind::Empty,
        Some(bytes) if bytes == SWITCHED => EntryKind::MembersFinal,
        Some(bytes) => {
            let named = GroupMembers::decode(bytes).map_err(|error| error.to_string())?;
            let of = |votes| {
                let members = named.members.iter().filter(move |member| member.votes == votes);
                members.filter_map(|member| NodeId::new(member.id))
            };
            let members = Members::new(of(true), of(false)).map_err(|error| error.to_string())?;
            EntryKind::Members(Box::new(members))
        }
    };
    Ok(Entry { term: entry.term, index: entry.index, kind })
}

/// Recovers a shard from the device up to a committed sequence, while the log's thread appends after it.
pub fn recover_to<D: Disk>(
    disk: &mut D,
    log: LogId,
    config: Config,
    sequence: Sequence,
) -> Result<RebuiltShard, RecoveryError> {
    let mut shard = Box::new(Shard::new(config));
    let until = RecoveryEnd::Committed(sequence.get());
    let found = recover(disk, log, until, shard.as_mut(), |_| {})?;
    shard.note_version(Version::new(found.version_last).unwrap_or(Version::LAST));
    shard.keep_journal_in(log, LogFormat::Replicated, sequence.next().get());
    Ok(RebuiltShard { shard, at: found.at })
}
