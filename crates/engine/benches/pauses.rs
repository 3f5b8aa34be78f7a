//! Measures the longest calls while a shard grows to millions of keys, and while a million timers fall due in one
//! millisecond: the time that a client would wait. CPU time of the thread, so that other processes are not counted;
//! each figure includes reading that clock. Compared with the alternative that ADR 9 rejected: one hashbrown table that
//! doubles.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use rustix::time::{ClockId, clock_gettime};
use scurry_engine::{Config, EntityPut, Expiry, Outcome, Shard};
use scurry_ledger::{
    BucketAttributes, Command, Create, ItemRequest, Name, NewBucket, SessionOptions,
    SessionRequest, Time,
};
use std::error::Error;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::time::Duration;

const NOW: Time = Time(1_700_000_000_000);
const DUE: Time = Time(NOW.0 + 60_000);
const KEYS: u64 = 4_000_000;
const TIMERS: u64 = 1_000_000;

/// Durations of many calls.
#[derive(Default)]
struct Calls(Vec<Duration>);

impl Calls {
    fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let begin = cpu_time();
        let result = call();
        self.0.push(cpu_time() - begin);
        result
    }

    fn print(mut self, what: &str) {
        self.0.sort_unstable();
        let (count, sum) = (self.0.len(), self.0.iter().sum::<Duration>());
        let at = |one_in: usize| self.0[count - 1 - (count - 1) / one_in];
        let longest: Vec<_> = self.0.iter().rev().take(5).collect();
        println!(
            "{what}: {count} calls, mean {:?}, p50 {:?}, p99 {:?}, p99.99 {:?}, longest {longest:?}",
            sum / u32::try_from(count).unwrap_or(u32::MAX),
            at(2),
            at(100),
            at(10_000),
        );
    }
}

/// Reads the CPU time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let part = |part: i64| u64::try_from(part).unwrap_or_default();
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

type Part = (&'static str, fn() -> Result<(), Box<dyn Error>>);

const PARTS: [Part; 5] = [
    ("one-table", one_table),
    ("grow", grow),
    ("values", values),
    ("entities", entities),
    ("sessions", sessions),
];

/// Runs each part in its own process: the allocator would merge memory freed by one part during calls of another.
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--part").skip(1);
    if let Some(wanted) = arguments.next() {
        let part = PARTS.iter().find(|(name, _)| *name == wanted).ok_or("no such part")?;
        return part.1();
    }
    for (name, _) in PARTS {
        let part =
            std::process::Command::new(std::env::current_exe()?).args(["--part", name]).status()?;
        if !part.success() {
            return Err(format!("{name} failed").into());
        }
    }
    Ok(())
}

/// Keys of a batch of reads.
const BATCH: usize = 64;
const BATCHES: usize = 20_000;

/// Returns the keys of successive batches, in an order that caches do not predict.
fn batches() -> impl Iterator<Item = Vec<String>> {
    let mut number = 1;
    (0..BATCHES).map(move |_| {
        (0..BATCH)
            .map(|_| {
                number = number * 6_364_136_223_846_793_005_u64 % 1_000_000_007;
                format!("key:{:07}", number % KEYS)
            })
            .collect()
    })
}

/// Runs the same inserts and reads on one table that doubles, as far as a bare table supports them.
fn one_table() -> Result<(), Box<dyn Error>> {
    let hasher = FixedState::default();
    let hash = |key: &[u8]| hasher.hash_one(key);
    let mut table: HashTable<Box<[u8]>> = HashTable::new();
    let (mut inserts, mut reads) = (Calls::default(), Calls::default());
    for index in 0..KEYS {
        let name = format!("key:{index:07}");
        inserts.time(|| {
            let entry = [name.as_bytes(), &[7; 100]].concat().into_boxed_slice();
            table.insert_unique(hash(name.as_bytes()), entry, |entry| hash(&entry[..name.len()]));
        });
    }
    inserts.print("one hashbrown table: insert, 100 bytes");
    for batch in batches() {
        reads.time(|| {
            for key in &batch {
                let found =
                    table.find(hash(key.as_bytes()), |entry| entry.starts_with(key.as_bytes()));
                black_box(found.map(|entry| entry[key.len()]));
            }
        });
    }
    reads.print("one hashbrown table: 64 reads");
    Ok(())
}

