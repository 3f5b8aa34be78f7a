//! The end of a shard's log in the host's memory: the position of the next entry, and the frames of the last entries,
//! which other nodes may need.

use crate::replica::{ByteCount, Descriptor, Entry, EntryKind, Index, Sequence, Term};
use crate::shard::channel::FrameBytes;
use crate::shard::position::Mark;
use scurry_codec::{
    FrameWriter, Framed, GroupMembers, LogEntry, Record, Seal, checked_frame, content_of,
    put_entry, read_frame,
};
use scurry_ledger::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// Content of the record that ends a change of members.
pub(crate) const SWITCHED: &[u8] = &[0];

/// Maximum bytes of frames that are kept although their entries are committed and applied.
const KEPT_LEN_MAX: ByteCount = ByteCount(64 << 20);

/// The end of the log, after which the next entry is appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The last entry.
    pub(crate) index: Index,
    /// The last record of that entry.
    pub(crate) sequence: Sequence,
    /// The time of that entry.
    pub(crate) at: Time,
    /// The chain value of the next entry.
    pub(crate) chain: u32,
}

/// An entry's frame, and the end of the log after it.
#[derive(Clone, Debug)]
struct StoredFrame {
    body: FrameBytes,
    behind: End,
}

/// The frames of the last entries.
#[derive(Debug)]
pub(crate) struct EntryFrames {
    seal: Seal,
    /// The end of the log before the first kept entry.
    before: End,
    kept: VecDeque<StoredFrame>,
    /// Bytes of the kept frames.
    len: ByteCount,
}

impl EntryFrames {
    pub(crate) fn new(seal: Seal, end: End) -> EntryFrames {
        EntryFrames { seal, before: end, kept: VecDeque::new(), len: ByteCount(0) }
    }

    /// Asserts what holds between two calls: each kept entry follows the one before it.
    fn check(&self) {
        let (Some(first), Some(last)) = (self.kept.front(), self.kept.back()) else {
            assert!(self.len == ByteCount(0), "bytes are counted of frames that are gone");
            return;
        };
        assert!(first.behind.index == self.before.index.next(), "the first kept entry has a gap");
        let end = self.before.index.0 + self.kept.len() as u64;
        assert!(last.behind.index == Index(end), "a kept entry is missing or twice there");
        assert!(first.behind.sequence > self.before.sequence, "a kept entry has no record");
        assert!(last.behind.sequence >= first.behind.sequence, "sequences of kept entries fall");
        assert!(self.len >= ByteCount::of(&last.body), "a kept frame is not counted");
    }

    /// Returns the empty end of another log, after its base.
    pub(crate) fn begun_at(&self, base: End) -> EntryFrames {
        EntryFrames::new(self.seal, base)
    }

    /// Returns the end of the log.
    pub(crate) fn end(&self) -> End {
        self.kept.back().map_or(self.before, |kept| kept.behind)
    }

    /// Returns the end of the log after a frame that was read from the device.
    pub(crate) fn end_behind(&self, body: &[u8]) -> Option<End> {
        end_behind(self.seal, body)
    }

    /// Returns the end of the log before the first kept entry.
    pub(crate) fn before(&self) -> End {
        self.before
    }

    /// Returns the frame of an entry; None when it is not kept.
    pub(crate) fn get(&self, index: Index) -> Option<&FrameBytes> {
        self.at(index).map(|kept| &kept.body)
    }

    /// Returns the end of the log after a kept entry, or after the entry before the first kept one.
    pub(crate) fn behind(&self, index: Index) -> Option<End> {
        if index == self.before.index {
            return Some(self.before);
        }
        self.at(index).map(|kept| kept.behind)
    }

    fn at(&self, index: Index) -> Option<&StoredFrame> {
        let at = index.0.checked_sub(self.before.index.0 + 1)?;
        self.kept.get(usize::try_from(at).ok()?)
    }

    /// Removes the entries from this index on.
    pub(crate) fn truncate(&mut self, from: Index) {
        // Frames are dropped after they are committed and applied, and these are never cut off.
        assert!(from > self.before.index, "{from:?} is cut off and was dropped as committed");
        while self.kept.back().is_some_and(|kept| kept.behind.index >= from)
            && let Some(kept) = self.kept.pop_back()
        {
            self.len -= ByteCount::of(&kept.body);
        }
        assert!(self.end().index < from, "the log still has {from:?}");
        self.check();
    }

