//! Time that a commit takes for its record in the log: encoding the Change of an UPDATE with its balances, and the
//! checksum; and the time to read it at replay.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use scurry_codec::{FrameWriter, Framed, Record, Seal, decode_change, encode_change, read_frame};
use scurry_ledger::{
    Account, Change, Command, Create, Decision, ItemRequest, Limits, Name, NewBucket,
    SessionRequest, Time, decide_in_place,
};
use std::hint::black_box;

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn run(account: &mut Option<Account>, now: i64, command: Command<'_>) -> Change {
    match decide_in_place(account, &command, Time(now), &Limits::default()) {
        Decision::Commit(change, _) => change,
        other => panic!("{other:?}"),
    }
}

fn request(request: u32, items: &[ItemRequest]) -> SessionRequest<'_> {
    SessionRequest { session: b"session-000001", request, items, ..SessionRequest::default() }
}

/// Returns the Change of an UPDATE on the account of `moaf-scur`, and the account after it.
fn update() -> (Change, Account) {
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
    let items = [ItemRequest { used: Some(700), ..items[0] }];
    let change = run(&mut account, 1_700_000_002_000, Command::Update(request(1, &items)));
    (change, account.expect("it was created"))
}

/// Records of one frame, as group commit collects them under load.
const RECORDS: u64 = 64;

fn log(c: &mut Criterion) {
    let (change, account) = update();
    let mut bytes = Vec::new();
    encode_change(&change, &mut bytes);
    c.bench_function(
        &format!("encode_change, {} ops, {} bytes", change.ops.len(), bytes.len()),
        |b| {
            let mut out = Vec::new();
            b.iter(|| {
                out.clear();
                encode_change(black_box(&change), &mut out);
            });
        },
    );
    c.bench_function("decode_change", |b| {
        let mut read = Change { at: Time(0), ops: Vec::new() };
        b.iter(|| decode_change(black_box(&bytes), &mut read).expect("it is whole"));
    });

    let seal = Seal::new(crc32c::crc32c_append, 7);
    let mut writer = FrameWriter::new(seal, 0);
    let mut frame = Vec::new();
    let mut write = |records: u64, out: &mut Vec<u8>| {
        for _ in 0..records {
            writer.account(
                black_box(b"account-000001"),
                black_box(&change),
                black_box(Some(&account)),
            );
        }
        writer.seal(0, Time(1_700_000_002_000));
        writer.take_sealed(out);
    };
    let mut group = c.benchmark_group("frame");
    for records in [1, RECORDS] {
        write(records, &mut frame);
        group.throughput(Throughput::Elements(records));
        group.bench_function(format!("write {records} records, {} bytes", frame.len()), |b| {
            b.iter(|| write(records, &mut frame));
        });
        let mut read = Change { at: Time(0), ops: Vec::new() };
        group.bench_function(format!("read {records} records and their changes"), |b| {
            b.iter(|| {
                let Framed::Frame(frame) = read_frame(seal, black_box(&frame)) else {
                    panic!("it is whole");
                };
                let mut records = frame.records();
                while let Some(record) = records.next() {
                    let Ok(Record::Account { change, .. }) = record else { panic!("an account") };
                    decode_change(change, &mut read).expect("it is whole");
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, log);
criterion_main!(benches);
