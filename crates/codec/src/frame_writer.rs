//! Writes frames: records are added to the open frame until it is sealed.

use crate::change::TouchedBuckets;
use crate::change::put_change;
use crate::entry_frame;
use crate::framing;
use crate::pairs::BucketNameWriter;
use crate::pen::FieldWriter;
use crate::record::kind;
use crate::{FRAME_LEN_MAX, LogFormat, Seal};
use alloc::vec::Vec;
use scurry_ledger::{Account, Bucket, Change, Time};

/// Builds consecutive frames in one buffer, which group commit writes.
#[derive(Debug)]
pub struct FrameWriter {
    seal: Seal,
    /// Sealed frames, then the open one, whose header is not filled in yet.
    bytes: Vec<u8>,
    /// End of the written bytes. The buffer is longer, so that a record finds room that need not be zeroed first.
    end: usize,
    /// Offset of the open frame.
    open: usize,
    /// Sequence of the open frame's first record.
    first: u64,
    /// Number of records of the open frame.
    count: u32,
    /// Time of the last sealed frame.
    latest: Time,
    pairs: BucketNameWriter,
}

impl FrameWriter {
    /// Returns a writer. `next` is the sequence of the first record to be written.
    pub fn new(seal: Seal, next: u64) -> FrameWriter {
        let mut writer = FrameWriter {
            seal,
            bytes: Vec::new(),
            end: 0,
            open: 0,
            first: next,
            count: 0,
            latest: Time(i64::MIN),
            pairs: BucketNameWriter::new(),
        };
        writer.begin();
        writer
    }

    /// Returns the format of the frames.
    pub fn format(&self) -> LogFormat {
        self.seal.format()
    }

    /// Writes a Change of an account. `after` is the account after the Change: the balances of the buckets that the
    /// Change names are written too.
    pub fn account(&mut self, id: &[u8], change: &Change, after: Option<&Account>) {
        let (mut pen, pairs) = self.record(kind::ACCOUNT);
        pen.string(id);
        let touched = pen.with_len_prefix(|pen| put_change(pen, change));
        pen.varint(after.map_or(0, |after| after.version));
        match after {
            Some(after) => put_balances(&mut pen, pairs, &touched, &after.buckets),
            None => pen.varint(0),
        }
        self.end = pen.end();
    }

    /// Writes that a plain value is set; `expires` is absolute.
    pub fn value(&mut self, key: &[u8], expires: Option<Time>, value: &[u8]) {
        let (mut pen, _) = self.record(with_expiry(kind::VALUE, expires));
        pen.string(key);
        put_expiry(&mut pen, expires);
        pen.string(value);
        self.end = pen.end();
    }

    /// Writes that a tail is appended to a plain value; a missing value counts as empty.
    pub fn append(&mut self, key: &[u8], tail: &[u8]) {
        let (mut pen, _) = self.record(kind::APPEND);
        pen.string(key);
        pen.string(tail);
        self.end = pen.end();
    }

    /// Writes the new expiry of a plain value; `None` for never.
    pub fn expiry(&mut self, key: &[u8], expires: Option<Time>) {
        let (mut pen, _) = self.record(with_expiry(kind::EXPIRY, expires));
        pen.string(key);
        put_expiry(&mut pen, expires);
        self.end = pen.end();
    }

    /// Writes the removal of a key of any kind but an account.
    pub fn remove(&mut self, key: &[u8]) {
        let (mut pen, _) = self.record(kind::REMOVE);
        pen.string(key);
        self.end = pen.end();
    }

    /// Writes that an entity is set; `expires` is absolute.
    pub fn entity(&mut self, key: &[u8], version: u64, expires: Option<Time>, value: &[u8]) {
        let (mut pen, _) = self.record(with_expiry(kind::ENTITY, expires));
        pen.string(key);
        pen.varint(version);
        put_expiry(&mut pen, expires);
        pen.string(value);
        self.end = pen.end();
    }

    /// Writes that an entity is deleted, and remembered until `forget_at`.
    pub fn tombstone(&mut self, key: &[u8], version: u64, forget_at: Time) {
        let (mut pen, _) = self.record(kind::TOMBSTONE);
        pen.string(key);
        pen.varint(version);
        pen.time(forget_at, Time(0));
        self.end = pen.end();
    }

    /// Writes that everything is removed.
    pub fn clear(&mut self) {
        let (pen, _) = self.record(kind::CLEAR);
        self.end = pen.end();
    }

    /// Writes that an account is replaced by its image.
    pub fn image(&mut self, id: &[u8], image: &[u8]) {
        let (mut pen, _) = self.record(kind::IMAGE);
        pen.string(id);
        pen.string(image);
        self.end = pen.end();
    }

    /// Writes an entry of a group's log that no command has made: new members, or no bytes for the first entry of a
    /// leader.
    pub fn group(&mut self, members: &[u8]) {
        let (mut pen, _) = self.record(kind::GROUP);
        pen.string(members);
        self.end = pen.end();
    }

    /// Writes what the leader's memory has: bytes of a [`StateDigest`](crate::StateDigest).
    pub fn digest(&mut self, digest: &[u8]) {
        let (mut pen, _) = self.record(kind::DIGEST);
        pen.string(digest);
        self.end = pen.end();
    }