/// Runs inserts, then reads, pages of a scan, and removals.
fn grow() -> Result<(), Box<dyn Error>> {
    let mut shard = Shard::new(Config::default());
    let (mut inserts, mut scans, mut removals) =
        (Calls::default(), Calls::default(), Calls::default());
    for index in 0..KEYS {
        let name = format!("key:{index:07}");
        let key = shard.key(name.as_bytes());
        inserts.time(|| shard.set(NOW, key, &[7; 100], Expiry::Never))?;
    }
    inserts.print("insert, 100 bytes");
    for touched in [false, true] {
        let mut reads = Calls::default();
        for batch in batches() {
            reads.time(|| {
                let keys: [_; BATCH] = std::array::from_fn(|at| shard.key(batch[at].as_bytes()));
                if touched {
                    shard.touch(&keys.map(|key| key.hash()));
                }
                for key in keys {
                    let found = shard.value(NOW, key);
                    black_box(found.ok().flatten().map(|value| value.bytes[0]));
                }
            });
        }
        reads.print(if touched { "64 reads, touched before" } else { "64 reads" });
    }
    let mut cursor = 0;
    for _ in 0..20_000 {
        cursor = scans.time(|| shard.scan(NOW, cursor, 10, |_, _| ()));
    }
    scans.print("scan, count 10");
    for index in 0..KEYS {
        let name = format!("key:{index:07}");
        let key = shard.key(name.as_bytes());
        removals.time(|| shard.del(NOW, key))?;
    }
    removals.print("delete");
    Ok(())
}

fn values() -> Result<(), Box<dyn Error>> {
    let mut shard = Shard::new(Config::default());
    let mut inserts = Calls::default();
    for index in 0..TIMERS {
        let name = format!("key:{index:07}");
        let key = shard.key(name.as_bytes());
        inserts.time(|| shard.set(NOW, key, &[7; 100], Expiry::At(DUE)))?;
    }
    inserts.print("insert with expiry");
    drain(shard, "tick, values due in one millisecond");
    Ok(())
}

fn entities() -> Result<(), Box<dyn Error>> {
    let mut shard = Shard::new(Config { entity_index: true, ..Config::default() });
    let mut inserts = Calls::default();
    let put = EntityPut { expiry: Expiry::At(DUE), ..EntityPut::default() };
    for index in 0..TIMERS {
        let name = format!("key:{index:07}");
        let key = shard.key(name.as_bytes());
        inserts.time(|| shard.entity_put(NOW, key, b"one value for all", put))?;
    }
    inserts.print("put of an entity, indexed");
    drain(shard, "tick, entities of one value due in one millisecond");
    Ok(())
}

fn sessions() -> Result<(), Box<dyn Error>> {
    let mut shard = Shard::new(Config::default());
    let name = |text: &[u8]| Name::new(text).ok_or("a name");
    let unit = name(b"octets")?;
    let attributes = BucketAttributes::default();
    let bucket = NewBucket { bucket: name(b"main")?, unit, amount: 1_000_000, attributes };
    let buckets = [bucket];
    let create = Create::active(&buckets);
    let items =
        [ItemRequest { key: 1.into(), unit, used: None, requested: Some(1_000), min: None }];
    let reserve = SessionRequest {
        session: b"s",
        request: 0,
        items: &items,
        options: SessionOptions { tcc_ms: Some(DUE.0 - NOW.0), ..SessionOptions::default() },
        ..SessionRequest::default()
    };
    let mut calls = Calls::default();
    for index in 0..TIMERS {
        let id = format!("acc:{index:07}");
        let key = shard.key(id.as_bytes());
        for command in [Command::Create(create), Command::Reserve(reserve)] {
            let outcome = calls.time(|| shard.execute(NOW, key, &command));
            if !matches!(outcome, Outcome::Answer { .. }) {
                return Err(format!("{outcome:?}").into());
            }
        }
    }
    calls.print("CREATE and RESERVE");
    drain(shard, "tick, sessions due in one millisecond");
    Ok(())
}

fn drain(mut shard: Shard, what: &str) {
    let (mut ticks, now) = (Calls::default(), DUE.plus_ms(16));
    while ticks.time(|| shard.tick(now)) > 0 {}
    ticks.print(what);
}
