//! Tests of events: the event of each fact, and that a reader of a log that grows, is divided into segments and loses
//! its oldest ones sees every event once and in order, or is told of a gap.

use scurry_engine::{
    Batch, ByteCount, Commits, Config, Disk, Durability, Ending, Event, EventAt, EventFilter,
    EventReader, EventWithOrigin, File, Found, LogId, LogRetention, LogWriter, LowThresholds,
    Movement, Origin, OriginItem, Outcome, Read, Sequence, Shard, Stop, TimeRange, events_of,
    extent, forget, segment_of,
};
use scurry_ledger::{
    BucketAttributes, BucketNo, BucketTerms, Cause, Change, Code, Command, Create, Cycle, Decision,
    Denial, Id, Identity, ItemAt, ItemRequest, LateAnswer, Limit, LimitAt, LimitSubject, Limits,
    Name, NewBucket, Op, Overrun, PackedAnswer, Period, Posting, RequestKind, RequestName,
    SessionAt, SessionOptions, SessionRequest, SessionTerms, Status, StoredAnswer, Time, Tombstone,
    TombstoneKind, Transaction, Window, apply, decide,
};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

const NOW: Time = Time(1_700_000_000_000);
const LOG: LogId = LogId { id: 7, core: 0 };

fn name_of_update(number: u32) -> RequestName {
    RequestName { number, kind: RequestKind::Update }
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn id(text: &str) -> Id {
    Id::new(text.as_bytes()).expect("an id")
}

fn posting(bucket: u16, amount: i64) -> Posting {
    Posting { bucket: BucketNo(bucket), amount }
}

fn told(ops: Vec<Op>) -> Vec<EventWithOrigin> {
    let mut told = vec![EventWithOrigin { event: Event::Deleted, origin: Origin::default() }];
    events_of(&Change { at: NOW, ops }, &mut told);
    told
}

fn events(ops: Vec<Op>) -> Vec<Event> {
    told(ops).into_iter().map(|told| told.event).collect()
}

fn denial() -> Denial {
    Denial {
        item: Some(1.into()),
        unit: name("cent"),
        requested: 5,
        code: Code::CreditLimitReached,
        cause: Cause::Balance,
        left_out: 0,
    }
}

fn msisdn() -> Identity {
    Identity { kind: name("msisdn"), value: id("49123") }
}

const TERMS: BucketTerms =
    BucketTerms { priority: 3, valid_from: Time(4), valid_to: None, floor: -5, mark: None };

#[test]
fn each_fact_is_one_event_or_none() {
    let at = ItemAt { session: SessionAt(0), item: 0 };
    let moved = |movement| vec![Event::Moved(movement, posting(2, 9))];
    let answer = StoredAnswer {
        request: name_of_update(1),
        digest: 2,
        code: Code::Ok,
        version: 3,
        items: Default::default(),
    };
    let transaction = Transaction {
        id: id("txn"),
        forget_at: NOW,
        digest: 1,
        code: Code::Ok,
        version: 1,
        amount: 1,
        cause: scurry_ledger::Cause::None,
        parts: vec![],
        items: vec![],
    };
    let bury = |kind| Op::StoreTombstone(Box::new(Tombstone::new(id("s"), NOW, kind, None)));
    let supervise =
        Op::Supervise { session: SessionAt(0), validity_ms: 1, tcc_ms: 2, deadline: NOW };
    let counter = Op::SetCounter {
        id: name("calls"),
        unit: name("events"),
        cycle: Cycle::fixed(Period::Day, 0),
        period_start: NOW,
        value: -3,
    };
    let limit = Limit {
        id: name("a-day"),
        counted: LimitSubject::Sessions,
        amount: 9,
        window: Window::NONE,
        period_start: NOW,
        since: 1,
        used: 0,
        drained: 0,
        overrun: 0,
        held: 0,
        told: 0,
        parts: 0,
    };
    for (op, expected) in [
        (Op::Create(Status::Suspended), vec![Event::Created(Status::Suspended)]),
        (Op::Delete, vec![Event::Deleted]),
        (Op::SetStatus(Status::Closed), vec![Event::StatusSet(Status::Closed)]),
        (
            Op::SetIdentity { kind: name("imsi"), value: id("1") },
            vec![Event::IdentitySet { kind: name("imsi"), value: id("1") }],
        ),
        (
            Op::AddBucket { id: name("main"), unit: name("cent"), terms: TERMS },
            vec![Event::BucketAdded { id: name("main"), unit: name("cent"), terms: TERMS }],
        ),
        (
            Op::SetBucket { bucket: BucketNo(1), terms: TERMS },
            vec![Event::BucketChanged { bucket: BucketNo(1), terms: TERMS }],
        ),
        (
            Op::RemoveBucket { bucket: BucketNo(1), named: None },
            vec![Event::BucketRemoved { bucket: BucketNo(1), named: None }],
        ),
        (
            Op::RemoveBucket { bucket: BucketNo(1), named: Some((name("main"), name("cent"))) },
            vec![Event::BucketRemoved {
                bucket: BucketNo(1),
                named: Some((name("main"), name("cent"))),
            }],
        ),
        (Op::Credit(posting(2, 9)), moved(Movement::Credited)),
        (Op::Void(posting(2, 9)), moved(Movement::Voided)),
        (Op::Refund(posting(2, 9)), moved(Movement::Refunded)),
        (Op::RefundExpired(posting(2, 9)), moved(Movement::RefundedExpired)),
        (Op::Debit(posting(2, 9)), moved(Movement::Debited)),
        (Op::Overdraw(posting(2, 9)), moved(Movement::Overdrawn)),
        (Op::Expire(posting(2, 9)), moved(Movement::Expired)),
        (counter, vec![Event::CounterSet { id: name("calls"), unit: name("events"), value: -3 }]),
        (Op::SetLimit(Box::new(limit)), vec![Event::LimitSet { id: name("a-day"), amount: 9 }]),
        (Op::RemoveLimit(name("a-day")), vec![Event::LimitRemoved(name("a-day"))]),
        (Op::BeginLimitPeriod { limit: LimitAt(0), start: NOW }, vec![]),
        (Op::CountUse { limit: LimitAt(0), used: 8, overrun: 0 }, vec![]),
        (Op::UncountUse { limit: LimitAt(0), part: 0, amount: 8 }, vec![]),
        (
            Op::ReachThreshold { limit: name("a-day"), percent: 80, used: 8, amount: 9 },
            vec![Event::LimitReached { id: name("a-day"), percent: 80, used: 8, amount: 9 }],
        ),
        (
            Op::CrossMark { bucket: BucketNo(2), mark: 9, is_below: true },
            vec![Event::BelowMark { bucket: BucketNo(2), mark: 9 }],
        ),
        (
            Op::CrossMark { bucket: BucketNo(2), mark: 9, is_below: false },
            vec![Event::AboveMark { bucket: BucketNo(2), mark: 9 }],
        ),
        (
            Op::OpenSession {
                id: id("s"),
                terms: SessionTerms { overrun: Overrun::Clamp, transfer: false },
            },
            vec![Event::SessionOpened],
        ),
        (
            Op::AddItem { session: SessionAt(0), key: 1.into(), unit: name("cent") },
            vec![Event::ItemAdded { key: 1.into(), unit: name("cent") }],
        ),
        (Op::Hold(at, posting(2, 9)), moved(Movement::Reserved)),
        (Op::Grant { at, amount: 9, request: 1 }, vec![]),
        (Op::Settle(at, posting(2, 9)), moved(Movement::Settled)),
        (Op::Release(at, posting(2, 9)), moved(Movement::Released)),
        (Op::ReleaseExpired(at, posting(2, 9)), moved(Movement::ReleasedExpired)),
        (Op::Use { at, used: 9, direct: 0, uncollected: 0 }, vec![]),
        (Op::Use { at, used: 9, direct: 4, uncollected: 5 }, vec![Event::Uncollected(5)]),
        (supervise, vec![]),
        (Op::SetBlob(SessionAt(0), vec![1]), vec![]),
        (
            Op::StoreAnswer {
                session: SessionAt(0),
                answer: PackedAnswer::new(&answer),
                answers_max: 8,
            },
            vec![],
        ),
        (Op::CloseSession(SessionAt(0)), vec![Event::SessionEnded(Ending::Closed(Code::Ok))]),
        // Without a session that ends, it records a refused one.
        (bury(TombstoneKind::Expired), vec![]),
        (Op::Remember(Box::new(transaction)), vec![]),
        (Op::NoteRefund { debit: id("txn"), item: 0, posting: posting(2, 9) }, vec![]),
        (Op::Forget, vec![]),
        (Op::NameItem { at, key: 1.into(), unit: name("cent") }, vec![]),
        (Op::NameKey(1.into()), vec![]),
        (Op::NameBlob(SessionAt(0), vec![1]), vec![]),
        (Op::NameIdentities([msisdn()].into()), vec![]),
        (Op::Deny(Box::new(denial())), vec![Event::Denied(denial())]),
    ] {
        assert_eq!(events(vec![op.clone()]), expected, "{op:?}");
    }
    let answered = TombstoneKind::Answered {
        request: name_of_update(1),
        digest: 2,
        code: Code::Ok,
        items: Default::default(),
    };
    for (kind, ending) in [
        (TombstoneKind::Expired, Ending::Expired),
        (TombstoneKind::Released, Ending::Released),
        (answered, Ending::Closed(Code::Ok)),
    ] {
        let ops = vec![Op::CloseSession(SessionAt(0)), bury(kind)];
        assert_eq!(events(ops), [Event::SessionEnded(ending)]);
    }
}

#[test]
fn late_use_is_told_with_the_session_that_was_not_open() {
    let unit = name("cent");
    let answer = PackedAnswer::new(&StoredAnswer {
        request: name_of_update(6),
        digest: 2,
        code: Code::Ok,
        version: 0,
        items: Default::default(),
    });
    let session = id("gone");
    let late = LateAnswer { session: session.clone(), answer, forget_at: NOW, answers_max: 8 };
    let ops = vec![
        Op::Debit(posting(2, 7)),
        Op::LateUse { key: 1.into(), unit, used: 9, uncollected: 2 },
        Op::CountUse { limit: LimitAt(0), used: 9, overrun: 0 },
        Op::ReachThreshold { limit: name("a-day"), percent: 80, used: 9, amount: 10 },
        Op::NoteLate(Box::new(late)),
    ];
    let expected = [
        Event::Moved(Movement::Debited, posting(2, 7)),
        Event::LateUse { unit, used: 9, uncollected: 2 },
        Event::LimitReached { id: name("a-day"), percent: 80, used: 9, amount: 10 },
    ];
    assert_eq!(events(ops.clone()), expected);
    let origins: Vec<Origin> = told(ops).into_iter().map(|told| told.origin).collect();
    let late = Origin {
        session: Some(session),
        request: Some(6),
        item: Some(OriginItem { place: None, key: 1.into(), unit: Some(unit) }),
        ..Origin::default()
    };
    assert_eq!((&origins[0], &origins[2]), (&late, &late));
}

/// Holds even when the id is remembered no longer than the commit itself.
#[test]
fn every_session_that_ends_is_told_by_its_id_and_how_it_ended() {
    let usual = Limits::default().tombstone_ms;
    let request =
        SessionRequest { session: b"s", request: 1, items: &[], ..SessionRequest::default() };
    let count = Command::Counter {
        txn: b"t",
        counter: name("calls"),
        amount: 1,
        unit: None,
        period: None,
        clock: scurry_ledger::PeriodClock::NONE,
    };
    let (terminate, release) =
        (Command::Terminate(request), Command::Release { session: b"s", txn: None, cancel: false });
    for (tombstone_ms, after_ms, command, ending) in [
        (usual, 1_000, &count, Ending::Expired),
        (usual, 1_000 + usual, &count, Ending::Expired),
        (usual, 999, &terminate, Ending::Closed(Code::Ok)),
        (usual, 999, &release, Ending::Released),
        (0, 1_000, &count, Ending::Expired),
        (0, 999, &terminate, Ending::Closed(Code::Ok)),
        (0, 999, &release, Ending::Released),
    ] {
        let limits = Limits { tombstone_ms, ..Limits::default() };
        let mut account = None;
        let mut run = |at: Time, command: &Command<'_>| match decide(
            account.as_ref(),
            command,
            at,
            &limits,
        ) {
            Decision::Commit(change, _) => {
                apply(&mut account, &change);
                let mut events = Vec::new();
                events_of(&change, &mut events);
                events
            }
            other => panic!("{command:?}: {other:?}"),
        };
        let attributes = BucketAttributes::default();
        let buckets = [NewBucket { bucket: name("b"), unit: name("cent"), amount: 10, attributes }];
        let create = Create::active(&buckets);
        run(NOW, &Command::Create(create));
        let unit = name("cent");
        let items =
            [ItemRequest { key: 1.into(), unit, used: None, requested: Some(5), min: None }];
        let reserve = SessionRequest {
            items: &items,
            request: 0,
            options: SessionOptions { tcc_ms: Some(1_000), ..request.options },
            ..request
        };
        run(NOW, &Command::Reserve(reserve));
        let events = run(NOW.plus_ms(after_ms), command);
        let ended: Vec<_> =
            events.iter().filter(|told| matches!(told.event, Event::SessionEnded(_))).collect();
        let [EventWithOrigin { event, origin }] = ended[..] else { panic!("{ended:?}") };
        let told = (event, origin.session.as_ref());
        assert_eq!(told, (&Event::SessionEnded(ending), Some(&id("s"))), "{command:?}");
        let forgotten = after_ms >= 1_000 + usual || tombstone_ms == 0;
        assert_eq!(account.is_some_and(|account| account.tombstones.is_empty()), forgotten);
    }
}

