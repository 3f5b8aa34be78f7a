//! Measures bytes per key, as the operating system counts them, beside the shard's own count by kind. Each row runs in
//! a new process, so that no memory is left over.

use scurry_engine::{Config, EntityDelete, EntityPut, Expiry, Outcome, Shard, Stats};
use scurry_ledger::{
    BucketAttributes, Command, Create, ItemRequest, Name, NewBucket, SessionRequest, Time,
};
use std::error::Error;

const NOW: Time = Time(1_700_000_000_000);
const KEYS: u64 = 1_000_000;

/// The kind of data written, and the number of writes.
const STATES: [(&str, Load); 8] = [
    ("accounts: two buckets", Load::Accounts(0)),
    ("accounts: two buckets, one open session", Load::Accounts(1)),
    ("accounts: two buckets, one open session after 2 UPDATEs", Load::Accounts(3)),
    ("accounts: two buckets, one open session with a full window", Load::Accounts(8)),
    ("values of 100 bytes", Load::Values(Expiry::Never)),
    ("values of 100 bytes that expire", Load::Values(Expiry::At(Time(NOW.0 + 3_600_000)))),
    ("entities of 100 bytes, indexed", Load::Entities),
    ("tombstones, after entities of 100 bytes", Load::Tombstones),
];

#[derive(Clone, Copy)]
enum Load {
    /// This many requests each.
    Accounts(u32),
    Values(Expiry),
    Entities,
    Tombstones,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, state] = arguments.as_slice()
        && child == "--child"
    {
        return weigh(STATES[state.parse::<usize>()?].1);
    }
    println!("{KEYS} keys of 11 bytes, session id of 16 bytes; bytes per key:");
    for (number, (state, _)) in STATES.iter().enumerate() {
        let output = std::process::Command::new(std::env::current_exe()?)
            .args(["--child", &number.to_string()])
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        println!("{state}: {}", String::from_utf8_lossy(&output.stdout).trim());
    }
    Ok(())
}

fn weigh(load: Load) -> Result<(), Box<dyn Error>> {
    let mut shard = Shard::new(Config { entity_index: true, ..Config::default() });
    let before = resident_bytes()?;
    for index in 0..KEYS {
        let name = format!("acc:{index:07}");
        let key = shard.key(name.as_bytes());
        match load {
            Load::Accounts(requests) => {
                fill(&mut shard, name.as_bytes(), &format!("s{index:015}"), requests);
            }
            Load::Values(expiry) => shard.set(NOW, key, &[7; 100], expiry)?,
            Load::Entities | Load::Tombstones => {
                let value = format!("{index:0100}");
                shard.entity_put(NOW, key, value.as_bytes(), EntityPut::default())?;
            }
        }
        if matches!(load, Load::Tombstones) {
            shard.entity_del(NOW, key, EntityDelete::default())?;
        }
    }
    let process = (resident_bytes()? - before) as f64 / KEYS as f64;
    let Stats { memory_bytes, memory, .. } = shard.stats();
    let each = |bytes: u64| bytes as f64 / KEYS as f64;
    let entries = memory.accounts + memory.values + memory.entities;
    println!(
        "{process:.1} of the process; the shard counts {:.1}: entries {:.1}, table {:.1}, \
         timers {:.1}, index {:.1}",
        each(memory_bytes),
        each(entries),
        each(memory.table),
        each(memory.timers),
        each(memory.index),
    );
    Ok(())
}

fn fill(shard: &mut Shard, account: &[u8], session: &str, requests: u32) {
    let unit = Name::new(b"octets").expect("a name");
    let bucket = |id: &[u8], priority| NewBucket {
        bucket: Name::new(id).expect("a name"),
        unit,
        amount: 1_000_000_000_000,
        attributes: BucketAttributes { priority: Some(priority), ..Default::default() },
    };
    let buckets = [bucket(b"main", 10), bucket(b"bonus", 5)];
    let create = Create::active(&buckets);
    run(shard, account, &Command::Create(create));
    for request in 0..requests {
        let used = (request > 0).then_some(900);
        let items = [ItemRequest { key: 1.into(), unit, used, requested: Some(1_000), min: None }];
        let session = SessionRequest {
            session: session.as_bytes(),
            request,
            items: &items,
            ..SessionRequest::default()
        };
        let command =
            if request == 0 { Command::Reserve(session) } else { Command::Update(session) };
        run(shard, account, &command);
    }
}

fn run(shard: &mut Shard, account: &[u8], command: &Command<'_>) {
    let outcome = shard.execute(NOW, shard.key(account), command);
    assert!(matches!(outcome, Outcome::Answer { replayed: false, .. }), "{outcome:?}");
}

/// Reads the resident memory of this process from procfs.
fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no figure")?.parse()?;
    Ok(kib * 1024)
}
