//! Notices over a stand-in for the store and one for the door, with a clock that jumps.

use scurry_ledger::{Id, ItemKey, Name, Overrun, Standing, Status, Time};
use scurry_service::{
    AccountView, Call, CallError, Event, EventCommit, EventField, EventId, Events, EventsCall,
    Follow, FollowFrom, ItemView, Position, Read, Refusal, Reply, Request, Service, SessionRow,
    SessionView, StoreCall, StoreRead,
};
use scurry_session_notices::{
    Delivery, DeliveryFuture, Notice, NoticeAction, NoticeCounters, NoticeCounts, Notifier, follow,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const ACCOUNT: &[u8] = b"alice";

/// State of the stand-ins.
struct State {
    events: VecDeque<Event<'static>>,
    has_events: bool,
    status: Status,
    /// Id, version, standing of its one item, DATA.
    sessions: Vec<(&'static str, u64, Standing, &'static str)>,
    is_readable: bool,
    /// Outcomes of deliveries; without one they succeed.
    outcomes: VecDeque<Delivery>,
    /// Whether the door is near to all sessions.
    is_near: bool,
    /// After so many deliveries a client asks: the version of the first session rises.
    asks_after: Option<usize>,
    /// The same after so many reads of a session.
    asks_after_reads: Option<usize>,
    reads: usize,
    follows: usize,
    delivered: Vec<(Duration, Notice)>,
    begun: Instant,
}

struct StandIn(Mutex<State>);

impl StandIn {
    fn new(sessions: &[(&'static str, u64, Standing, &'static str)]) -> Arc<StandIn> {
        Arc::new(StandIn(Mutex::new(State {
            events: VecDeque::new(),
            has_events: true,
            status: Status::Active,
            sessions: sessions.to_vec(),
            is_readable: true,
            outcomes: VecDeque::new(),
            is_near: true,
            asks_after: None,
            asks_after_reads: None,
            reads: 0,
            follows: 0,
            delivered: Vec::new(),
            begun: Instant::now(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic")
    }

    fn happens(&self, name: &'static str, unit: Option<&'static str>) {
        self.happens_in(1, name, unit);
    }

    fn happens_in(&self, commit: u64, name: &'static str, unit: Option<&'static str>) {
        let sequence = commit;
        let commit = EventCommit { time: Time(1), account: ACCOUNT.into() };
        let field = |unit: &'static str| ("unit".into(), EventField::Bytes(unit.as_bytes().into()));
        let fields = unit.map(field).into_iter().collect();
        let id = EventId::At(position(sequence));
        self.state().events.push_back(Event {
            id,
            commit: Some(commit),
            name: name.into(),
            fields,
        });
    }

    fn sessions(&self) -> Vec<&'static str> {
        let delivered = &self.state().delivered;
        let name = |notice: &Notice| match notice.session.as_bytes() {
            b"one" => "one",
            b"two" => "two",
            other => panic!("{other:?}"),
        };
        delivered.iter().map(|(_, notice)| name(notice)).collect()
    }
}

fn position(sequence: u64) -> Position {
    Position::parse(format!("1.0:{sequence}").as_bytes()).expect("a position")
}

fn account(state: &State) -> AccountView {
    let row = |(id, version, ..): &(&'static str, u64, Standing, &'static str)| SessionRow {
        id: Id::new(id.as_bytes()).expect("an id"),
        version: *version,
        deadline: Time(1_000_000),
        opened: Time(0),
        active: Time(0),
    };
    AccountView {
        status: state.status,
        version: 1,
        identities: Vec::new(),
        buckets: Vec::new(),
        bucket_items: Vec::new(),
        counters: Vec::new(),
        limits: Vec::new(),
        sessions: state.sessions.iter().map(row).collect(),
        former_identities: Vec::new(),
    }
}

fn refused() -> CallError {
    CallError::Refused(Refusal::Store("ERR no".to_owned()))
}

impl Service for StandIn {
    fn call(&self, request: Request) -> Call<'_> {
        let mut state = self.state();
        let reply = match request {
            _ if !state.is_readable => Err(CallError::Unknown("it is silent".to_owned())),
            Request::Read(Read::Account { account: id }) => {
                assert_eq!(id, ACCOUNT);
                Ok(Reply::Account(Box::new(account(&state))))
            }
            Request::Read(Read::Session { session, .. }) => {
                state.reads += 1;
                if state.asks_after_reads.is_some_and(|reads| reads < state.reads) {
                    state.sessions[0].1 += 1;
                }
                let at = state.sessions.iter().position(|(id, ..)| id.as_bytes() == session);
                at.map(|at| Reply::Session(Box::new(session_view(&state, at)))).ok_or(refused())
            }
            other => panic!("{other:?}"),
        };
        Box::pin(async move { reply })
    }

    fn read_store(&self, _read: StoreRead) -> StoreCall<'_> {
        unreachable!("it reads accounts and sessions alone")
    }

    fn follow(&self, follow: Follow) -> EventsCall<'_> {
        assert!(follow.names.contains(&"credited") && follow.names.contains(&"status"));
        let mut state = self.state();
        state.follows += 1;
        let reply = match follow.from {
            _ if !state.has_events => Err(refused()),
            FollowFrom::Newest(1..) => Err(refused()),
            FollowFrom::Newest(0) => Ok(Vec::new()),
            FollowFrom::Oldest(_) => panic!("it begins at the end"),
            FollowFrom::At(_) => Ok(state.events.drain(..).collect()),
        };
        // A store under load: there are always commits behind the last one that was read.
        let (next, oldest, end) = (position(1), position(1), position(100));
        Box::pin(async move { reply.map(|events| Events { store: 1, events, next, oldest, end }) })
    }
}

fn session_view(state: &State, at: usize) -> SessionView {
    let account = account(state);
    let row = account.sessions[at].clone();
    let item = ItemView {
        key: ItemKey::Number(7),
        unit: Name::new(b"cent").expect("a name"),
        granted: 0,
        outstanding: 0,
        used: 0,
        from_hold: 0,
        direct: 0,
        released: 0,
        uncollected: 0,
        standing: state.sessions[at].2,
    };
    SessionView {
        account,
        row,
        validity_ms: 1,
        tcc_ms: 2,
        overrun: Overrun::Clamp,
        last_request: Some(1),
        blob: state.sessions[at].3.as_bytes().to_vec(),
        items: vec![item],
    }
}

impl Notifier for StandIn {
    fn reaches(&self, data: &[u8]) -> bool {
        data.starts_with(b"own")
    }

    fn is_near(&self, _: &[u8], _: &Id) -> bool {
        self.state().is_near
    }

    fn words(&self) -> &'static str {
        "of a stand-in"
    }

    fn deliver(&self, notice: Notice) -> DeliveryFuture<'_> {
        let mut state = self.state();
        let at = state.begun.elapsed();
        state.delivered.push((at, notice));
        if state.asks_after == Some(state.delivered.len()) {
            state.sessions[0].1 += 1;
        }
        let outcome = state.outcomes.pop_front().unwrap_or(Delivery::Done);
        Box::pin(async move { outcome })
    }
}

