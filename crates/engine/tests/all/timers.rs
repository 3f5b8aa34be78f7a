//! Tests of timers: nothing expires early, everything due is done, removed entries leave no timer, and each call takes
//! a bounded number of steps. Work is counted, not timed.

use scurry_codec::{LogFormat, checked_frame};
use scurry_engine::{
    Config, EntityDelete, EntityPut, EntityState, Expiry, Key, LogId, Outcome, Shard, Version,
};
use scurry_ledger::{
    BucketAttributes, Change, Command, Create, ItemRequest, Name, NewBucket, SessionOptions,
    SessionRequest, Status, Time,
};
use std::hash::{DefaultHasher, Hasher};

const START: Time = Time(1_700_000_000_000);
const STEPS_MAX: usize = 128;
/// A value is removed when its tick is over.
const LATE_MS_MAX: i64 = 16;

fn set(shard: &mut Shard, now: Time, key: &str, expiry: Expiry) {
    shard.set(now, shard.key(key.as_bytes()), b"v", expiry).expect("a plain value");
}

fn after(ms: i64) -> Expiry {
    Expiry::At(START.plus_ms(ms))
}

fn is_there(shard: &Shard, now: Time, key: &str) -> bool {
    shard.value(now, shard.key(key.as_bytes())).expect("no account").is_some()
}

/// Ticks until nothing is due.
fn drain(shard: &mut Shard, now: Time) -> usize {
    let mut steps = 0;
    loop {
        match shard.tick(now) {
            0 => return steps,
            taken => steps += taken,
        }
    }
}

fn name(text: &[u8]) -> Name {
    Name::new(text).expect("a name")
}

/// Creates an account with credit but no money: it may be deleted as soon as it is closed.
fn create(shard: &mut Shard, account: Key<'_>) {
    let attributes = BucketAttributes { floor: Some(-1_000), ..BucketAttributes::default() };
    let bucket = NewBucket { bucket: name(b"main"), unit: name(b"octets"), amount: 0, attributes };
    let buckets = [bucket];
    let create = Create::active(&buckets);
    run(shard, START, account, &Command::Create(create));
}

/// Ends the session `s`, and the account.
fn delete(shard: &mut Shard, now: Time, account: Key<'_>) {
    run(shard, now, account, &Command::Release { session: b"s", txn: None, cancel: false });
    let closed = Command::Status { txn: None, status: Status::Closed, identities: &[] };
    run(shard, now, account, &closed);
    run(shard, now, account, &Command::Delete { force: true, if_txn: None });
}

fn run(shard: &mut Shard, now: Time, account: Key<'_>, command: &Command<'_>) {
    let outcome = shard.execute(now, account, command);
    assert!(matches!(outcome, Outcome::Answer { replayed: false, .. }), "{outcome:?}");
}

fn session(session: &[u8], request: u64, tcc_ms: i64) -> SessionRequest<'_> {
    SessionRequest {
        session,
        request: request.try_into().expect("small"),
        items: &[],
        options: SessionOptions { tcc_ms: Some(tcc_ms), ..SessionOptions::default() },
        ..SessionRequest::default()
    }
}

fn reserve(shard: &mut Shard, now: Time, account: Key<'_>, id: &[u8], tcc_ms: i64) {
    let unit = name(b"octets");
    let items = [ItemRequest { key: 1.into(), unit, used: None, requested: Some(10), min: None }];
    let request = SessionRequest { items: &items, ..session(id, 0, tcc_ms) };
    run(shard, now, account, &Command::Reserve(request));
}