#[test]
fn what_moves_in_one_way_and_bucket_is_one_event_where_it_begins() {
    let at = ItemAt { session: SessionAt(0), item: 0 };
    let ops = vec![
        Op::Settle(at, posting(0, 5)),
        Op::Release(at, posting(0, 1)),
        Op::CloseSession(SessionAt(0)),
        Op::Release(at, posting(1, 2)),
        Op::Release(at, posting(0, 3)),
        Op::Settle(at, posting(0, 4)),
    ];
    let expected = [
        Event::Moved(Movement::Settled, posting(0, 9)),
        Event::Moved(Movement::Released, posting(0, 4)),
        Event::SessionEnded(Ending::Closed(Code::Ok)),
        Event::Moved(Movement::Released, posting(1, 2)),
    ];
    assert_eq!(events(ops), expected);
}

/// A Commit of an UPDATE that finds another session due, and of a TERMINATE of two items.
#[test]
fn each_movement_tells_the_request_and_the_item_that_it_comes_from() {
    let at = |session, item| ItemAt { session: SessionAt(session), item };
    let answer = PackedAnswer::new(&StoredAnswer {
        request: name_of_update(4),
        digest: 2,
        code: Code::Ok,
        version: 3,
        items: Default::default(),
    });
    let of = |session: &str, request, place| Origin {
        session: Some(id(session)),
        request,
        item: Some(OriginItem {
            place: Some(place),
            key: u32::from(place).into(),
            unit: Some(name("cent")),
        }),
        ..Origin::default()
    };
    let named = |session, item: u8| Op::NameItem {
        at: at(session, item),
        key: u32::from(item).into(),
        unit: name("cent"),
    };
    let bury =
        |session, kind| Op::StoreTombstone(Box::new(Tombstone::new(id(session), NOW, kind, None)));
    let reach =
        |limit, percent| Op::ReachThreshold { limit: name(limit), percent, used: 9, amount: 9 };
    let update = vec![
        Op::NameSession(id("due")),
        named(0, 0),
        Op::Release(at(0, 0), posting(0, 1)),
        Op::CloseSession(SessionAt(0)),
        bury("due", TombstoneKind::Expired),
        Op::Expire(posting(0, 2)),
        Op::NameSession(id("s")),
        named(1, 0),
        named(1, 1),
        Op::Settle(at(1, 0), posting(0, 3)),
        Op::Debit(posting(0, 4)),
        Op::Use { at: at(1, 0), used: 9, direct: 4, uncollected: 2 },
        Op::CountUse { limit: LimitAt(0), used: 9, overrun: 0 },
        reach("a", 80),
        Op::CountUse { limit: LimitAt(1), used: 9, overrun: 0 },
        reach("b", 100),
        Op::Settle(at(1, 1), posting(0, 5)),
        Op::Use { at: at(1, 1), used: 5, direct: 0, uncollected: 0 },
        Op::CountUse { limit: LimitAt(0), used: 5, overrun: 0 },
        reach("a", 100),
        Op::StoreAnswer { session: SessionAt(1), answer, answers_max: 8 },
    ];
    let moved = |movement, amount| Event::Moved(movement, posting(0, amount));
    let reached =
        |limit, percent| Event::LimitReached { id: name(limit), percent, used: 9, amount: 9 };
    let ended = Origin { session: Some(id("due")), ..Origin::default() };
    let expected = [
        (moved(Movement::Released, 1), of("due", None, 0)),
        (Event::SessionEnded(Ending::Expired), ended),
        (moved(Movement::Expired, 2), Origin::default()),
        (moved(Movement::Settled, 3), of("s", Some(4), 0)),
        (moved(Movement::Debited, 4), of("s", Some(4), 0)),
        (Event::Uncollected(2), of("s", Some(4), 0)),
        (reached("a", 80), of("s", Some(4), 0)),
        (reached("b", 100), of("s", Some(4), 0)),
        (moved(Movement::Settled, 5), of("s", Some(4), 1)),
        (reached("a", 100), of("s", Some(4), 1)),
    ];
    assert_eq!(told(update), expected.map(|(event, origin)| EventWithOrigin { event, origin }));
    let answered = TombstoneKind::Answered {
        request: name_of_update(9),
        digest: 1,
        code: Code::Ok,
        items: Default::default(),
    };
    let terminate = vec![
        Op::NameSession(id("s")),
        named(0, 0),
        named(0, 1),
        Op::Release(at(0, 0), posting(0, 1)),
        Op::Release(at(0, 1), posting(0, 2)),
        Op::CloseSession(SessionAt(0)),
        bury("s", answered),
    ];
    let origins: Vec<Origin> = told(terminate).into_iter().map(|told| told.origin).collect();
    let end = Origin { item: None, ..of("s", Some(9), 0) };
    assert_eq!(origins, [of("s", Some(9), 0), of("s", Some(9), 1), end]);
}

