//! A follower of a real server gets each event once and in order, over RESP and beside the cores.

use scurry_ledger::{
    BucketAttributes, Command, Create, ItemKey, ItemRequest, Name, NewBucket, SessionRequest,
};
use scurry_server::{Durability, Server, Settings, Storage, Users};
use scurry_service::{
    CallError, Event, EventId, Events, Follow, FollowFrom, Position, Request, Service,
};
use scurry_stores::{Engine, RespStore};
use std::io;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Longer than any machine stalls.
const PATIENCE: Duration = Duration::from_secs(300);
const THREADS: u16 = 2;

/// Starts a server with a log, and returns both ways to it.
fn start(directory: &TempDir) -> [Box<dyn Service>; 2] {
    let users = Users::new(None, &[]).expect("no users");
    let mut settings = Settings::new(([127, 0, 0, 1], 0).into(), users);
    settings.threads = THREADS;
    let storage = Storage::new(directory.path().join("store"));
    settings.storage = Some(Storage { durability: Durability::Write, ..storage });
    let server = Server::bind(settings, &|_| {}).expect("it listens");
    let address = server.local_addr().to_string();
    let (inside, calls) = (server.inside(), server.inside().calls());
    thread::spawn(move || server.run());
    tokio::spawn(calls.clone().run());
    let connect = move || inside.inlet().map_err(io::Error::other);
    let engine = Engine::new(connect, move || Some(calls.clone()), PATIENCE, Duration::ZERO);
    [Box::new(RespStore::new(vec![address], None, None, PATIENCE)), Box::new(engine)]
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

async fn execute(store: &dyn Service, command: &Command<'_>) {
    store.call(Request::write(b"alice", command)).await.expect("it is carried out");
}

/// Creates an account, debits it, and reserves and reports use in a session.
async fn charge(store: &dyn Service) {
    let attributes = BucketAttributes::default();
    let main = NewBucket { bucket: name("main"), unit: name("cent"), amount: 1_000, attributes };
    let buckets = [main];
    let create = Create::active(&buckets);
    execute(store, &Command::Create(create)).await;
    for txn in ["t1", "t2", "t3"] {
        let txn = txn.as_bytes();
        execute(store, &Command::Debit { txn, unit: name("cent"), amount: 10 }).await;
    }
    let item = |used, requested| ItemRequest {
        key: ItemKey::Number(1),
        unit: name("cent"),
        used,
        requested,
        min: None,
    };
    let session = SessionRequest { session: b"call", ..SessionRequest::default() };
    let items = [item(None, Some(100))];
    execute(store, &Command::Reserve(SessionRequest { items: &items, ..session })).await;
    let items = [item(Some(60), None)];
    let end = SessionRequest { request: 1, items: &items, ..session };
    execute(store, &Command::Terminate(end)).await;
}

async fn read(store: &dyn Service, from: FollowFrom, count: u16) -> Result<Events, CallError> {
    store.follow(Follow { from, count, names: Vec::new() }).await
}

/// Reads in steps of `count` events until the end of the log. Returns the events, and the position after each step.
async fn read_to_end(
    store: &dyn Service,
    mut from: FollowFrom,
    count: u16,
) -> (Vec<Event<'static>>, Vec<Position>) {
    let (mut events, mut positions) = (Vec::new(), Vec::new());
    loop {
        let step = read(store, from, count).await.expect("events");
        assert!(step.events.len() <= usize::from(count), "{step:?}");
        events.extend(step.events);
        positions.push(step.next);
        if step.next == step.end {
            return (events, positions);
        }
        from = FollowFrom::At(step.next);
    }
}

fn places(events: &[Event<'_>]) -> Vec<(u64, u32)> {
    let place = |event: &Event<'_>| match event.id {
        EventId::At(at) => (at.sequence, at.index),
        other => panic!("{other}"),
    };
    events.iter().map(place).collect()
}

#[tokio::test]
async fn each_event_is_read_once_and_in_order_and_a_position_resumes() {
    let directory = TempDir::new().expect("a directory");
    let stores = start(&directory);
    charge(&*stores[0]).await;
    let mut all = Vec::new();
    let mut thread = 0;
    for number in 0..THREADS {
        let (events, _) = read_to_end(&*stores[0], FollowFrom::Oldest(number), 1_000).await;
        if !events.is_empty() {
            assert!(all.is_empty(), "an account has one thread");
            (all, thread) = (events, number);
        }
    }
    let names: Vec<&str> = all.iter().map(|event| event.name.as_ref()).collect();
    let expected = [
        "created",
        "bucket-added",
        "credited",
        "debited",
        "debited",
        "debited",
        "session-opened",
        "item-added",
        "reserved",
        "settled",
        "released",
        "session-closed",
    ];
    assert_eq!(names, expected);
    assert!(places(&all).is_sorted_by(|one, other| one < other), "{all:?}");
    let accounts = all.iter().map(|event| &event.commit.as_ref().expect("a commit").account[..]);
    assert!(accounts.eq(std::iter::repeat_n(&b"alice"[..], all.len())));
    let sum = |name: &str| all.iter().filter_map(|event| event.number(name)).sum::<i64>();
    assert_eq!((sum("change"), sum("held_change")), (1_000 - 3 * 10 - 60, 0));
    for store in &stores {
        for count in [1, 5] {
            let from = FollowFrom::Oldest(thread);
            let (events, positions) = read_to_end(&**store, from, count).await;
            assert_eq!(events, all, "in steps of {count}");
            // Resumes after each step.
            for (step, position) in positions.iter().enumerate() {
                let begin = all.len().min((step + 1) * usize::from(count));
                let (rest, _) = read_to_end(&**store, FollowFrom::At(*position), 1_000).await;
                assert_eq!(rest, all[begin..], "from {position}");
            }
        }
        // From the end on there are new events alone.
        let end = read(&**store, FollowFrom::Newest(thread), 1).await.expect("the end");
        assert_eq!((end.events.len(), end.next), (0, end.end));
        let (txn, unit) = (end.end.to_string(), name("cent"));
        let debit = Command::Debit { txn: txn.as_bytes(), unit, amount: 1 };
        execute(&**store, &debit).await;
        let new = read(&**store, FollowFrom::At(end.end), 10).await.expect("events");
        assert_eq!(new.events.len(), 1, "{new:?}");
        all.extend(new.events);
        let from = FollowFrom::Oldest(thread);
        let named = Follow { from, count: 1_000, names: vec!["debited", "reserved"] };
        let named = store.follow(named).await.expect("events");
        let is_named = |event: &&Event<'_>| ["debited", "reserved"].contains(&&*event.name);
        assert_eq!(named.events, all.iter().filter(is_named).cloned().collect::<Vec<_>>());
        let ahead = Position { sequence: 1_000, ..new.end };
        let refused = read(&**store, FollowFrom::At(ahead), 1).await;
        assert!(matches!(refused, Err(CallError::Refused(_))), "{refused:?}");
    }
}
