//! Tests of segments that are made from old ones, and of their state after a power failure.

use scurry_engine::{
    Commits, Config, DiscardedTail, Disk, Durability, Expiry, File, LogError, LogId, LogReader,
    LogRetention, LogWriter, Sequence, Shard, forget, segment_name, segment_of,
};
use scurry_ledger::Time;
use scurry_sim::{Crash, Faults, SimDisk};

const LOG: LogId = LogId { id: 7, core: 0 };
const NOW: Time = Time(1_700_000_000_000);
const SEGMENT_LEN: u64 = 600;
/// The number of frames, each with a value of 40 bytes, in a full segment.
const FRAMES: usize = 7;

/// A shard and its log. The tests treat old segments as if a snapshot had their records, so segments can be dropped.
struct Host {
    disk: SimDisk,
    shard: Shard,
    commits: Commits,
    writer: LogWriter<SimDisk>,
}

impl Host {
    fn new(durability: Durability, seed: u64) -> Host {
        let faults = Faults { room: true, ..Faults::default() };
        Host::on(SimDisk::new(seed, faults), durability, 1)
    }

    fn on(disk: SimDisk, durability: Durability, next: u64) -> Host {
        let mut shard = Shard::new(Config::default());
        shard.keep_journal(LOG, next);
        let writer = LogWriter::new(disk.clone(), LOG, SEGMENT_LEN);
        Host { disk, shard, commits: Commits::new(durability, next - 1), writer }
    }

    /// Writes one record in one frame.
    fn set(&mut self, value: &[u8]) {
        let key = self.shard.key(b"a");
        self.shard.set(NOW, key, value, Expiry::Never).expect("room");
        let mut batch = self.commits.batch(&mut self.shard, NOW).expect("something to write");
        let outcome = batch.run(&mut self.writer);
        // If the machine has stopped, the outcome does not matter.
        let _ = self.commits.done(batch, outcome);
    }

    /// Fills a number of segments, so that the next record begins another one.
    fn fill_segments(&mut self, count: usize) {
        for _ in 0..FRAMES * count {
            self.set(&[b'x'; 40]);
        }
    }

    fn names(&self) -> Vec<String> {
        self.disk.contents().into_iter().map(|(name, _)| name).collect()
    }

    fn segments(&self) -> Vec<u64> {
        self.names().iter().filter_map(|name| segment_of(name)).collect()
    }
}

/// Reads the log as a start does, as if a snapshot had the records of dropped segments. Returns the sequence after the
/// last record, and the cut.
fn start(disk: &SimDisk) -> Result<(u64, Option<DiscardedTail>), LogError> {
    let mut disk = disk.clone();
    let names = disk.list().map_err(LogError::Directory)?;
    let first = names.iter().filter_map(|name| segment_of(name)).min().unwrap_or(1);
    let mut reader = LogReader::new(&mut disk, LOG, first)?;
    while reader.frame()?.is_some() {}
    let (next, cut) = (reader.next(), reader.cut().cloned());
    reader.repair()?;
    Ok((next, cut))
}

/// Returns a host with three full segments, the first two of which have become spares. The next segment is made from a
/// spare.
fn reused(durability: Durability, seed: u64) -> Host {
    let mut host = Host::new(durability, seed);
    host.fill_segments(3);
    let third = host.segments()[2];
    forget(&mut host.disk, LOG, Sequence(third - 1), LogRetention::Nothing, Time(0))
        .expect("no faults");
    assert_eq!(host.segments(), [third]);
    assert_eq!(host.names().len(), 3, "two spares: {:?}", host.names());
    host
}

#[test]
fn an_old_segment_becomes_the_next_one() {
    let mut host = reused(Durability::Fsync, 0);
    host.set(b"first of the next");
    let (names, segments) = (host.names(), host.segments());
    assert_eq!((names.len(), segments.len(), host.disk.claimed_spares().0), (3, 2, 1), "{names:?}");
    let last = host.shard.sequence();
    let (next, cut) = start(&host.disk).expect("a sound disk");
    let cut = cut.expect("the end");
    // The old frames after the end do not belong to this segment.
    assert_eq!((next, cut.bytes), (last + 1, 0));
    assert_eq!(host.names().len(), 2, "spares are removed by a start: {:?}", host.names());
}

#[test]
fn a_spare_that_has_no_header_of_its_own_yet_ends_the_log() {
    for seed in 0..200 {
        let mut host = reused(Durability::Fsync, seed);
        let last = host.shard.sequence();
        // A spare becomes a segment in five operations: list, open, length, two renames. The machine stops after them.
        host.disk.stop_after(5 + seed % 3);
        host.set(b"never acknowledged");
        host.disk.restart(if seed % 2 == 0 { Crash::Process } else { Crash::Power });
        let segments = host.segments();
        let (next, _) = start(&host.disk).expect("nothing of it was promised");
        assert!(next == last + 1 || next == last + 2, "{next} after {last}");
        if seed % 6 == 0 {
            assert_eq!((segments.len(), next), (2, last + 1), "it was renamed, and no more");
            assert_eq!(host.segments().len(), 1, "it is removed");
        }
    }
}