/// Follows for a minute while `act` happens.
async fn minute(stand_in: &Arc<StandIn>, act: impl Fn(&StandIn)) -> NoticeCounts {
    let counters = Arc::new(NoticeCounters::default());
    let (store, notifier) = (Arc::clone(stand_in), Arc::clone(stand_in));
    let following = tokio::spawn(follow(store, notifier, Arc::clone(&counters)));
    sleep(Duration::from_millis(1)).await;
    act(stand_in);
    sleep(Duration::from_secs(60)).await;
    following.abort();
    counters.snapshot()
}

const DENIED: (&str, u64, Standing, &str) = ("one", 3, Standing::Denied, "own");

#[tokio::test(start_paused = true)]
async fn sessions_that_lack_units_are_asked_again_once() {
    for (standing, is_asked) in [
        (Standing::Granted, false),
        (Standing::Final, true),
        (Standing::FinalHeld, true),
        (Standing::Denied, true),
    ] {
        let other = ("two", 3, standing, "of another protocol");
        let stand_in = StandIn::new(&[("one", 3, standing, "own"), other]);
        let counts = minute(&stand_in, |it| {
            it.happens("credited", Some("cent"));
            it.happens("credited", Some("cent"));
        });
        let sent = u64::from(is_asked);
        let expected = NoticeCounts { sent, delivered: sent, ..NoticeCounts::default() };
        assert_eq!(counts.await, expected, "{standing:?}");
        for (_, notice) in &stand_in.state().delivered {
            let action = NoticeAction::AskAgain(vec![ItemKey::Number(7)]);
            assert_eq!((&notice.action, &notice.data[..]), (&action, &b"own"[..]));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn units_that_a_session_does_not_lack_ask_for_nothing() {
    for (name, unit, is_asked) in [
        ("credited", Some("octet"), 0),
        ("bucket-changed", Some("cent"), 1),
        ("limit-removed", None, 1),
        ("status", None, 0),
    ] {
        let stand_in = StandIn::new(&[DENIED]);
        let counts = minute(&stand_in, |it| it.happens(name, unit)).await;
        assert_eq!(counts.sent, is_asked, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_credit_of_an_account_asks_for_nothing() {
    for (credited_in, is_asked) in [(4, 0), (5, 1)] {
        let stand_in = StandIn::new(&[DENIED]);
        let counts = minute(&stand_in, |it| {
            it.happens_in(4, "created", None);
            it.happens_in(credited_in, "credited", Some("cent"));
        });
        assert_eq!(counts.await.sent, is_asked, "credited in commit {credited_in}");
    }
}

/// Of two doors the one that knows the session acts, and the client has asked when the other would.
#[tokio::test(start_paused = true)]
async fn a_door_that_does_not_know_the_session_waits_for_the_one_that_does() {
    for (is_near, first_ms, last_ms) in [(true, 0, 300), (false, 2_000, 2_300)] {
        let stand_in = StandIn::new(&[DENIED]);
        stand_in.state().is_near = is_near;
        let counts = minute(&stand_in, |it| it.happens("credited", Some("cent"))).await;
        assert_eq!(counts.delivered, 1);
        let at = stand_in.state().delivered[0].0;
        let within = Duration::from_millis(first_ms)..Duration::from_millis(last_ms);
        assert!(within.contains(&at), "near: {is_near}, after {at:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_sessions_of_a_suspended_account_end() {
    let stand_in = StandIn::new(&[DENIED, ("two", 1, Standing::Granted, "own")]);
    stand_in.state().status = Status::Suspended;
    let counts = minute(&stand_in, |it| it.happens("status", None)).await;
    assert_eq!(counts.delivered, 2);
    let state = stand_in.state();
    assert!(state.delivered.iter().all(|(_, notice)| notice.action == NoticeAction::End));
}

#[tokio::test(start_paused = true)]
async fn a_notice_is_left_out_if_the_client_has_asked_meanwhile() {
    // It asks after another door's notice, while this door waits for its own moment.
    let stand_in = StandIn::new(&[DENIED]);
    stand_in.state().asks_after_reads = Some(1);
    let counts = minute(&stand_in, |it| it.happens("credited", Some("cent"))).await;
    assert_eq!(counts, NoticeCounts { superseded: 1, ..NoticeCounts::default() });
    // It asks after a delivery that seemed to fail.
    let stand_in = StandIn::new(&[DENIED]);
    stand_in.state().outcomes = [Delivery::Failed; 2].into();
    stand_in.state().asks_after = Some(2);
    let counts = minute(&stand_in, |it| it.happens("credited", Some("cent"))).await;
    let expected = NoticeCounts { sent: 2, superseded: 1, ..NoticeCounts::default() };
    assert_eq!(counts, expected);
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_fails_is_repeated_three_times() {
    let stand_in = StandIn::new(&[DENIED]);
    stand_in.state().outcomes = [Delivery::Failed; 9].into();
    let counts = minute(&stand_in, |it| it.happens("credited", Some("cent"))).await;
    assert_eq!(counts, NoticeCounts { sent: 4, given_up: 1, ..NoticeCounts::default() });
    let times: Vec<Duration> = stand_in.state().delivered.iter().map(|(at, _)| *at).collect();
    assert!(times[0] <= Duration::from_millis(300), "{times:?}");
    let pauses: Vec<u64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(pauses, [1, 4, 16]);
    let stand_in = StandIn::new(&[DENIED]);
    stand_in.state().outcomes = [Delivery::Refused].into();
    let counts = minute(&stand_in, |it| it.happens("credited", Some("cent"))).await;
    assert_eq!(counts, NoticeCounts { sent: 1, given_up: 1, ..NoticeCounts::default() });
}

#[tokio::test(start_paused = true)]
async fn what_makes_no_notice_is_counted() {
    let stand_in = StandIn::new(&[DENIED; 257]);
    let counts = minute(&stand_in, |it| it.happens("credited", Some("cent"))).await;
    assert_eq!(counts, NoticeCounts { missed: 1, ..NoticeCounts::default() });
    let stand_in = StandIn::new(&[DENIED]);
    let counts = minute(&stand_in, |it| {
        it.state().is_readable = false;
        it.happens("credited", Some("cent"));
    });
    assert_eq!(counts.await, NoticeCounts { missed: 1, ..NoticeCounts::default() });
    let stand_in = StandIn::new(&[DENIED]);
    let counts = minute(&stand_in, |it| {
        let (from, to) = (position(1), position(9));
        let id = EventId::Missed { from, to };
        let missed = Event { id, commit: None, name: "missed".into(), fields: Vec::new() };
        it.state().events.push_back(missed);
    });
    assert_eq!(counts.await, NoticeCounts { missed: 1, ..NoticeCounts::default() });
}

#[tokio::test(start_paused = true)]
async fn many_top_ups_make_one_notice_while_it_is_under_way() {
    let stand_in = StandIn::new(&[DENIED]);
    stand_in.state().outcomes = [Delivery::Failed, Delivery::Failed].into();
    let again = Arc::clone(&stand_in);
    tokio::spawn(async move {
        for _ in 0..20 {
            again.happens("credited", Some("cent"));
            sleep(Duration::from_millis(200)).await;
        }
    });
    // Those after the delivery, at 5 s at most, are others.
    let counts = minute(&stand_in, |_| {}).await;
    assert_eq!((counts.sent, counts.delivered), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_passes_if_the_store_had_events_before() {
    let stand_in = StandIn::new(&[DENIED]);
    let again = Arc::clone(&stand_in);
    tokio::spawn(async move {
        sleep(Duration::from_secs(10)).await;
        again.state().has_events = false;
        sleep(Duration::from_secs(2)).await;
        again.state().has_events = true;
        sleep(Duration::from_secs(2)).await;
        again.happens("credited", Some("cent"));
    });
    assert_eq!(minute(&stand_in, |_| {}).await.delivered, 1);
    let at = stand_in.state().delivered[0].0;
    assert!(at < Duration::from_secs(15), "{at:?}");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_has_events_later_is_followed_then() {
    let stand_in = StandIn::new(&[DENIED]);
    stand_in.state().has_events = false;
    let again = Arc::clone(&stand_in);
    tokio::spawn(async move {
        sleep(Duration::from_secs(20)).await;
        again.state().has_events = true;
        sleep(Duration::from_secs(20)).await;
        again.happens("credited", Some("cent"));
    });
    assert_eq!(minute(&stand_in, |_| {}).await.delivered, 1);
    assert_eq!(stand_in.sessions(), ["one"]);
    let follows = stand_in.state().follows;
    assert!(follows <= 20 * 60, "{follows} reads in a minute");
}
