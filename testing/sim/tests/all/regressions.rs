//! Tests of faults that the simulator has found, each as a short scenario.

use scurry_codec::{Seal, SnapshotFooter};
use scurry_engine::{
    Commits, Config, Disk, Durability, EntityPut, Expiry, File, LogId, LogWriter, Piece, Recovered,
    RecoveryEnd, RecoveryError, RequiredExtent, SEGMENT_LEN_MAX, Shard, Snapshot, SnapshotReader,
    SnapshotWriter, Version, checksum, recover, segment_name, snapshot_name,
};
use scurry_ledger::Time;
use scurry_sim::{Crash, Faults, SimDisk};

const LOG: LogId = LogId { id: 7, core: 0 };
const NOW: Time = Time(1_700_000_000_000);

/// A shard and its log, on a disk without faults.
struct Host {
    disk: SimDisk,
    shard: Shard,
    commits: Commits,
    writer: LogWriter<SimDisk>,
}

impl Host {
    fn new(durability: Durability, seed: u64) -> Host {
        let disk = SimDisk::new(seed, Faults::default());
        let mut shard = Shard::new(Config::default());
        shard.keep_journal(LOG, 1);
        let writer = LogWriter::new(disk.clone(), LOG, SEGMENT_LEN_MAX);
        Host { disk, shard, commits: Commits::new(durability, 0), writer }
    }

    fn set(&mut self, key: &[u8], len: usize) {
        let key = self.shard.key(key);
        self.shard.set(NOW, key, &vec![b'x'; len], Expiry::Never).expect("room");
    }

    /// Writes one batch. Returns true if nothing failed.
    fn commit(&mut self) -> bool {
        let mut batch = self.commits.batch(&mut self.shard, NOW).expect("something to write");
        let outcome = batch.run(&mut self.writer);
        self.commits.done(batch, outcome).is_ok()
    }
}

fn start(disk: &SimDisk, until: RecoveryEnd) -> Result<(Shard, Recovered), RecoveryError> {
    let mut shard = Shard::new(Config::default());
    let found = recover(&mut disk.clone(), LOG, until, &mut shard, |_| {})?;
    Ok((shard, found))
}

fn overwrite(disk: &SimDisk, first: u64, bytes: &[u8]) {
    let mut file = disk.clone().open(&segment_name(first)).expect("a segment");
    file.write_at(0, bytes).expect("no faults");
}

#[test]
fn a_version_is_not_given_again_though_its_entity_was_over_at_once() {
    let mut host = Host::new(Durability::Fsync, 0);
    let ahead = Version::at(Time(NOW.0 + 60_000), 0);
    let options =
        EntityPut { version: Some(ahead), expiry: Expiry::At(NOW), ..EntityPut::default() };
    let key = host.shard.key(b"e");
    assert!(host.shard.entity_put(NOW, key, b"v", options).expect("terms hold").applied);
    assert!(host.commit());
    let (mut shard, found) =
        start(&host.disk, RecoveryEnd::End(RequiredExtent::default())).expect("a sound disk");
    assert_eq!(found.next, 2);
    let key = shard.key(b"e");
    let next = shard.entity_put(NOW, key, b"w", EntityPut::default()).expect("terms hold");
    assert!(next.version > ahead, "{} after {ahead}", next.version);
}

#[test]
fn a_look_at_an_earlier_sequence_writes_nothing() {
    let mut host = Host::new(Durability::Fsync, 0);
    host.set(b"a", 10);
    assert!(host.commit());
    // The next segment was created, but nothing was written to it.
    host.disk.clone().create(&segment_name(2), 0).expect("no faults");
    let changes = host.disk.changes();
    let (_, found) = start(&host.disk, RecoveryEnd::Sequence(1)).expect("a sound disk");
    assert_eq!((found.next, host.disk.changes()), (2, changes));
    let (_, found) =
        start(&host.disk, RecoveryEnd::End(RequiredExtent::default())).expect("a sound disk");
    assert_eq!(found.next, 2);
    assert_eq!(host.disk.contents().len(), 1, "an empty segment is removed");
}

#[test]
fn a_first_sector_that_was_never_written_ends_the_log() {
    let mut host = Host::new(Durability::Write, 0);
    host.set(b"a", 600);
    assert!(host.commit());
    host.set(b"b", 600);
    assert!(host.commit());
    // The power failed, and the first of the sectors that were not synced is lost.
    overwrite(&host.disk, 1, &[0; 512]);
    let (shard, found) = start(&host.disk, RecoveryEnd::End(RequiredExtent::default()))
        .expect("nothing of it was promised");
    assert!(shard.is_empty());
    let cut = found.cut.expect("an end that was cut off");
    assert_eq!((found.next, cut.offset, cut.bytes > 600), (1, 0, true));
}

#[test]
fn a_header_of_which_a_part_was_written_ends_the_log() {
    for part in 0..34 {
        let mut host = Host::new(Durability::Fsync, 0);
        host.set(b"a", 10);
        assert!(host.commit());
        let header = host.disk.contents()[0].1[..part].to_vec();
        let mut file = host.disk.clone().create(&segment_name(2), 0).expect("no faults");
        file.set_len(4_096).expect("no faults");
        file.write_at(0, &header).expect("no faults");
        let (_, found) = start(&host.disk, RecoveryEnd::End(RequiredExtent::default()))
            .expect("nothing of it was promised");
        assert_eq!((found.next, host.disk.contents().len()), (2, 1), "{part} bytes of a header");
    }
}

