//! Measures how long the steps of a snapshot block a shard: CPU time of the thread, so that other processes are not
//! counted.

use rustix::time::{ClockId, clock_gettime};
use scurry_engine::{Config, LogId, Outcome, Piece, Shard, Snapshot};
use scurry_ledger::{BucketAttributes, Command, Create, Name, NewBucket, Time};
use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

const NOW: Time = Time(1_700_000_000_000);
const LOG: LogId = LogId { id: 1, core: 0 };
const ACCOUNTS: [u64; 2] = [1_000_000, 10_000_000];
/// Snapshots per shard; the first one writes into fresh memory.
const SNAPSHOTS: usize = 3;

/// Reads the CPU time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let part = |part: i64| u64::try_from(part).unwrap_or_default();
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

fn main() -> Result<(), Box<dyn Error>> {
    for accounts in ACCOUNTS {
        let mut shard = filled(accounts)?;
        for _ in 0..SNAPSHOTS {
            steps(&mut shard, accounts)?;
        }
    }
    Ok(())
}

/// Creates accounts with two buckets each.
fn filled(accounts: u64) -> Result<Shard, Box<dyn Error>> {
    let mut shard = Shard::new(Config::default());
    shard.keep_journal(LOG, 1);
    let name = |text: &[u8]| Name::new(text).ok_or("a name");
    let (unit, attributes) = (name(b"octets")?, BucketAttributes::default());
    let bucket = |id: &[u8]| {
        name(id).map(|bucket| NewBucket { bucket, unit, amount: 1_000_000_000, attributes })
    };
    let buckets = [bucket(b"main")?, bucket(b"bonus")?];
    let create = Command::Create(Create::active(&buckets));
    let mut frames = Vec::new();
    for index in 0..accounts {
        let id = format!("acc:{index:08}");
        let key = shard.key(id.as_bytes());
        let outcome = shard.execute(NOW, key, &create);
        if !matches!(outcome, Outcome::Answer { .. }) {
            return Err(format!("{outcome:?}").into());
        }
        // The bytes that a host would write to its log.
        if index % 1_024 == 0
            && let Some(journal) = shard.journal()
        {
            journal.seal(0, NOW);
            journal.take_sealed(&mut frames);
        }
    }
    Ok(shard)
}

fn steps(shard: &mut Shard, accounts: u64) -> Result<(), Box<dyn Error>> {
    let mut snapshot = Snapshot::begin(shard, LOG, NOW);
    let (mut steps, mut spare, mut bytes) = (Vec::new(), Vec::new(), 0);
    loop {
        let begin = cpu_time();
        let piece = snapshot.piece(shard, spare, NOW);
        steps.push(cpu_time() - begin);
        match piece {
            Some(Piece::Bytes(piece) | Piece::Last { bytes: piece, .. }) => {
                bytes += piece.len();
                spare = black_box(piece);
            }
            Some(Piece::Void) => return Err("the shard was cleared".into()),
            None => break,
        }
    }
    steps.sort_unstable();
    let at = |one_in: usize| steps[steps.len() - 1 - (steps.len() - 1) / one_in];
    println!(
        "snapshot of {accounts} accounts, {bytes} bytes: {} steps, p50 {:?}, p99 {:?}, longest \
         {:?}, {:?} in all",
        steps.len(),
        at(2),
        at(100),
        steps[steps.len() - 1],
        steps.iter().sum::<Duration>()
    );
    Ok(())
}