#[test]
fn a_value_is_there_until_its_time_and_gone_from_then_on() {
    for offset in 0..40 {
        let start = START.plus_ms(offset);
        let mut shard = Shard::new(Config::default());
        let key = shard.key(b"k");
        let expires = start.plus_ms(100);
        shard.set(start, key, b"v", Expiry::At(expires)).expect("a plain value");
        // Reads are exact, whether or not timers have run.
        for (ms, there) in [(99, true), (100, false)] {
            assert_eq!(is_there(&shard, start.plus_ms(ms), "k"), there, "after {ms} ms");
        }
        drain(&mut shard, start.plus_ms(99));
        assert!(is_there(&shard, start.plus_ms(99), "k") && shard.len() == 1, "removed early");
        assert!(shard.next_due().expect("a timer") <= expires.plus_ms(LATE_MS_MAX));
        drain(&mut shard, expires.plus_ms(LATE_MS_MAX));
        assert_eq!((shard.len(), shard.next_due(), shard.stats().timers), (0, None, 0));
    }
}

#[test]
fn an_expiry_is_kept_replaced_or_taken_away() {
    let mut shard = Shard::new(Config::default());
    for key in ["keep", "later", "sooner", "never", "persist", "append"] {
        set(&mut shard, START, key, after(1_000));
    }
    set(&mut shard, START, "keep", Expiry::Keep);
    set(&mut shard, START, "later", after(2_000));
    set(&mut shard, START, "sooner", after(500));
    set(&mut shard, START, "never", Expiry::Never);
    assert_eq!(shard.set_expiry(START, shard.key(b"persist"), None), Ok(true));
    assert_eq!(shard.append(START, shard.key(b"append"), b"w"), Ok(2));
    let stats = shard.stats();
    assert_eq!((stats.timers, stats.expiring), (4, 4), "two of six do not expire any more");
    let there = |shard: &Shard, ms: i64| {
        let keys = ["keep", "later", "sooner", "never", "persist", "append"];
        keys.map(|key| is_there(shard, START.plus_ms(ms), key))
    };
    for ticks in [false, true] {
        for (ms, expected) in [
            (499, [true; 6]),
            (500, [true, true, false, true, true, true]),
            (1_000, [false, true, false, true, true, false]),
            (2_000, [false, false, false, true, true, false]),
        ] {
            if ticks {
                drain(&mut shard, START.plus_ms(ms));
            }
            assert_eq!(there(&shard, ms), expected, "after {ms} ms, ticks {ticks}");
        }
    }
    drain(&mut shard, START.plus_ms(3_000));
    assert_eq!((shard.len(), shard.stats().timers), (2, 0));
}

/// A lock: SET NX EX 3600, then DEL, half a million times, as in one second.
#[test]
fn what_is_deleted_leaves_no_timer_behind() {
    let mut shard = Shard::new(Config::default());
    for round in 0..50_000 {
        let now = START.plus_ms(round / 500);
        let key = format!("lock:{}", round % 7);
        set(&mut shard, now, &key, after(3_600_000 + round / 500));
        assert_eq!(shard.del(now, shard.key(key.as_bytes())), Ok(true));
        assert_eq!(shard.stats().timers, 0, "round {round}");
    }
    let id = shard.key(b"account");
    for round in 0..1_000 {
        create(&mut shard, id);
        reserve(&mut shard, START, id, b"s", 3_600_000 + round);
        delete(&mut shard, START, id);
        assert_eq!((shard.stats().timers, shard.next_due()), (0, None), "round {round}");
    }
    assert!(shard.stats().memory.timers < 30_000, "{:?}", shard.stats().memory);
}

#[test]
fn a_deadline_that_moves_back_costs_one_look_and_not_one_for_each_move() {
    let mut shard = Shard::new(Config::default());
    let id = shard.key(b"account");
    create(&mut shard, id);
    reserve(&mut shard, START, id, b"s", 1_000);
    set(&mut shard, START, "k", after(1_000));
    let mut steps = 0;
    for request in 1..=2_000 {
        let now = START.plus_ms(i64::try_from(request).expect("small"));
        run(&mut shard, now, id, &Command::Update(session(b"s", request, 1_000)));
        let expires = Expiry::At(now.plus_ms(1_000));
        shard.set(now, shard.key(b"k"), b"v", expires).expect("a plain value");
        steps += drain(&mut shard, now);
        assert_eq!(shard.stats().timers, 2);
    }
    assert!(steps <= 6, "two seconds with deadlines of one second: {steps} steps");
    assert_eq!(shard.totals().sessions, 1);
    drain(&mut shard, START.plus_ms(3_000));
    assert_eq!(shard.totals().sessions, 0);
}

