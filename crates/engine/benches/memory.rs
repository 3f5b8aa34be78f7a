//! Bytes per account, as the operating system counts them, beside the shard's own count and
//! the arithmetic of where they go. Each row is a fresh process, so that nothing is left over.

use scurry_codec::encode_account;
use scurry_engine::{Config, Outcome, Shard};
use scurry_ledger::{
    BucketAttributes, Command, Create, ItemRequest, Name, NewBucket, SessionRequest, Status, Time,
};
use std::error::Error;

const NOW: Time = Time(1_700_000_000_000);
const ACCOUNTS: u64 = 1_000_000;

/// What is done to each account before it is weighed.
const STATES: [(&str, u32); 4] = [
    ("two buckets", 0),
    ("two buckets, one open session", 1),
    ("two buckets, one open session after 2 UPDATEs", 3),
    ("two buckets, one open session with a full window", 8),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, requests] = arguments.as_slice()
        && child == "--child"
    {
        return weigh(requests.parse()?);
    }
    println!("{ACCOUNTS} accounts, key of 11 bytes, session id of 16 bytes; bytes per account:");
    for (state, requests) in STATES {
        let output = std::process::Command::new(std::env::current_exe()?)
            .args(["--child", &requests.to_string()])
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        println!("{state}: {}", String::from_utf8_lossy(&output.stdout).trim());
    }
    Ok(())
}

fn weigh(requests: u32) -> Result<(), Box<dyn Error>> {
    let mut shard = Shard::new(Config::default());
    let before = resident_bytes()?;
    let mut image = Vec::new();
    for index in 0..ACCOUNTS {
        let account = format!("acc:{index:07}");
        fill(&mut shard, account.as_bytes(), &format!("s{index:015}"), requests);
        if index == ACCOUNTS / 2 {
            encode_account(
                shard.account(NOW, shard.key(account.as_bytes())).map_err(|e| format!("{e:?}"))?,
                &mut image,
            );
        }
    }
    let process = (resident_bytes()? - before) / ACCOUNTS;
    let counted = shard.stats().memory_bytes / ACCOUNTS;
    println!(
        "{process} of the process; the shard counts {counted}: image {}, key 11, head 13, \
         rounding to 16 and allocator, table slots of 17, timer 8",
        image.len()
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
    let create = Create { status: Status::Active, identities: &[], buckets: &buckets };
    run(shard, account, &Command::Create(create));
    for request in 0..requests {
        let used = (request > 0).then_some(900);
        let items = [ItemRequest { key: 1, unit, used, requested: Some(1_000), min: None }];
        let session = SessionRequest {
            session: session.as_bytes(),
            request,
            if_version: None,
            validity_ms: None,
            tcc_ms: None,
            overrun: None,
            close_on_denial: false,
            blob: None,
            items: &items,
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

/// Memory of this process that is resident, from procfs.
fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no figure")?.parse()?;
    Ok(kib * 1024)
}
