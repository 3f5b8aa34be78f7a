//! Every Change that seeded runs commit, encoded as bytes and in a frame of the log: decoded and applied it makes the
//! same account, and the balances beside it equal the account's.

use scurry_codec::{FrameWriter, Framed, Record, Seal, decode_change, encode_change, read_frame};
use scurry_ledger::{Account, Change, Decision, Time, apply, decide, tick};
use scurry_model::{CommandOrTick, Generator, Pair};

const SEEDS: u64 = 200;
const STEPS: usize = 60;

fn committed(pair: &Pair, what: &CommandOrTick, at: Time) -> Option<Change> {
    let account = pair.account.as_ref();
    match what {
        CommandOrTick::Tick => tick(account?, at, &pair.limits),
        CommandOrTick::Do(op) => {
            match op.with(|command| decide(account, command, at, &pair.limits)) {
                Decision::Commit(change, _) => Some(change),
                _ => None,
            }
        }
    }
}

fn decoded(bytes: &[u8]) -> Change {
    let mut change = Change { at: Time(0), ops: Vec::new() };
    decode_change(bytes, &mut change).expect("its own bytes");
    change
}

/// Checks that the balances equal the account's, and that every bucket that differs from the account before has one.
fn assert_balances(before: Option<&Account>, after: &Account, balances: &[scurry_codec::Balance]) {
    for balance in balances {
        let bucket = after.bucket_no(balance.bucket).expect("it is there after the Change");
        assert_eq!((bucket.id, bucket.unit), (balance.name, balance.unit));
        assert_eq!((bucket.available, bucket.held), (balance.available, balance.held));
    }
    for bucket in &after.buckets {
        let old = before.and_then(|before| before.bucket_no(bucket.no));
        let listed = balances.iter().any(|balance| balance.bucket == bucket.no);
        assert!(listed || old == Some(bucket), "a bucket changed that is not listed");
    }
}

#[test]
fn changes_come_back_and_replay_makes_the_same_accounts() {
    let seal = Seal::new(crc32c::crc32c_append, 1);
    let mut changes = 0;
    for seed in 0..SEEDS {
        let (limits, mut generator) = Generator::new(seed);
        let mut pair = Pair::new(limits);
        pair.thorough = false;
        let mut writer = FrameWriter::new(seal, 0);
        let mut accounts: Vec<Option<Account>> = vec![None];
        for _ in 0..STEPS {
            let event = generator.next(&pair);
            let change = committed(&pair, &event.what, Time(event.at));
            pair.step(&event).expect("the model agrees");
            let Some(change) = change else { continue };
            let mut bytes = Vec::new();
            encode_change(&change, &mut bytes);
            assert_eq!(decoded(&bytes), change, "seed {seed}");
            writer.account(b"account", &change, pair.account.as_ref());
            accounts.push(pair.account.clone());
        }
        writer.seal(0, Time(0));
        let mut bytes = Vec::new();
        writer.take_sealed(&mut bytes);
        let Framed::Frame(frame) = read_frame(seal, &bytes) else { panic!("it is whole") };
        let (mut records, mut replayed) = (frame.records(), None);
        for states in accounts.windows(2) {
            let Some(Ok(Record::Account { change, balances, .. })) = records.next() else {
                panic!("seed {seed}: a record for each Change");
            };
            apply(&mut replayed, &decoded(change));
            assert_eq!(replayed, states[1], "seed {seed}");
            match &states[1] {
                Some(after) => assert_balances(states[0].as_ref(), after, balances),
                None => assert_eq!(balances, []),
            }
            changes += 1;
        }
        assert_eq!(records.next(), None);
    }
    assert!(changes > 2_000, "only {changes} Changes were made");
}
