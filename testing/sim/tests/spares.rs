//! Segments that are made of old ones, and what a power failure leaves of them.

use scurry_engine::{
    Commits, Config, Disk, Durability, Expiry, File, LogId, LogWriter, Recovered, RecoveryError,
    Shard, Until, forget, recover, segment_name, segment_of,
};
use scurry_ledger::Time;
use scurry_sim::{Crash, Faults, SimDisk};

const LOG: LogId = LogId { id: 7, core: 0 };
const NOW: Time = Time(1_700_000_000_000);
/// Holds six frames of a key each, and not seven.
const SEGMENT_LEN: u64 = 600;

/// A shard and its log; its records are kept elsewhere, so that segments are not needed.
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

    /// One record in one frame.
    fn set(&mut self, value: &[u8]) {
        let key = self.shard.key(b"a");
        self.shard.set(NOW, key, value, Expiry::Never).expect("room");
        let mut batch = self.commits.batch(&mut self.shard, NOW).expect("something to write");
        let outcome = batch.run(&mut self.writer);
        // When the machine has stopped nobody hears of it.
        let _ = self.commits.done(batch, outcome);
    }

    /// Fills segments until one more record begins another.
    fn fill_segments(&mut self, count: usize) {
        for _ in 0..count {
            let room = |writer: &LogWriter<SimDisk>| writer.offset() == 0 || writer.offset() >= 500;
            self.set(&[b'x'; 40]);
            while !room(&self.writer) {
                self.set(&[b'x'; 40]);
            }
        }
    }

    fn names(&self) -> Vec<String> {
        self.disk.contents().into_iter().map(|(name, _)| name).collect()
    }

    fn segments(&self) -> Vec<u64> {
        self.names().iter().filter_map(|name| segment_of(name)).collect()
    }
}

fn start(disk: &SimDisk) -> Result<Recovered, RecoveryError> {
    let mut shard = Shard::new(Config::default());
    recover(&mut disk.clone(), LOG, 0, Until::End, &mut shard, |_| {})
}