/// Entries of all kinds, due in one millisecond: no call exceeds its steps, reads and writes between the calls are
/// correct, and everything expires in the end.
#[test]
fn many_things_due_at_once_are_done_in_bounded_steps() {
    const EACH: usize = 3_000;
    let mut shard = Shard::new(Config { entity_tombstone_ms: 1_000, ..Config::default() });
    for n in 0..EACH {
        set(&mut shard, START, &format!("value:{n}"), after(1_000));
        let (entity, deleted) = (format!("entity:{n}"), format!("deleted:{n}"));
        let options = EntityPut { expiry: after(1_000), ..EntityPut::default() };
        shard.entity_put(START, shard.key(entity.as_bytes()), b"v", options).expect("an entity");
        let key = shard.key(deleted.as_bytes());
        shard.entity_put(START, key, b"v", EntityPut::default()).expect("an entity");
        shard.entity_del(START, key, EntityDelete::default()).expect("an entity");
        let account = format!("account:{n}");
        let account = shard.key(account.as_bytes());
        create(&mut shard, account);
        reserve(&mut shard, START, account, b"s", 1_000);
    }
    let stats = shard.stats();
    assert_eq!((stats.timers, stats.expiring), (4 * EACH as u64, 2 * EACH as u64));
    assert_eq!(drain(&mut shard, START.plus_ms(991)), 0, "nothing is due");
    let now = START.plus_ms(1_000 + LATE_MS_MAX);
    let (mut steps, mut calls, mut order) = (0, 0, vec![]);
    loop {
        let note = |id: &[u8], change: &Change| order.push((change.at, id.to_vec()));
        let taken = shard.tick_with(now, note);
        assert!(taken <= STEPS_MAX, "{taken} steps in one call");
        if taken == 0 {
            break;
        }
        (steps, calls) = (steps + taken, calls + 1);
        let key = format!("value:{}", calls % EACH);
        assert!(!is_there(&shard, now, &key));
        if calls % 5 == 0 {
            set(&mut shard, now, &key, Expiry::Never);
        }
    }
    // An account is gathered and then committed; every other entry takes one step, or none when a command removed it
    // first.
    assert!(steps <= 5 * EACH && steps + calls / 5 >= 5 * EACH, "{steps} steps in {calls} calls");
    let sorted = order.is_sorted() && order.iter().all(|(at, _)| *at == START.plus_ms(1_000));
    assert!(order.len() == EACH && sorted, "I9: released in order");
    let stats = shard.stats();
    assert_eq!((stats.values, stats.entities, stats.tombstones), (calls as u64 / 5, 0, 0));
    assert_eq!((shard.totals().sessions, stats.accounts), (0, EACH as u64));
    assert_eq!(stats.timers, EACH as u64, "those of remembered sessions");
}

#[test]
fn the_idle_may_take_more_steps_and_one_at_a_time_is_enough() {
    let mut shard = Shard::new(Config::default());
    for n in 0..1_000 {
        set(&mut shard, START, &format!("{n}"), after(10));
    }
    let now = START.plus_ms(100);
    assert_eq!(shard.tick_some(now, 1, |_, _| ()), 1);
    assert_eq!(shard.tick_some(now, 600, |_, _| ()), 600);
    assert_eq!((shard.tick_some(now, 0, |_, _| ()), shard.len()), (0, 399));
    assert!(shard.next_due().is_some_and(|due| due <= now), "work is left");
}

