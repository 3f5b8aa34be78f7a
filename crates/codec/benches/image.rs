//! Time to encode and decode the account of `moaf-scur`: two buckets, one session with one item and a few answers. Each
//! command on a stored account pays this besides its rules.

use criterion::{Criterion, criterion_group, criterion_main};
use scurry_codec::{decode_account, encode_account};
use scurry_ledger::{
    Account, Command, Create, Decision, ItemRequest, Limits, Name, NewBucket, SessionRequest,
    Status, Time, decide_in_place,
};
use std::hint::black_box;

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn run(account: &mut Option<Account>, now: i64, command: Command<'_>) {
    let decision = decide_in_place(account, &command, Time(now), &Limits::default());
    assert!(matches!(decision, Decision::Commit(..)), "{decision:?}");
}

fn request(request: u32, items: &[ItemRequest]) -> SessionRequest<'_> {
    SessionRequest { session: b"session-000001", request, items, ..SessionRequest::default() }
}

/// Returns an account after RESERVE and this many UPDATEs.
fn account(updates: u32) -> Account {
    let mut account = None;
    let bucket = |id: &str| NewBucket {
        bucket: name(id),
        unit: name("octets"),
        amount: 1_000_000,
        attributes: Default::default(),
    };
    let buckets = [bucket("main"), bucket("bonus")];
    let create = Create::active(&buckets);
    run(&mut account, 1_700_000_000_000, Command::Create(create));
    let items = [ItemRequest {
        key: 1.into(),
        unit: name("octets"),
        used: None,
        requested: Some(1_000),
        min: None,
    }];
    run(&mut account, 1_700_000_001_000, Command::Reserve(request(0, &items)));
    for number in 1..=updates {
        let items = [ItemRequest { used: Some(700), ..items[0] }];
        let now = 1_700_000_001_000 + i64::from(number);
        run(&mut account, now, Command::Update(request(number, &items)));
    }
    account.expect("it was created")
}

fn image(c: &mut Criterion) {
    for updates in [0, 2] {
        let account = account(updates);
        let mut bytes = Vec::new();
        c.bench_function(&format!("encode after {updates} updates"), |b| {
            b.iter(|| {
                bytes.clear();
                encode_account(black_box(&account), &mut bytes);
            });
        });
        // As in a shard, where other entries follow in memory.
        let mut scratch = Account::empty(Status::Active);
        c.bench_function(&format!("decode after {updates} updates, {} bytes", bytes.len()), |b| {
            b.iter(|| decode_account(black_box(&bytes), &mut scratch).expect("it is whole"));
        });
    }
}

criterion_group!(benches, image);
criterion_main!(benches);