/// A due refill, followed by a debit.
#[test]
fn a_transaction_is_told_with_what_it_did_and_not_with_what_was_due() {
    let transaction = Transaction {
        id: id("txn"),
        forget_at: NOW,
        digest: 1,
        code: Code::Ok,
        version: 1,
        amount: 1,
        cause: Cause::None,
        parts: vec![],
        items: vec![],
    };
    let ops = vec![
        Op::BeginPeriod { bucket: BucketNo(0), period_start: NOW, carried: 0 },
        Op::Expire(posting(0, 1)),
        Op::Credit(posting(0, 2)),
        Op::Credit(posting(0, 3)),
        Op::Debit(posting(0, 4)),
        Op::CountUse { limit: LimitAt(0), used: 4, overrun: 0 },
        Op::ReachThreshold { limit: name("a-day"), percent: 80, used: 4, amount: 5 },
        Op::Remember(Box::new(transaction)),
    ];
    let transactions: Vec<Option<Id>> =
        told(ops).into_iter().map(|told| told.origin.transaction).collect();
    let txn = Some(id("txn"));
    assert_eq!(transactions, [None, None, txn.clone(), txn.clone(), txn]);
}

#[test]
fn the_credit_of_a_period_is_a_refill_and_a_later_one_is_not() {
    let ops = vec![
        Op::BeginPeriod { bucket: BucketNo(0), period_start: NOW, carried: 0 },
        Op::Expire(posting(0, 1)),
        Op::Credit(posting(0, 2)),
        Op::Credit(posting(0, 3)),
    ];
    let expected = [
        Event::Moved(Movement::Expired, posting(0, 1)),
        Event::Moved(Movement::Refilled, posting(0, 2)),
        Event::Moved(Movement::Credited, posting(0, 3)),
    ];
    assert_eq!(events(ops), expected);
}