#[test]
fn a_name_that_a_power_failure_brings_back_has_its_own_bytes() {
    for seed in 0..200 {
        let mut host = reused(Durability::Fsync, seed);
        // The machine may stop when the new bytes are on the device and the new name is not.
        host.disk.stop_after(4 + seed % 5);
        host.set(b"never acknowledged");
        host.disk.restart(Crash::Power);
        for (name, bytes) in host.disk.contents() {
            let Some(first) = segment_of(&name) else { continue };
            let header = u64::from_le_bytes(bytes[22..30].try_into().expect("8 bytes"));
            assert!(header <= first, "seed {seed}: {name} has the bytes of {header}");
        }
    }
}

#[test]
fn old_frames_behind_a_frame_that_was_half_written_are_no_proof() {
    let mut host = reused(Durability::Write, 0);
    host.set(&[b'y'; 40]);
    let last = host.shard.sequence();
    host.set(&[b'z'; 40]);
    // A byte of the last frame is wrong, and whole frames of the old segment follow it.
    let (name, bytes) = host
        .disk
        .contents()
        .into_iter()
        .rfind(|(name, _)| segment_of(name).is_some())
        .expect("a segment");
    let at = bytes.windows(40).position(|bytes| bytes == [b'z'; 40]).expect("the last frame");
    let mut file = host.disk.open(&name).expect("it is there");
    file.write_at(at as u64, b"-").expect("no faults");
    let (next, cut) = start(&host.disk).expect("nothing of it was promised");
    let cut = cut.expect("a frame was cut off");
    assert_eq!((next, cut.bytes > 40, cut.bytes < 110), (last + 1, true, true), "{cut:?}");
}

#[test]
fn a_spare_of_before_a_start_is_not_used_after_it() {
    // The writer fills the rest of a block with zeros. A frame that ends exactly at the end of a block has no such
    // zeros, so old frames after it stay readable.
    let block = <<SimDisk as Disk>::File as File>::BLOCK_LEN;
    let ends_a_block = |&len: &usize| {
        let mut host = reused(Durability::Write, 0);
        host.set(&vec![b'1'; len]);
        host.writer.offset().is_multiple_of(block)
    };
    let len = (1..).find(ends_a_block).expect("some length");
    let mut host = reused(Durability::Write, 0);
    let last = host.shard.sequence();
    for value in [b'1', b'2', b'3'] {
        host.set(&vec![value; len]);
    }
    // The bytes reach the device, but the new name does not.
    let next = segment_name(last + 1);
    host.disk.rename(&next, "spare-00000000000000000001").expect("no faults");
    assert_eq!(start(&host.disk).expect("a sound disk").0, last + 1);
    let mut host = Host::on(host.disk, Durability::Write, last + 1);
    host.set(&vec![b'4'; len]);
    // If the spare were used, the frames of the lost history would follow.
    assert_eq!(start(&host.disk).expect("a sound disk").0, last + 2);
}

#[test]
fn a_spare_of_another_length_is_removed() {
    let mut host = reused(Durability::Fsync, 0);
    for (name, _) in host.disk.contents().into_iter().filter(|(name, _)| segment_of(name).is_none())
    {
        host.disk.open(&name).and_then(|mut file| file.set_len(599)).expect("no faults");
    }
    host.set(b"first of the next");
    assert_eq!((host.names().len(), host.disk.claimed_spares().0), (2, 0));
}

#[test]
fn a_segment_is_filled_while_the_one_before_is_written() {
    let mut host = Host::new(Durability::Fsync, 0);
    host.set(b"one");
    host.writer.fill_ahead().expect("no faults");
    let spare = host.disk.contents().into_iter().find(|(name, _)| segment_of(name).is_none());
    assert_eq!(spare.map(|(_, bytes)| bytes), Some(vec![0; 600]));
    host.fill_segments(1);
    host.set(b"first of the next");
    assert_eq!((host.disk.claimed_spares(), host.names().len()), ((0, 1), 2));
}

#[test]
fn what_is_not_written_takes_room_and_no_batch_is_divided() {
    let mut host = Host::new(Durability::Fsync, 0);
    host.set(&[b'x'; 40]);
    let open = host.writer.room();
    assert!(open.left > 0 && open.ahead == 0, "{open:?}");
    host.writer.set_ahead().expect("no faults");
    let room = host.writer.room();
    assert!(room.left == open.left && room.ahead > room.left, "{room:?}");
    host.commits.note_room(room);
    let before = host.commits.room_left(&mut host.shard);
    // A batch that is longer than the rest of the segment goes to the next segment as a whole.
    assert!(before <= room.ahead, "{before} of {room:?}");
    let key = host.shard.key(b"a");
    host.shard.set(NOW, key, &[b'y'; 200], Expiry::Never).expect("room");
    let batch = host.commits.batch(&mut host.shard, NOW).expect("something to write");
    let under_way = host.commits.room_left(&mut host.shard);
    assert!(under_way + 200 < before, "{under_way} of {before}, and {} are under way", batch.len());
}