    /// Appends an entry in the form that this node stores: with the given frame, or a new one for an entry that no
    /// command made. Refuses a frame that does not follow the end.
    pub(crate) fn push(
        &mut self,
        entry: &Entry,
        body: Option<FrameBytes>,
        mark: Mark,
    ) -> Result<FrameBytes, String> {
        let end = self.end();
        // A start would take a torn end of the log for damage.
        assert!(mark.synced <= end.sequence, "a frame calls later records synced: {mark:?}");
        let body = match body {
            Some(body) => body,
            None if entry.kind == EntryKind::Empty => Arc::new(self.group_frame(&[])),
            None if entry.kind == EntryKind::MembersFinal => Arc::new(self.group_frame(SWITCHED)),
            None => return Err(format!("entry {} has come without its frame", entry.index.0)),
        };
        // The frame is copied when others still use it: its place and mark are overwritten below.
        let mut bytes = Arc::try_unwrap(body).unwrap_or_else(|shared| shared.to_vec());
        let content = match &entry.kind {
            // Computed when the frame was described, and compared when it was received.
            EntryKind::Frame(descriptor) => descriptor.checksum,
            _ => content_of(self.seal, &bytes).ok_or("a frame is too short")?,
        };
        let place = LogEntry {
            term: entry.term,
            index: entry.index,
            committed: mark.committed,
            chain: end.chain,
            content,
        };
        // The mark is this node's own: the leader's says nothing about this device.
        put_entry(self.seal, &mut bytes, &place, mark.synced);
        let frame = checked_frame(self.seal, &bytes).ok_or("a frame is too short")?;
        if frame.first() != end.sequence.next().0
            || frame.count() == 0
            || entry.index != end.index.next()
        {
            return Err(format!(
                "entry {} begins with sequence {}, the log ends with entry {} and sequence {}",
                entry.index.0,
                frame.first(),
                end.index.0,
                end.sequence.0
            ));
        }
        let behind = End {
            index: entry.index,
            sequence: Sequence(frame.next() - 1),
            at: frame.at(),
            chain: place.next_chain(self.seal),
        };
        let body = Arc::new(bytes);
        // A start reads back exactly this place, or finds no log here.
        assert!(self.end_behind(&body) == Some(behind), "a frame does not say where it belongs");
        self.len += ByteCount::of(&body);
        self.kept.push_back(StoredFrame { body: body.clone(), behind });
        self.check();
        Ok(body)
    }

    /// Appends a stored entry with the frame that was read from the device. None for a frame that is damaged or does
    /// not follow the end.
    pub(crate) fn push_stored(&mut self, bytes: Vec<u8>) -> Option<()> {
        let Framed::Frame(frame) = read_frame(self.seal, &bytes) else { return None };
        let (end, behind) = (self.end(), end_behind(self.seal, &bytes)?);
        let follows = behind.index == end.index.next()
            && frame.first() == end.sequence.next().0
            && behind.sequence > end.sequence;
        if !follows {
            return None;
        }
        self.len += ByteCount::of(&bytes);
        self.kept.push_back(StoredFrame { body: Arc::new(bytes), behind });
        self.check();
        Some(())
    }

    /// Returns a frame after the end for an entry that no command made.
    pub(crate) fn group_frame(&self, members: &[u8]) -> Vec<u8> {
        let end = self.end();
        let mut writer = FrameWriter::new(self.seal, end.sequence.next().0);
        writer.group(members);
        writer.seal(0, end.at);
        let mut frame = Vec::new();
        writer.take_sealed(&mut frame);
        frame
    }