#[test]
fn a_crossing_has_the_origin_of_the_last_movement_of_its_bucket() {
    let item = ItemAt { session: SessionAt(0), item: 0 };
    let cross = |bucket, is_below| Op::CrossMark { bucket: BucketNo(bucket), mark: 5, is_below };
    let ops = vec![
        Op::Expire(posting(0, 1)),
        Op::NameSession(id("s")),
        Op::NameItem { at: item, key: 0.into(), unit: name("cent") },
        Op::Hold(item, posting(1, 9)),
        Op::NameIdentities(vec![msisdn()].into()),
        cross(0, true),
        cross(1, true),
        cross(2, false),
    ];
    let told = told(ops);
    let [.., of_expiry, of_grant, of_none] = told.as_slice() else { panic!("{told:?}") };
    let identities: Option<std::sync::Arc<[Identity]>> = Some(vec![msisdn()].into());
    let identified = |origin: Origin| Origin { identities: identities.clone(), ..origin };
    assert_eq!(of_expiry.event, Event::BelowMark { bucket: BucketNo(0), mark: 5 });
    assert_eq!(of_expiry.origin, identified(Origin::default()));
    assert_eq!(of_grant.origin, identified(of_session_item("s")));
    assert_eq!(of_none.event, Event::AboveMark { bucket: BucketNo(2), mark: 5 });
    assert_eq!(of_none.origin, identified(Origin::default()));
}

fn of_session_item(session: &str) -> Origin {
    let item = OriginItem { place: Some(0), key: 0.into(), unit: Some(name("cent")) };
    Origin { session: Some(id(session)), item: Some(item), ..Origin::default() }
}

#[test]
fn each_event_has_a_word_of_its_own() {
    let bucket = BucketNo(0);
    let moved = Movement::ALL.map(|movement| Event::Moved(movement, posting(0, 1)));
    let mut words: Vec<&str> = [
        Event::Created(Status::Active),
        Event::Deleted,
        Event::StatusSet(Status::Active),
        Event::IdentitySet { kind: name("k"), value: Id::EMPTY },
        Event::BucketAdded { id: name("b"), unit: name("u"), terms: TERMS },
        Event::BucketChanged { bucket, terms: TERMS },
        Event::BucketRemoved { bucket, named: None },
        Event::CounterSet { id: name("c"), unit: name("u"), value: 1 },
        Event::LimitSet { id: name("l"), amount: 1 },
        Event::LimitRemoved(name("l")),
        Event::LimitReached { id: name("l"), percent: 80, used: 1, amount: 1 },
        Event::SessionOpened,
        Event::SessionEnded(Ending::Closed(Code::Ok)),
        Event::SessionEnded(Ending::Released),
        Event::SessionEnded(Ending::Expired),
        Event::ItemAdded { key: 0.into(), unit: name("u") },
        Event::Uncollected(1),
        Event::LateUse { unit: name("u"), used: 1, uncollected: 0 },
        Event::Denied(denial()),
        Event::Cleared,
        Event::BelowMark { bucket, mark: 1 },
        Event::AboveMark { bucket, mark: 1 },
        Event::Low { bucket, threshold: 1 },
        Event::Restored { bucket, threshold: 1 },
    ]
    .iter()
    .chain(&moved)
    .map(Event::word)
    .collect();
    // Readers depend on these names: none may change.
    words.sort_unstable();
    assert_eq!(
        words.join(" "),
        "above-mark below-mark bucket-added bucket-changed bucket-removed cleared counter created credited debited \
         deleted denied expired identity item-added late-use limit limit-removed limit-set low overdrawn \
         refilled refunded refunded-expired released released-expired reserved restored session-closed \
         session-expired session-opened session-released settled status uncollected voided"
    );
}

/// Files in memory; a removed file stays readable through open handles.
#[derive(Clone, Default)]
struct MemoryDisk(Arc<Mutex<BTreeMap<String, MemoryFile>>>);