/// Changes that commands may make to an account after it is gathered and before it is committed.
#[test]
fn an_account_in_the_order_may_be_touched_deleted_and_made_again() {
    let now = START.plus_ms(1_000);
    for change in 0..4 {
        let mut shard = Shard::new(Config::default());
        let ids: Vec<String> = (0..10).map(|n| format!("account:{n}")).collect();
        for id in &ids {
            let id = shard.key(id.as_bytes());
            create(&mut shard, id);
            reserve(&mut shard, START, id, b"s", 1_000);
        }
        // All ten are in the order, and three of them are committed.
        let mut order = vec![];
        let mut note = |id: &[u8], change: &Change| {
            order.push((change.at, String::from_utf8_lossy(id).into_owned()));
        };
        assert_eq!(shard.tick_some(now, 13, &mut note), 13);
        let id = shard.key(ids[5].as_bytes());
        // The clock of the command may be earlier than that of the tick.
        let before = START.plus_ms(999);
        match change {
            0 => run(&mut shard, before, id, &Command::Update(session(b"s", 1, 5_000))),
            1 => {
                delete(&mut shard, before, id);
            }
            2 => {
                delete(&mut shard, before, id);
                create(&mut shard, id);
                reserve(&mut shard, before, id, b"t", 9_001);
            }
            _ => reserve(&mut shard, START.plus_ms(998), id, b"t", 1),
        }
        while shard.tick_with(now, &mut note) > 0 {}
        let mut expected: Vec<(Time, String)> =
            ids.iter().map(|id| (START.plus_ms(1_000), id.clone())).collect();
        match change {
            0..=2 => drop(expected.remove(5)),
            // The first three were committed before the earlier deadline was added.
            _ => expected.insert(3, (START.plus_ms(999), ids[5].clone())),
        }
        assert_eq!(order, expected, "change {change}");
        let left = match change {
            0 => 1,
            2 => 1,
            _ => 0,
        };
        assert_eq!(shard.totals().sessions, left, "change {change}");
        while shard.tick(START.plus_ms(1_000_000)) > 0 {}
        let stats = shard.stats();
        assert_eq!((shard.totals().sessions, stats.timers), (0, 0), "change {change}");
    }
}

#[test]
fn a_tombstone_refuses_older_writes_as_long_as_it_is_configured_to() {
    let mut shard = Shard::new(Config { entity_tombstone_ms: 10_000, ..Config::default() });
    let key = shard.key(b"id");
    let version = |ms| Some(Version::at(START.plus_ms(ms), 1));
    let put = |ms| EntityPut { version: version(ms), ..EntityPut::default() };
    let delete = EntityDelete { version: version(5), if_version: None };
    assert!(shard.entity_put(START, key, b"old", put(0)).expect("an entity").applied);
    let written = shard.entity_del(START, key, delete).expect("an entity");
    assert!(written.applied && written.existed);
    for ms in [0, 16, 5_000, 9_999] {
        let now = START.plus_ms(ms);
        drain(&mut shard, now);
        let write = shard.entity_put(now, key, b"older", put(4)).expect("an entity");
        assert!(!write.applied && Some(write.version) == version(5), "after {ms} ms: {write:?}");
        let entity = shard.entity(now, key).expect("no value").expect("a tombstone");
        let forget_at = START.plus_ms(10_000);
        assert_eq!(entity.state, EntityState::Deleted { at: START, forget_at });
        assert!(!shard.exists(now, key) && shard.is_empty(), "a tombstone is no key");
        assert!(shard.set(now, key, b"v", Expiry::Never).is_err(), "nor room for another");
    }
    drain(&mut shard, START.plus_ms(10_000 + LATE_MS_MAX));
    let stats = shard.stats();
    assert_eq!((stats.tombstones, stats.timers, stats.memory.entities), (0, 0, 0));
}

