//! Measures the cost of an UPDATE by the number of items that its session has: a command is to cost what it names, not
//! what its session has. Prints CPU time per command, medians of alternating runs.

use rustix::time::{ClockId, clock_gettime};
use scurry_engine::{Config, HashKey, Outcome, Shard};
use scurry_ledger::{
    BucketAttributes, Command, Create, ItemRequest, Name, NewBucket, SessionRequest, Time,
};
use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

const NOW: Time = Time(1_700_000_000_000);
/// Items of the sessions that are compared.
const ITEMS: [u32; 5] = [1, 4, 16, 64, 256];
/// Items of a command.
const NAMED: [u32; 2] = [1, 4];
const RUNS: usize = 7;
const UPDATES: u32 = 20_000;

/// A shard with one account, whose session has so many items.
struct Fixture {
    shard: Shard,
    unit: Name,
    items: u32,
    request: u32,
}

impl Fixture {
    fn new(items: u32) -> Result<Fixture, Box<dyn Error>> {
        let unit = Name::new(b"octets").ok_or("a name")?;
        let shard = Shard::new(Config { hash_key: HashKey::known(7), ..Config::default() });
        let mut fixture = Fixture { shard, unit, items, request: 0 };
        let (bucket, attributes) =
            (Name::new(b"main").ok_or("a name")?, BucketAttributes::default());
        let buckets = [NewBucket { bucket, unit, amount: i64::MAX / 2, attributes }];
        fixture.run(&Command::Create(Create::active(&buckets)))?;
        fixture.run(&Command::Reserve(request(0, &[])))?;
        for first in (0..items).step_by(64) {
            let new: Vec<ItemRequest> =
                (first..items.min(first + 64)).map(|key| item(key, unit, None)).collect();
            fixture.request += 1;
            fixture.run(&Command::Update(request(fixture.request, &new)))?;
        }
        Ok(fixture)
    }

    fn run(&mut self, command: &Command<'_>) -> Result<(), Box<dyn Error>> {
        let key = self.shard.key(b"acc");
        match black_box(self.shard.execute(NOW, key, black_box(command))) {
            Outcome::Answer { replayed: false, .. } => Ok(()),
            other => Err(format!("{other:?}").into()),
        }
    }

    /// Returns the CPU time of one UPDATE of some items, which rotate.
    fn measure(&mut self, named: u32) -> Result<Duration, Box<dyn Error>> {
        let begin = cpu_time();
        for turn in 0..UPDATES {
            let unit = self.unit;
            let key = |at| (turn * named + at) % self.items;
            let items: [ItemRequest; 4] =
                std::array::from_fn(|at| item(key(at as u32), unit, Some(9)));
            self.request += 1;
            let named = named.min(self.items) as usize;
            self.run(&Command::Update(request(self.request, &items[..named])))?;
        }
        Ok((cpu_time() - begin) / UPDATES)
    }
}

fn request(number: u32, items: &[ItemRequest]) -> SessionRequest<'_> {
    SessionRequest { session: b"s", request: number, items, ..SessionRequest::default() }
}

fn item(key: u32, unit: Name, used: Option<i64>) -> ItemRequest {
    ItemRequest { key: key.into(), unit, used, requested: Some(10), min: None }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut fixtures = ITEMS.map(Fixture::new).into_iter().collect::<Result<Vec<_>, _>>()?;
    for named in NAMED {
        let mut spent = vec![Vec::new(); fixtures.len()];
        for _ in 0..RUNS {
            for (fixture, spent) in fixtures.iter_mut().zip(&mut spent) {
                spent.push(fixture.measure(named)?.as_nanos());
            }
        }
        for (fixture, mut spent) in fixtures.iter().zip(spent) {
            spent.sort_unstable();
            println!(
                "{named} named of {} items: {} ns/UPDATE of CPU, {} to {}",
                fixture.items,
                spent[RUNS / 2],
                spent[0],
                spent[RUNS - 1]
            );
        }
    }
    Ok(())
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let part = |part: i64| u64::try_from(part).unwrap_or_default();
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}
