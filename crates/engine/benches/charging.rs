//! Measures the cost of one operation of charging sessions in a shard of many accounts, with everything that the engine
//! does for it: CPU time, or with `--operations N` exactly N operations, for a profiler that counts instructions. The
//! mix is that of the lab's `moaf-scur`, in batches of 64. With `--journal` every Change is also written to frames,
//! which are sealed and dropped at 64 KiB.

mod sessions;

use scurry_engine::{Config, HashKey, Key, LogId, Shard};
use scurry_ledger::Time;
use sessions::{Session, Sessions, cpu_time, populate, run};
use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

/// Requests of a batch.
const BATCH: usize = 64;
/// Batches between two readings of the clock.
const BATCHES: usize = 6_000;
/// Bytes of a frame.
const FRAME_LEN: usize = 64 << 10;
const RUNS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let number = |flag: &str| {
        let mut rest = std::env::args().skip_while(|argument| argument != flag).skip(1);
        rest.next().map(|number| number.parse::<u64>()).transpose()
    };
    let accounts = number("--accounts")?.unwrap_or(1_000_000);
    let mut shard = Shard::new(Config { hash_key: HashKey::known(7), ..Config::default() });
    populate(&mut shard, accounts)?;
    if std::env::args().any(|argument| argument == "--journal") {
        shard.keep_journal(LogId { id: 7, core: 0 }, 1);
    }
    let mut frames = vec![];
    let mut sessions = Sessions::new(accounts);
    if let Some(operations) = number("--operations")? {
        for _ in 0..operations.div_ceil(BATCH as u64) {
            let requests = std::array::from_fn(|_| sessions.next());
            batch(&mut shard, &requests, sessions.now(), &mut frames)?;
        }
        return Ok(());
    }
    let mut nanos = vec![];
    for _ in 0..RUNS {
        let mut spent = Duration::ZERO;
        for _ in 0..BATCHES {
            let requests = std::array::from_fn(|_| sessions.next());
            let begin = cpu_time();
            batch(&mut shard, &requests, sessions.now(), &mut frames)?;
            spent += cpu_time() - begin;
        }
        nanos.push(spent.as_nanos() / (BATCH * BATCHES) as u128);
    }
    let memory = shard.stats().memory.accounts / accounts;
    nanos.sort_unstable();
    println!(
        "{accounts} accounts: {} ns/operation of CPU, {} to {}; {memory} bytes/account",
        nanos[RUNS / 2],
        nanos[0],
        nanos[RUNS - 1]
    );
    Ok(())
}

/// The work of a host on a batch of requests.
fn batch(
    shard: &mut Shard,
    requests: &[Session; BATCH],
    now: Time,
    frames: &mut Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    let keys: [Key<'_>; BATCH] = std::array::from_fn(|at| shard.key(&requests[at].account));
    shard.touch(&keys.map(|key| key.hash()));
    let mut wrong = 0;
    for (request, key) in requests.iter().zip(keys) {
        wrong += usize::from(!run(shard, now, key, request));
    }
    shard.tick(now);
    if let Some(journal) = shard.journal()
        && journal.len() >= FRAME_LEN
    {
        journal.seal(0, now);
        journal.take_sealed(frames);
        black_box(&frames);
    }
    if wrong > 0 { Err("an answer is not OK: use more accounts".into()) } else { Ok(()) }
}