#[derive(Clone, Default)]
struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl MemoryDisk {
    fn files(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, MemoryFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for MemoryDisk {
    type File = MemoryFile;

    fn create(&mut self, name: &str, room: u64) -> io::Result<MemoryFile> {
        let file = MemoryFile::default();
        file.bytes().resize(usize::try_from(room).expect("small"), 0);
        self.files().insert(name.to_owned(), file.clone());
        Ok(file)
    }

    fn open(&mut self, name: &str) -> io::Result<MemoryFile> {
        self.files().get(name).cloned().ok_or(io::ErrorKind::NotFound.into())
    }

    fn list(&mut self) -> io::Result<Vec<String>> {
        Ok(self.files().keys().cloned().collect())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let file = self.files().remove(from).ok_or(io::ErrorKind::NotFound)?;
        self.files().insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.files().remove(name).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MemoryFile {
    fn bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File for MemoryFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (mut file, at) = (self.bytes(), usize::try_from(offset).expect("small"));
        let end = at + bytes.len();
        if file.len() < end {
            file.resize(end, 0);
        }
        file[at..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let file = self.bytes();
        let rest = file.get(usize::try_from(offset).expect("small")..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn len(&mut self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.bytes().resize(usize::try_from(len).expect("small"), 0);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A shard with its log in memory, in small segments.
struct Store {
    disk: MemoryDisk,
    shard: Shard,
    commits: Commits,
    writer: LogWriter<MemoryDisk>,
    /// The current time of its clock.
    now: Time,
}

impl Store {
    fn new(segment_len: u64) -> Store {
        let disk = MemoryDisk::default();
        let mut shard = Shard::new(Config::default());
        shard.keep_journal(LOG, 1);
        let writer = LogWriter::new(disk.clone(), LOG, segment_len);
        Store { disk, shard, commits: Commits::new(Durability::Fsync, 0), writer, now: NOW }
    }

    fn reader(&self) -> EventReader<MemoryDisk> {
        EventReader::new(self.disk.clone(), LOG)
    }

    fn execute(&mut self, account: &str, command: &Command<'_>) {
        let key = self.shard.key(account.as_bytes());
        let outcome = self.shard.execute(self.now, key, command);
        assert!(matches!(outcome, Outcome::Answer { .. }), "{outcome:?}");
    }

    fn create(&mut self, account: &str, amount: i64) {
        let attributes = BucketAttributes::default();
        let buckets = [NewBucket { bucket: name("b"), unit: name("cent"), amount, attributes }];
        let create = Create::active(&buckets);
        self.execute(account, &Command::Create(create));
    }

    fn adjust(&mut self, account: &str, txn: &str, amount: i64) {
        let adjust = Command::Adjust { txn: txn.as_bytes(), bucket: name("b"), amount };
        self.execute(account, &adjust);
    }

    /// Makes every commit durable; returns the durable sequence.
    fn sync(&mut self) -> u64 {
        let done = |mut batch: Batch, writer: &mut LogWriter<_>| {
            let outcome = batch.run(writer);
            (batch, outcome)
        };
        while let Some(batch) = self.commits.batch(&mut self.shard, self.now) {
            let (batch, outcome) = done(batch, &mut self.writer);
            self.commits.done(batch, outcome).expect("it is written");
        }
        if let Some(mark) = self.commits.mark(&mut self.shard, self.now) {
            let (mark, outcome) = done(mark, &mut self.writer);
            self.commits.done(mark, outcome).expect("it is written");
        }
        self.commits.durable()
    }
}

const EVERYTHING: EventFilter<'static> = EventFilter {
    lows: &[],
    names: &[],
    account: None,
    period: TimeRange { from: None, to: None },
    unit: None,
    transaction: None,
    session: None,
};

/// Formats an event as a line.
fn line(found: &Found<'_>) -> String {
    let crossing = found.crossing.map_or(String::new(), |number| format!(".{number}"));
    let account = String::from_utf8_lossy(found.account);
    let available =
        found.balance.map_or(String::new(), |balance| format!(" {}", balance.available));
    let EventAt { sequence, index } = found.at;
    format!("{sequence}-{index}{crossing} {account} {}{available}", found.event.word())
}

/// Reads at most `count` events as lines.
fn read(
    reader: &mut EventReader<MemoryDisk>,
    from: EventAt,
    durable: u64,
    wanted: EventFilter<'_>,
    count: usize,
) -> (Read, Vec<String>) {
    let mut lines = Vec::new();
    let mut left = count;
    let outcome = reader.read(from, durable, wanted, &mut |found| {
        lines.push(line(found));
        left -= usize::from(found.crossing.is_none());
        if left == 0 { Stop::Enough } else { Stop::GoOn }
    });
    (outcome.expect("it can be read"), lines)
}

#[test]
fn readers_see_what_is_durable_in_order_and_once_however_little_they_take() {
    let mut store = Store::new(600);
    let mut reader = store.reader();
    let first = EventAt::record(1);
    assert_eq!(read(&mut reader, first, 0, EVERYTHING, 9).1, [""; 0]);
    for number in 0..40 {
        store.create(&format!("a{number}"), 5);
        store.sync();
    }
    store.create("not-durable", 5);
    let durable = store.commits.durable();
    let (end, all) = read(&mut reader, first, durable, EVERYTHING, usize::MAX);
    assert_eq!((all.len(), end.next), (120, EventAt::record(41)));
    assert_eq!(
        all[..4],
        ["1-0 a0 created", "1-1 a0 bucket-added 5", "1-2 a0 credited 5", "2-0 a1 created"]
    );
    assert!(store.disk.files().len() > 5, "several segments were read");
    for count in [1, 2, 7, 50] {
        let (mut from, mut seen) = (first, Vec::new());
        while from != end.next {
            // A new reader must find a position as well as the one that was used before.
            let mut fresh = store.reader();
            let reader = if seen.len() % 2 == 0 { &mut reader } else { &mut fresh };
            let (read, lines) = read(reader, from, durable, EVERYTHING, count);
            assert!(read.next > from && lines.len() <= count, "{read:?} {lines:?}");
            seen.extend(lines);
            from = read.next;
        }
        assert_eq!(seen, all, "{count} at a time");
    }
    let durable = store.sync();
    let (_, last) = read(&mut reader, end.next, durable, EVERYTHING, 9);
    assert_eq!(last[0], "41-0 not-durable created");
}

/// Reads events before a position as lines, `most` at a time; also returns the number of commits scanned.
fn read_back(
    store: &Store,
    before: EventAt,
    wanted: EventFilter<'_>,
    most: usize,
) -> (Vec<String>, u64, Option<Time>) {
    let (mut lines, mut looked, mut reached) = (Vec::new(), 0, None);
    let (mut reader, mut at) = (store.reader(), Some(before));
    while let Some(before) = at {
        let back = reader.read_back(before, wanted, most, &mut line).expect("it can be read");
        assert!(back.told.len() <= most, "{back:?}");
        assert!(back.next.is_none_or(|next| next < before), "{back:?} before {before:?}");
        lines.extend(back.told);
        looked += back.looked;
        (at, reached) = (back.next, back.reached.or(reached));
    }
    (lines, looked, reached)
}

#[test]
fn what_is_read_back_is_what_is_read_the_newest_first_however_little_is_taken() {
    // Many small segments, and one large segment with many starting positions.
    for (segment_len, adjustments, few) in [(600, 60, 7), (16 << 20, 20_000, 1_000)] {
        let mut store = Store::new(segment_len);
        for account in ["a", "b"] {
            store.create(account, 1_000);
        }
        for number in 0..adjustments {
            // Several commits in a frame, few of them of "b".
            let account = if number % 10 == 0 { "b" } else { "a" };
            store.adjust(account, &format!("{number:0>60}"), 1);
            store.now = store.now.plus_ms(1);
            if number % 3 == 0 {
                store.sync();
            }
        }
        let durable = store.sync();
        let (_, all) =
            read(&mut store.reader(), EventAt::record(1), durable, EVERYTHING, usize::MAX);
        let end = EventAt::record(durable + 1);
        for most in [1, few, usize::MAX] {
            // One at a time is slow from the end of a long log, so that case starts in the middle.
            let steps = if most == 1 { EventAt { sequence: 40, index: 1 } } else { end };
            let expected: Vec<&String> = all
                .iter()
                .rev()
                .skip_while(|line| most == 1 && !line.starts_with("40-0 "))
                .collect();
            let (lines, looked, reached) = read_back(&store, steps, EVERYTHING, most);
            assert_eq!(lines.iter().collect::<Vec<_>>(), expected, "{most} of {segment_len}");
            let begun = store.reader().kept_from(durable).expect("it can be read");
            assert_eq!((looked, reached), (steps.sequence - 1, begun), "all was looked through");
        }
        // Filtered by an account, by a period, and by both.
        let own = EventFilter { account: Some(b"b"), ..EVERYTHING };
        let from = NOW.plus_ms(adjustments * 8 / 10);
        let period = TimeRange { from: Some(from), to: None };
        for wanted in [own, EventFilter { period, ..EVERYTHING }, EventFilter { period, ..own }] {
            let (_, mut forwards) =
                read(&mut store.reader(), EventAt::record(1), durable, wanted, usize::MAX);
            forwards.reverse();
            assert_eq!(read_back(&store, end, wanted, few).0, forwards);
            assert_eq!(read_back(&store, end, wanted, usize::MAX).0, forwards);
        }
        let (lines, looked, _) = read_back(&store, end, EventFilter { period, ..own }, usize::MAX);
        assert!(!lines.is_empty() && looked < durable, "what is before the period is left alone");
    }
}

#[test]
fn a_period_has_what_happened_in_it_whatever_the_clock_does_and_little_is_read_for_it() {
    let mut store = Store::new(600);
    let accounts = ["a", "b", "c", "d"];
    accounts.iter().for_each(|account| store.create(account, 1_000));
    // The clock advances, is set back by more than it has advanced, and advances again.
    let clock = (0..40).map(|step| step * 10).chain((0..40).map(|step| 150 + step * 10));
    for (step, later) in clock.enumerate() {
        store.now = NOW.plus_ms(later);
        store.adjust(accounts[step % accounts.len()], &format!("t{step}"), 1);
        if step % 9 == 8 {
            // An account that is created while the clock is set back has never seen a later time.
            store.create(&format!("new-{step}"), 5);
        }
        store.sync();
    }
    let durable = store.commits.durable();
    let mut reader = store.reader();
    let mut all = Vec::new();
    let first = EventAt::record(1);
    let outcome = reader.read(first, durable, EVERYTHING, &mut |found| {
        all.push((found.at, found.time));
        Stop::GoOn
    });
    outcome.expect("it can be read");
    let times = || (-1..112).map(|step| NOW.plus_ms(step * 5));
    assert!(all.iter().any(|(_, time)| all[0].1 < *time), "time has passed");
    for from in times() {
        let begin = reader.since(from, durable).expect("it can be read");
        for to in times().step_by(13).map(Some).chain([None]) {
            let period = TimeRange { from: Some(from), to };
            let mut seen = Vec::new();
            let wanted = EventFilter { period, ..EVERYTHING };
            let outcome = reader.read(begin, durable, wanted, &mut |found| {
                seen.push(found.at);
                Stop::GoOn
            });
            outcome.expect("it can be read");
            let is_within = |time: Time| from <= time && to.is_none_or(|to| time < to);
            let expected = all.iter().filter(|(_, time)| is_within(*time)).map(|(at, _)| *at);
            assert_eq!(seen, expected.collect::<Vec<_>>(), "from {from:?} to {to:?}");
        }
    }
    assert_eq!(reader.since(NOW, durable).expect("it can be read"), first);
    let late = reader.since(NOW.plus_ms(1_000), durable).expect("it can be read");
    assert!(late.sequence + 10 > durable, "all but the last segment is passed over: {late:?}");
    assert_eq!(reader.kept_from(durable).expect("it can be read"), Some(NOW));
    assert_eq!(reader.kept_from(0).expect("it can be read"), None);
}

#[test]
fn an_account_whose_clock_is_ahead_is_found_when_it_was_written() {
    let mut from = Store::new(1 << 20);
    from.now = NOW.plus_ms(1_000_000);
    from.create("a", 70);
    let image = from.shard.image(from.now, from.shard.key(b"a")).expect("an account").to_vec();
    let mut to = Store::new(600);
    let key = to.shard.key(b"a");
    to.shard.load_image(NOW, key, &image, false).expect("it is taken");
    for step in 0..30 {
        to.now = NOW.plus_ms(step * 10);
        to.adjust("a", &format!("t{step}"), 1);
        to.sync();
    }
    let durable = to.commits.durable();
    let mut reader = to.reader();
    let ours = NOW.plus_ms(200);
    let begin = reader.since(ours, durable).expect("it can be read");
    let period = TimeRange { from: Some(ours), to: Some(NOW.plus_ms(250)) };
    let wanted = EventFilter { account: Some(b"a"), period, ..EVERYTHING };
    let (_, lines) = read(&mut reader, begin, durable, wanted, 99);
    assert_eq!(lines.len(), 5, "{lines:?}");
}

#[test]
fn a_unit_leaves_out_what_is_of_another_one() {
    let mut store = Store::new(1 << 20);
    store.create("a", 100);
    let attributes = BucketAttributes::default();
    let (bucket, unit) = (name("o"), Some(name("octet")));
    store.execute(
        "a",
        &Command::TopUp { txn: b"t", bucket, amount: 7, unit, attributes, keys: &[] },
    );
    let durable = store.sync();
    let told = |unit: &str| {
        let wanted = EventFilter { unit: Some(name(unit)), ..EVERYTHING };
        read(&mut store.reader(), EventAt::record(1), durable, wanted, 99).1
    };
    assert_eq!(told("cent"), ["1-0 a created", "1-1 a bucket-added 100", "1-2 a credited 100"]);
    assert_eq!(told("octet"), ["1-0 a created", "2-0 a bucket-added 7", "2-1 a credited 7"]);
    assert_eq!(told("none"), ["1-0 a created"]);
}

#[test]
fn crossings_come_behind_the_last_change_of_their_bucket() {
    let mut store = Store::new(1 << 20);
    store.create("a", 100);
    for (txn, amount) in [("1", -10), ("2", -1), ("3", -50), ("4", 1), ("5", 60)] {
        store.adjust("a", txn, amount);
    }
    store.create("empty", 0);
    let durable = store.sync();
    let low = |unit, threshold| LowThresholds { unit: name(unit), threshold };
    let lows = [low("cent", 90), low("octet", 1_000), low("cent", 40)];
    let wanted = EventFilter { lows: &lows, ..EVERYTHING };
    let (_, lines) = read(&mut store.reader(), EventAt::record(2), durable, wanted, usize::MAX);
    assert_eq!(
        lines,
        [
            "2-0 a voided 90",
            "3-0 a voided 89",
            "3-0.1 a low 89",
            "4-0 a voided 39",
            "4-0.3 a low 39",
            "5-0 a credited 40",
            "5-0.3 a restored 40",
            "6-0 a credited 100",
            "6-0.1 a restored 100",
            "7-0 empty created",
            "7-1 empty bucket-added 0",
            "7-1.1 empty low 0",
            "7-1.3 empty low 0",
        ]
    );
    // A filter of names keeps the crossings that other events cause, and positions are the same.
    let names = [name("credited"), name("created")];
    let named = EventFilter { names: &names, ..wanted };
    let (_, lines) = read(&mut store.reader(), EventAt::record(2), durable, named, usize::MAX);
    assert_eq!(
        lines,
        [
            "3-0.1 a low 89",
            "4-0.3 a low 39",
            "5-0 a credited 40",
            "5-0.3 a restored 40",
            "6-0 a credited 100",
            "6-0.1 a restored 100",
            "7-0 empty created",
            "7-1.1 empty low 0",
            "7-1.3 empty low 0",
        ]
    );
    let named = EventFilter { lows: &[], ..named };
    let (at, lines) = read(&mut store.reader(), EventAt::record(2), durable, named, 1);
    assert_eq!((at.next, lines), (EventAt::record(6), vec!["5-0 a credited 40".to_owned()]));
    // Crossings of the last wanted event are delivered with it.
    let (at, lines) = read(&mut store.reader(), EventAt::record(3), durable, wanted, 1);
    assert_eq!((at.next, lines.len()), (EventAt::record(4), 2));
    let wanted = EventFilter { account: Some(b"empty"), ..wanted };
    let (at, lines) = read(&mut store.reader(), EventAt::record(2), durable, wanted, 2);
    assert_eq!((at.next, lines.len()), (EventAt::record(8), 4));
}

#[test]
fn what_is_not_kept_is_told_and_reading_goes_on_behind_it() {
    let mut store = Store::new(600);
    for number in 0..40 {
        store.create(&format!("a{number}"), 5);
        store.sync();
    }
    let durable = store.commits.durable();
    let mut reader = store.reader();
    let (_, lines) = read(&mut reader, EventAt::record(1), durable, EVERYTHING, 1);
    assert_eq!(lines, ["1-0 a0 created"]);
    // A position in a removed segment is moved to the oldest kept record.
    forget(&mut store.disk, LOG, Sequence(20), LogRetention::Nothing, NOW)
        .expect("they are removed");
    let (at, lines) = read(&mut reader, EventAt { sequence: 1, index: 1 }, durable, EVERYTHING, 2);
    let oldest = at.oldest;
    assert!((2..=21).contains(&oldest), "{oldest}");
    assert_eq!(at.missed_to, Some(oldest));
    assert_eq!(lines[0], format!("{oldest}-0 a{} created", oldest - 1));
    let (at, lines) = read(&mut reader, EventAt::record(30), durable, EVERYTHING, 1);
    assert_eq!((at.missed_to, lines), (None, vec!["30-0 a29 created".to_owned()]));
}

#[test]
fn more_is_kept_than_snapshots_need() {
    let mut store = Store::new(600);
    for number in 0..40 {
        store.create(&format!("a{number}"), 5);
        store.sync();
    }
    let count =
        |store: &Store| store.disk.files().keys().filter(|name| segment_of(name).is_some()).count();
    let segments = count(&store);
    let full = segments as u64 - 1;
    // All segments except the last count, and no segment is divided.
    for (keep, left) in [(600 * full, segments), (600 * full - 599, segments), (1_200, 3), (1, 2)] {
        let keep = LogRetention::Bytes(ByteCount(keep));
        forget(&mut store.disk, LOG, Sequence(40), keep, NOW).expect("they are removed");
        assert_eq!(count(&store), left, "{keep:?}");
    }
    forget(&mut store.disk, LOG, Sequence(40), LogRetention::Nothing, NOW)
        .expect("they are removed");
    assert_eq!(count(&store), 1);
}

/// Forgets what need not be kept of a store with one account a second, 40 in all. Returns the age of the oldest change
/// that is kept, ms, and the number of segments.
fn age_kept(store: &mut Store, keep: LogRetention) -> (u64, usize) {
    let (now, durable) = (store.now, store.commits.durable());
    forget(&mut store.disk, LOG, Sequence(40), keep, now).expect("they are removed");
    let kept = extent(&mut store.disk, LOG, Sequence(durable)).expect("it can be read");
    let segments = store.disk.files().keys().filter_map(|name| segment_of(name)).count();
    assert_eq!(kept.bytes, ByteCount(600 * segments as u64), "a segment has 600 bytes");
    (now.0.abs_diff(kept.from.expect("a time").0), segments)
}

#[test]
fn what_is_younger_than_an_age_is_kept_and_no_more_than_a_size() {
    let aged = || {
        let mut store = Store::new(600);
        for second in 0..40 {
            store.now = NOW.plus_ms(second * 1_000);
            store.create(&format!("a{second}"), 5);
            store.sync();
        }
        store
    };
    let age =
        |ms, bytes_max: Option<u64>| LogRetention::Age { ms, bytes_max: bytes_max.map(ByteCount) };
    let mut store = aged();
    let (age_ms, all) = age_kept(&mut store, age(u64::MAX, None));
    assert_eq!(age_ms, 39_000, "all of it is younger");
    let mut before = all;
    for ms in (1_000..39_000).rev().step_by(700) {
        let (age_ms, segments) = age_kept(&mut store, age(ms, None));
        // Whole segments are kept: the oldest has something that is younger, and may begin earlier.
        assert!(age_ms >= ms, "{age_ms} of {ms} ms");
        assert!(segments <= before);
        before = segments;
    }
    assert!(before <= 2 && all > 6, "{before} of {all} segments");
    assert_eq!(age_kept(&mut aged(), age(39_000, Some(1_200))).1, 3, "the size bounds it");
}

#[test]
fn a_segment_ends_when_it_is_to_and_what_follows_is_in_the_next() {
    let mut store = Store::new(1 << 20);
    for number in 0..6 {
        store.create(&format!("a{number}"), 5);
        if number == 3 {
            store.writer.set_ahead().expect("there is room");
            store.commits.end_segment();
        }
        store.sync();
    }
    let firsts: Vec<u64> = store.disk.files().keys().filter_map(|name| segment_of(name)).collect();
    assert_eq!(firsts, [1, 4]);
    let durable = store.commits.durable();
    let (_, lines) = read(&mut store.reader(), EventAt::record(1), durable, EVERYTHING, 100);
    let created = lines.iter().filter(|line| line.ends_with("created")).count();
    assert_eq!(created, 6);
    forget(&mut store.disk, LOG, Sequence(3), LogRetention::Nothing, NOW).expect("it is removed");
    let kept = extent(&mut store.disk, LOG, Sequence(durable)).expect("it can be read");
    assert_eq!(kept.bytes, ByteCount(1 << 20));
}

#[test]
fn damage_to_what_is_durable_is_an_error_and_not_an_end() {
    let mut store = Store::new(1 << 20);
    for number in 0..9 {
        store.create(&format!("a{number}"), 5);
        store.sync();
    }
    let durable = store.commits.durable();
    let file = store.disk.files().values().next().expect("a segment").clone();
    let used = file.bytes().iter().rposition(|&byte| byte != 0).expect("it is written");
    file.bytes()[used / 2] ^= 1;
    let mut seen = 0;
    let outcome = store.reader().read(EventAt::record(1), durable, EVERYTHING, &mut |_| {
        seen += 1;
        Stop::GoOn
    });
    let text = outcome.expect_err("a bit is another").to_string();
    assert!(text.contains("cannot be read at byte") && seen > 0, "{text} after {seen}");
}

#[test]
fn everything_flushed_is_an_event_and_plain_keys_are_none() {
    let mut store = Store::new(1 << 20);
    store.create("a", 5);
    store.shard.clear();
    let durable = store.sync();
    let (_, lines) = read(&mut store.reader(), EventAt::record(2), durable, EVERYTHING, 9);
    assert_eq!(lines, ["2-0  cleared"]);
    let wanted = EventFilter { account: Some(b"b"), ..EVERYTHING };
    let (at, lines) = read(&mut store.reader(), EventAt::record(1), durable, wanted, 9);
    assert_eq!((at.next.sequence, lines), (3, vec!["2-0  cleared".to_owned()]));
}

#[test]
fn an_account_of_another_store_is_told_as_a_whole() {
    let mut from = Store::new(1 << 20);
    from.create("a", 70);
    let image = from.shard.image(NOW, from.shard.key(b"a")).expect("an account").to_vec();
    let mut to = Store::new(1 << 20);
    let key = to.shard.key(b"a");
    to.shard.load_image(NOW, key, &image, false).expect("it is taken");
    let durable = to.sync();
    let told = |account| {
        let wanted = EventFilter { account, ..EVERYTHING };
        read(&mut to.reader(), EventAt::record(1), durable, wanted, 10).1
    };
    let all = told(None);
    assert!(all.len() == 1 && all[0].contains("loaded"), "{all:?}");
    assert_eq!(told(Some(b"a")), all);
    assert!(told(Some(b"b")).is_empty());
}