    /// Returns the sequence of the next record. Sequences saturate at the greatest number.
    pub fn next(&self) -> u64 {
        self.first.saturating_add(u64::from(self.count))
    }

    /// Returns the length in bytes of all frames that have not been taken yet.
    pub fn len(&self) -> usize {
        self.end
    }

    /// Reports whether the open frame has no record.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the length of the open frame in bytes, header included. Seal it before a record would make it longer
    /// than [`FRAME_LEN_MAX`].
    pub fn open_len(&self) -> usize {
        self.end - self.open
    }

    /// Returns the time of the last sealed frame; before the first, the least possible time.
    pub fn latest(&self) -> Time {
        self.latest
    }

    /// Closes the open frame; without records it becomes a mark. `synced` is the greatest sequence known to be on the
    /// device. A frame of a replicated log gets that number with its place, by [`put_entry`](crate::put_entry), and
    /// must have a place before it is written. A clock that was set back does not set the frame's time back: searches
    /// for a time in a log rely on times that never decrease.
    ///
    /// # Panics
    /// If the frame is longer than [`FRAME_LEN_MAX`].
    #[expect(clippy::cast_sign_loss, reason = "the bits of the number")]
    pub fn seal(&mut self, synced: u64, at: Time) {
        self.latest = self.latest.max(at);
        let bytes = &mut self.bytes[self.open..self.end];
        match self.seal.format() {
            LogFormat::Single => {
                let numbers = [self.first, synced, self.latest.0 as u64];
                framing::close(self.seal, bytes, numbers, self.count);
            }
            LogFormat::Replicated => {
                entry_frame::begin(bytes, self.first, self.latest.0 as u64, self.count);
            }
        }
        self.first = self.next();
        self.begin();
    }

    /// Continues after frames that another writer has made. `next` is the sequence of the next record, and no later
    /// frame gets a time before `at`.
    ///
    /// # Panics
    /// If this writer holds a record or a frame, or has already given out the sequence `next`: a sequence would be
    /// lost.
    pub fn skip_to(&mut self, next: u64, at: Time) {
        let is_idle = self.open == 0 && self.is_empty();
        assert!(
            is_idle && next >= self.first,
            "a writer follows others while it has written nothing"
        );
        self.first = next;
        self.not_before(at);
    }

    /// Ensures that no frame that is sealed from now on has a time before `at`.
    pub fn not_before(&mut self, at: Time) {
        self.latest = self.latest.max(at);
    }

    /// Moves the sealed frames to `out`, and reuses its buffer; the old content of `out` is lost.
    pub fn take_sealed(&mut self, out: &mut Vec<u8>) {
        // The open frame is copied to the other buffer, and the buffers are swapped: sealed frames are not copied.
        out.clear();
        out.extend_from_slice(&self.bytes[self.open..self.end]);
        core::mem::swap(&mut self.bytes, out);
        out.truncate(self.open);
        self.end = self.bytes.len();
        self.open = 0;
    }

    /// Opens a frame after the sealed ones.
    fn begin(&mut self) {
        self.open = self.end;
        self.count = 0;
        self.pairs.clear();
        let mut pen = FieldWriter::from(&mut self.bytes, self.end);
        pen.bytes(&[0; framing::ENTRY_HEADER_LEN][..self.seal.header_len()]);
        self.end = pen.end();
    }

    /// Begins a record.
    fn record(&mut self, kind: u8) -> (FieldWriter<'_>, &mut BucketNameWriter) {
        debug_assert!(self.open_len() < FRAME_LEN_MAX);
        self.count += 1;
        // Makes room for the whole record at once, so that most writes into it need not grow the buffer.
        if self.bytes.len() < self.end + RECORD_ROOM {
            self.grow();
        }
        let mut pen = FieldWriter::from(&mut self.bytes, self.end);
        pen.byte(kind);
        (pen, &mut self.pairs)
    }

    /// Makes room for several records at once.
    #[cold]
    fn grow(&mut self) {
        self.bytes.resize(self.end + 4 * RECORD_ROOM, 0);
    }
}

/// Room that most records fit in, bytes.
const RECORD_ROOM: usize = 384;

pub(crate) fn with_expiry(kind: u8, expires: Option<Time>) -> u8 {
    if expires.is_some() { kind | kind::EXPIRES } else { kind }
}

pub(crate) fn put_expiry(pen: &mut FieldWriter<'_>, expires: Option<Time>) {
    if let Some(expires) = expires {
        pen.time(expires, Time(0));
    }
}

fn put_balances(
    pen: &mut FieldWriter<'_>,
    pairs: &mut BucketNameWriter,
    touched: &TouchedBuckets,
    buckets: &[Bucket],
) {
    let named = || buckets.iter().filter(|bucket| touched.has(bucket));
    pen.varint(named().count() as u64);
    for bucket in named() {
        pairs.put(pen, bucket.id, bucket.unit);
        pen.fields(|line| {
            line.varint(u64::from(bucket.no.0));
            line.signed(bucket.available);
            line.signed(bucket.held);
        });
    }
}