    /// Returns a mark: a frame without records after the end. It says that everything up to a sequence is on the
    /// device, so that a recovery does not take earlier damage for a torn write. `term` is that of the last entry.
    pub(crate) fn mark(&self, term: Term, mark: Mark) -> Option<Vec<u8>> {
        let end = self.end();
        // A start refuses a log that ends before what a mark calls synced.
        assert!(mark.synced <= end.sequence, "a mark calls later records synced: {mark:?}");
        assert!(mark.committed <= end.index, "a mark calls later entries committed: {mark:?}");
        let mut writer = FrameWriter::new(self.seal, end.sequence.next().0);
        writer.seal(0, end.at);
        let mut frame = Vec::new();
        writer.take_sealed(&mut frame);
        let content = content_of(self.seal, &frame)?;
        let place = LogEntry {
            term,
            index: end.index,
            committed: mark.committed,
            chain: end.chain,
            content,
        };
        put_entry(self.seal, &mut frame, &place, mark.synced).then_some(frame)
    }

    /// Drops the oldest frames of entries up to this index while the kept frames exceed [`KEPT_LEN_MAX`].
    pub(crate) fn evict(&mut self, to: Index) {
        while self.len > KEPT_LEN_MAX
            && self.kept.front().is_some_and(|kept| kept.behind.index <= to)
            && let Some(kept) = self.kept.pop_front()
        {
            self.len -= ByteCount::of(&kept.body);
            self.before = kept.behind;
        }
        self.check();
    }

    /// Returns true when a received frame matches the description in its entry.
    pub(crate) fn is_of(&self, entry: &Entry, body: &[u8]) -> bool {
        let Framed::Frame(frame) = read_frame(self.seal, body) else { return false };
        let Some(place) = frame.entry() else { return false };
        let is_content = match &entry.kind {
            EntryKind::Frame(Descriptor { first, last, len, checksum }) => {
                let records = (frame.first(), frame.next().checked_sub(1));
                (records, place.content) == ((first.0, Some(last.0)), *checksum)
                    && *len == ByteCount::of(body)
            }
            EntryKind::Empty | EntryKind::MembersFinal | EntryKind::Members(_) => {
                frame.count() == 1
            }
        };
        is_content && (place.term, place.index) == (entry.term, entry.index)
    }

    /// Returns the members that the frame of a change of members names.
    pub(crate) fn members(&self, body: &[u8]) -> Option<GroupMembers> {
        let frame = checked_frame(self.seal, body)?;
        match frame.records().next()?.ok()? {
            Record::Group { members } => GroupMembers::decode(members).ok(),
            _ => None,
        }
    }

    /// Returns the descriptor of a frame; None when the bytes are not a frame with records.
    pub(crate) fn describe(&self, frame: &[u8]) -> Option<Descriptor> {
        describe(self.seal, frame)
    }
}

/// Returns the end of the log after a stored frame.
pub(crate) fn end_behind(seal: Seal, bytes: &[u8]) -> Option<End> {
    let frame = checked_frame(seal, bytes)?;
    let place = frame.entry()?;
    Some(End {
        index: place.index,
        sequence: Sequence(frame.next() - 1),
        at: frame.at(),
        chain: place.next_chain(seal),
    })
}

/// Returns the chain value with which a frame was stored.
pub(crate) fn chain_of(seal: Seal, frame: &[u8]) -> Option<u32> {
    Some(checked_frame(seal, frame)?.entry()?.chain)
}

fn describe(seal: Seal, bytes: &[u8]) -> Option<Descriptor> {
    let first = u64::from_le_bytes(*bytes.get(8..)?.first_chunk()?);
    let count = u32::from_le_bytes(*bytes.get(32..)?.first_chunk()?);
    let last = (first + u64::from(count)).checked_sub(1).filter(|_| count > 0)?;
    // The length is a u32 in the frame and between nodes.
    let len = u32::try_from(bytes.len()).ok().map(|len| ByteCount(len.into()))?;
    let (first, last) = (Sequence(first), Sequence(last));
    Some(Descriptor { first, last, len, checksum: content_of(seal, bytes)? })
}

/// Splits concatenated frames; there is nearly always only one.
pub(crate) fn frames_of(mut bytes: Vec<u8>) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some(head) = bytes.first_chunk() {
        let len = usize::try_from(u32::from_le_bytes(*head)).unwrap_or(usize::MAX);
        let rest = bytes.split_off(len.clamp(1, bytes.len()));
        frames.push(std::mem::replace(&mut bytes, rest));
    }
    frames
}