#[test]
fn a_tombstone_that_a_write_overtook_stays_and_the_write_stands() {
    let mut shard = Shard::new(Config::default());
    let key = shard.key(b"id");
    let version = Some(Version::at(START, 3));
    let delete = EntityDelete { version, if_version: None };
    let written = shard.entity_del(START, key, delete).expect("an entity");
    assert!(written.applied && !written.existed, "a delete may come before its put");
    let late = EntityPut { version: Some(Version::at(START, 2)), ..EntityPut::default() };
    assert!(!shard.entity_put(START, key, b"v", late).expect("an entity").applied);
    assert!(shard.entity_put(START, key, b"v", EntityPut::default()).expect("an entity").applied);
    assert!(shard.exists(START, key));
    // Without a version there is nothing to delete or to remember.
    let nothing = shard.entity_del(START, shard.key(b"none"), EntityDelete::default());
    assert!(!nothing.expect("an entity").applied);
    assert_eq!(shard.stats().tombstones, 0);
}

/// Due work counts as done even before a timer has run: a comparison of states must show that.
#[test]
fn the_state_of_a_key_changes_when_something_falls_due_in_it() {
    let hash = |shard: &mut Shard, ms: i64, key: &str| {
        let mut hasher = DefaultHasher::new();
        shard.hash_state(START.plus_ms(ms), shard.key(key.as_bytes()), &mut hasher);
        hasher.finish()
    };
    let mut shard = Shard::new(Config::default());
    let absent = hash(&mut shard, 0, "k");
    assert_eq!(hash(&mut shard, 0, "other"), absent);
    set(&mut shard, START, "k", after(100));
    let account = shard.key(b"a");
    create(&mut shard, account);
    let created = hash(&mut shard, 0, "a");
    reserve(&mut shard, START, account, b"s", 100);
    let reserved = hash(&mut shard, 0, "a");
    let there = hash(&mut shard, 0, "k");
    assert!(there != absent && created != reserved);
    for (ms, same) in [(99, true), (100, false), (200, false)] {
        assert_eq!(hash(&mut shard, ms, "a") == reserved, same, "{ms}");
        assert_eq!(hash(&mut shard, ms, "k") == there, same, "{ms}");
    }
    assert_eq!(hash(&mut shard, 100, "k"), absent);
    // Further due work changes the state again, although no timer has run for the first.
    reserve(&mut shard, START, account, b"t", 150);
    let first = hash(&mut shard, 100, "a");
    assert_eq!(hash(&mut shard, 149, "a"), first);
    assert_ne!(hash(&mut shard, 150, "a"), first);
    // Value and expiry are part of the state.
    set(&mut shard, START, "k", after(101));
    assert_ne!(hash(&mut shard, 0, "k"), there);
    set(&mut shard, START, "k", after(100));
    assert_eq!(hash(&mut shard, 0, "k"), there);
    shard.set(START, shard.key(b"k"), b"w", after(100)).expect("a plain value");
    assert_ne!(hash(&mut shard, 0, "k"), there);
}

/// A follower has no clock of its own, and the next leader's clock may differ. So in a group an expired entry is
/// removed by a record, even when no command touches it. A single server needs no such record.
#[test]
fn what_expires_in_a_group_is_removed_by_a_record() {
    let log = LogId { id: 7, core: 0 };
    let outcomes = [LogFormat::Single, LogFormat::Replicated].map(|format| {
        let mut leader = Shard::new(Config::default());
        let mut follower = Shard::new(Config::default());
        leader.keep_journal_in(log, format, 1);
        set(&mut leader, START, "touched", after(10));
        set(&mut leader, START, "untouched", after(10));
        let late = START.plus_ms(1_000);
        assert!(leader.del(late, leader.key(b"touched")).is_ok_and(|was_there| !was_there));
        drain(&mut leader, late);
        assert!(leader.is_empty());
        let journal = leader.journal().expect("it has one");
        journal.seal(0, late);
        let mut bytes = Vec::new();
        journal.take_sealed(&mut bytes);
        let frame = checked_frame(log.seal_in(format), &bytes).expect("one frame");
        follower.apply_frame(&frame).expect("it fits");
        (frame.next() - 1, follower.len())
    });
    assert_eq!(outcomes, [(2, 2), (4, 0)]);
}