#[test]
fn a_first_sector_that_was_synced_is_missed() {
    let mut host = Host::new(Durability::Fsync, 0);
    host.set(b"a", 600);
    assert!(host.commit());
    host.set(b"b", 600);
    assert!(host.commit());
    overwrite(&host.disk, 1, &[0; 512]);
    let error = start(&host.disk, RecoveryEnd::End(RequiredExtent::default()))
        .expect_err("record 1 is gone")
        .to_string();
    assert!(error.contains("log-00000000000000000001 is damaged at byte 0"), "{error}");
}

#[test]
fn a_header_that_was_lost_alone_is_missed() {
    let mut host = Host::new(Durability::Fsync, 0);
    host.set(b"a", 10);
    assert!(host.commit());
    overwrite(&host.disk, 1, &[0; 8]);
    let error = start(&host.disk, RecoveryEnd::End(RequiredExtent::default()))
        .expect_err("record 1 is there")
        .to_string();
    assert!(error.contains("log-00000000000000000001"), "{error}");
}

#[test]
fn what_a_failed_sync_left_in_the_cache_is_written_again() {
    let mut kept = 0;
    for seed in 0..60 {
        let mut host = Host::new(Durability::Fsync, seed);
        host.set(b"a", 10);
        assert!(host.commit());
        host.set(b"b", 10);
        host.disk.inject(Faults { sync: 1, ..Faults::default() });
        assert!(!host.commit(), "the sync fails");
        host.disk.clear_faults();
        // The cache may still have the record. Then readers see it, and it must not be lost later.
        let (_, found) =
            start(&host.disk, RecoveryEnd::End(RequiredExtent::default())).expect("a sound disk");
        host.disk.restart(Crash::Power);
        let (_, again) =
            start(&host.disk, RecoveryEnd::End(RequiredExtent::default())).expect("a sound disk");
        assert!(again.next >= found.next, "seed {seed}: {} of {}", again.next, found.next);
        kept += u64::from(found.next == 3);
    }
    assert!(kept > 10, "the cache had it often enough: {kept}");
}

#[test]
fn an_error_of_a_file_names_it() {
    let mut host = Host::new(Durability::Fsync, 0);
    host.set(b"a", 10);
    assert!(host.commit());
    host.disk.inject(Faults { read: 1, ..Faults::default() });
    let error = start(&host.disk, RecoveryEnd::End(RequiredExtent::default()))
        .expect_err("nothing can be read")
        .to_string();
    assert!(error.contains("log-00000000000000000001: "), "{error}");
}

#[test]
fn a_snapshot_that_was_published_keeps_its_name() {
    for seed in 0..40 {
        let disk = SimDisk::new(seed, Faults::default());
        let mut writer = SnapshotWriter::new(disk.clone(), 5).expect("no faults");
        writer.write(b"all of it").expect("no faults");
        writer.sync().expect("no faults");
        writer.publish().expect("no faults");
        disk.restart(Crash::Power);
        let names: Vec<String> = disk.contents().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [snapshot_name(5)], "seed {seed}");
    }
}

/// Returns the sequence at which a snapshot of the shard was begun, and the snapshot's bytes.
fn snapshot_of(shard: &mut Shard) -> (u64, Vec<u8>) {
    let mut snapshot = Snapshot::begin(shard, LOG, NOW);
    let mut all = Vec::new();
    loop {
        match snapshot.piece(shard, Vec::new(), NOW) {
            Some(Piece::Bytes(bytes)) => all.extend(bytes),
            Some(Piece::Last { bytes, .. }) => {
                all.extend(bytes);
                return (snapshot.begun(), all);
            }
            _ => panic!("nothing clears it"),
        }
    }
}

#[test]
fn a_snapshot_that_counts_more_entries_than_it_can_hold_is_refused_before_memory_is_made_for_them()
{
    let mut host = Host::new(Durability::Fsync, 0);
    (0..100).for_each(|number| host.set(format!("key:{number}").as_bytes(), 10));
    assert!(host.commit());
    let (begun, bytes) = snapshot_of(&mut host.shard);
    let seal = Seal::new(checksum, LOG.id);
    let at = bytes.len() - SnapshotFooter::LEN;
    let footer = SnapshotFooter::decode(seal, &bytes[at..]).expect("it is whole");
    assert_eq!(footer.entries, 100);
    for entries in [100, 1 << 28, 1 << 40, u64::MAX] {
        let mut other = bytes[..at].to_vec();
        SnapshotFooter { entries, ..footer }.encode(seal, &mut other);
        let mut disk = SimDisk::new(0, Faults::default());
        let mut file = disk.create(&snapshot_name(begun), 0).expect("no faults");
        file.write_at(0, &other).expect("no faults");
        let opened = SnapshotReader::open(&mut disk, LOG, begun).map(drop);
        match opened.map_err(|error| error.to_string()) {
            Ok(()) => assert_eq!(entries, 100),
            Err(error) => assert!(entries > 100 && error.contains("counts"), "{entries}: {error}"),
        }
    }
}
