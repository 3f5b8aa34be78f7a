//! Both routes of a request to a store give the same answer: as a message to a core of this process, in the ledger's
//! types, and as text over RESP. Both accounts of a pair get the same commands, each by one route, on one server.

use scurry_cluster_client::{Address, Node};
use scurry_ledger::{
    Answer, BucketAttributes, Cause, Code, Command, Create, Cycle, Id, LimitTerms, Name, NewBucket,
    Span, Time, WindowTerms,
};
use scurry_model::{CommandOrTick, Event, Generator, Op, Pair};
use scurry_server::{Calls, Server, Settings, Users};
use scurry_service::{AccountView, CallError, Read, Refusal, Reply, Request, SessionRow, Write};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs, and commands of each.
const SEEDS: u64 = 40;
const STEPS: usize = 140;
/// The shortest period.
const HOUR_MS: i64 = 3_600_000;
/// Longer than the test.
const FAR_MS: i64 = 24 * HOUR_MS;

type Outcome = Result<Reply, CallError>;

/// A server in memory with two cores, and both ways to it.
struct Store {
    calls: Calls,
    node: Node,
}

impl Store {
    fn start() -> Store {
        let listen: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let settings = Settings {
            threads: 2,
            ..Settings::new(listen, Users::new(None, &[]).expect("no users"))
        };
        let server = Server::bind(settings, &|_| {}).expect("it listens");
        let address = Address::new(&server.local_addr().to_string(), None, None);
        let calls = server.inside().calls();
        thread::spawn(move || server.run());
        Store { calls, node: Node::connect(&address).expect("it is served") }
    }

    /// The outcome by mail.
    fn typed(&self, request: &Request) -> Outcome {
        wait(&self.calls, self.calls.send(request.clone()))
    }

    /// The outcome as text.
    fn text(&mut self, request: &Request) -> Outcome {
        self.node.call(request)
    }
}

/// Waits for a reply by looking again and again.
fn wait<T>(calls: &Calls, future: impl Future<Output = T>) -> T {
    let (mut future, mut run) = (pin!(future), pin!(calls.clone().run()));
    loop {
        let _ = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::yield_now(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the server under test has the machine's clock")]
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    i64::try_from(since.as_millis()).expect("it is before the end of time")
}

/// What an outcome says apart from times, which pass between the two ways.
fn without_times(outcome: Outcome) -> Outcome {
    match outcome {
        Ok(Reply::Account(mut account)) => {
            forget_times(&mut account);
            Ok(Reply::Account(account))
        }
        Ok(Reply::Holds(mut view)) => {
            for hold in &mut view.holds {
                (hold.deadline, hold.opened, hold.active) = (Time(0), Time(0), Time(0));
            }
            Ok(Reply::Holds(view))
        }
        Ok(Reply::Answer(mut answered)) => {
            match &mut answered.answer {
                Answer::Amount { cause, .. } => forget_time(cause),
                Answer::Session { items, .. } => {
                    items.iter_mut().for_each(|item| forget_time(&mut item.cause));
                }
                Answer::Account { .. } => {}
            }
            Ok(Reply::Answer(answered))
        }
        Ok(Reply::Checked(mut checked)) => {
            forget_time(&mut checked.cause);
            Ok(Reply::Checked(checked))
        }
        Ok(Reply::Transaction(mut view)) => {
            view.forget_at.0 = 0;
            forget_time(&mut view.cause);
            Ok(Reply::Transaction(view))
        }
        Ok(Reply::Session(mut session)) => {
            forget_times(&mut session.account);
            forget_session_times(&mut session.row);
            Ok(Reply::Session(session))
        }
        Err(CallError::Refused(Refusal::Rejected { code, why })) => {
            // The grammar of RESP and the ledger explain a wrong value in different words. Other errors differ only in
            // numbers: the time since an event, or a duration.
            let why = match code {
                Code::Invalid => String::new(),
                _ => why.replace(|letter: char| letter.is_ascii_digit(), ""),
            };
            Err(CallError::Refused(Refusal::Rejected { code, why }))
        }
        // A change of nothing is wrong by its arguments alone.
        Err(CallError::Refused(Refusal::Store(text))) if text.contains("number of arguments") => {
            let (code, why) = (Code::Invalid, String::new());
            Err(CallError::Refused(Refusal::Rejected { code, why }))
        }
        other => other,
    }
}

fn forget_session_times(session: &mut SessionRow) {
    (session.deadline, session.opened, session.active) = (Time(0), Time(0), Time(0));
}

fn forget_times(account: &mut AccountView) {
    account.sessions.iter_mut().for_each(forget_session_times);
    account.former_identities.iter_mut().for_each(|former| former.forget_at.0 = 0);
    for limit in &mut account.limits {
        // Of other windows than those of the calendar it depends on the ms of the use.
        if limit.window.cycle().is_none_or(Cycle::begins_with_use) {
            limit.resets_at = limit.resets_at.map(|_| Time(0));
        }
    }
    for counter in account.counters.iter_mut().filter(|of| of.cycle.begins_with_use()) {
        counter.resets_at = counter.resets_at.map(|_| Time(0));
    }
}

fn forget_time(cause: &mut Cause) {
    if let Cause::Limit { allowed_at, .. } = cause {
        *allowed_at = allowed_at.map(|_| Time(0));
    }
}

fn reads(account: &str, op: &Op) -> Vec<Read> {
    let account = account.as_bytes().to_vec();
    let unit = Name::new(b"oct").expect("a name");
    let mut reads = vec![
        Read::Account { account: account.clone() },
        Read::Audit { account: account.clone() },
        Read::Check { account: account.clone(), unit, item: None, amount: 5 },
        Read::Check { account: account.clone(), unit, item: Some(1.into()), amount: 5 },
        Read::Holds { account: account.clone(), after: Vec::new(), count: 1 },
        Read::Holds { account: account.clone(), after: b"s0".to_vec(), count: 1_000 },
        Read::Transaction { account: account.clone(), txn: b"t0".to_vec() },
    ];
    // Doors check ids before they ask.
    if let Some(request) = op.request().filter(|request| Id::is_id(request.session.as_bytes())) {
        let session = request.session.as_bytes().to_vec();
        reads.push(Read::Session { account, session });
    }
    reads
}

/// The command with every time that would pass during the test moved far ahead.
fn steady(mut op: Op, now_ms: i64) -> Op {
    let later = |time: &mut Time| {
        // A time of just now may be over for the second of the two requests alone.
        if time.0 > now_ms - 1_000 {
            time.0 = time.0.saturating_add(FAR_MS);
        }
    };
    let move_all = |with: &mut BucketAttributes| {
        with.valid_from.iter_mut().for_each(later);
        with.valid_to.iter_mut().flatten().for_each(later);
    };
    match &mut op {
        Op::Create { buckets, .. } => {
            buckets.iter_mut().for_each(|bucket| move_all(&mut bucket.attributes));
        }
        Op::TopUp { with, .. } | Op::Bucket { with, .. } => move_all(with),
        Op::Limit { terms: LimitTerms::Set { window, .. }, .. } => {
            // In so long a span nothing counts no more while the test runs.
            if let WindowTerms::Rolling { span_ms } | WindowTerms::Rate { span_ms, .. } = *window
                && Span::new(span_ms).is_some()
            {
                *window = WindowTerms::Rolling { span_ms: Span::MS_MAX };
            }
        }
        Op::Reserve(request) | Op::Update(request) | Op::Terminate(request) => {
            for duration_ms in [&mut request.options.validity_ms, &mut request.options.tcc_ms] {
                *duration_ms = duration_ms.map(|ms| if ms > 0 { HOUR_MS } else { ms });
            }
        }
        _ => {}
    }
    op
}

/// Most looks at a transfer that goes on.
const TRIES_MAX: usize = 100_000;

#[test]
fn a_request_by_mail_and_as_text_has_the_same_outcome() {
    let mut store = Store::start();
    let (mut commits, mut rejects) = (0, 0);
    'seeds: for seed in 0..SEEDS {
        let (limits, mut generator) = Generator::new(seed);
        let mut pair = Pair::new(limits);
        pair.thorough = false;
        let (typed, text) = (format!("typed-{seed}"), format!("text-{seed}"));
        for step in 0..STEPS {
            generator.set_clock(now_ms());
            let Event { at, what } = generator.next(&pair);
            // The model only steers the generator. Its bounds differ from the server's, so its outcome is ignored.
            let _ = pair.step(&Event { at, what: what.clone() });
            let CommandOrTick::Do(op) = what else { continue };
            // The store takes the steps of its transfers by itself.
            if op.is_transfer_step() {
                continue;
            }
            let op = steady(op, at);
            let place = |op: &Op| format!("seed {seed}, step {step}: {op:?}");
            let of = |account: &str| {
                let mut op = op.clone();
                if let Op::Transfer { payer, .. } = &mut op {
                    *payer = account.to_owned();
                }
                op.with(|command| Request::write(account.as_bytes(), command))
            };
            let hour = now_ms() / HOUR_MS;
            let by_mail = without_times(store.typed(&of(&typed)));
            let as_text = without_times(store.text(&of(&text)));
            if now_ms() / HOUR_MS != hour {
                // A period has ended between the two.
                continue 'seeds;
            }
            assert_eq!(by_mail, as_text, "{}", place(&op));
            // The store takes the steps of a transfer by itself, in its own time: both must be over.
            if let Op::Transfer { id, .. } = &op
                && by_mail.is_ok()
            {
                for account in [&typed, &text] {
                    let (account, session) = (account.as_bytes().to_vec(), id.as_bytes().to_vec());
                    let open = Request::Read(Read::Session { account, session });
                    let tries = (0..TRIES_MAX).take_while(|_| store.typed(&open).is_ok()).count();
                    assert!(tries < TRIES_MAX, "{}: it does not end", place(&op));
                }
            }
            commits += u32::from(by_mail.is_ok());
            rejects += u32::from(by_mail.is_err());
            for (one, other) in reads(&typed, &op).into_iter().zip(reads(&text, &op)) {
                let by_mail = without_times(store.typed(&Request::Read(one)));
                let as_text = without_times(store.text(&Request::Read(other)));
                if now_ms() / HOUR_MS != hour {
                    continue 'seeds;
                }
                assert_eq!(by_mail, as_text, "{}", place(&op));
            }
        }
    }
    assert!(commits > 1_000 && rejects > 300, "{commits} commits, {rejects} rejects");
}

fn create(account: &str, amount: i64) -> Request {
    let name = |text: &[u8]| Name::new(text).expect("a name");
    let attributes = BucketAttributes::default();
    let main = NewBucket { bucket: name(b"main"), unit: name(b"cent"), amount, attributes };
    let buckets = [main];
    let create = Create::active(&buckets);
    Request::write(account.as_bytes(), &Command::Create(create))
}

fn debit(account: &str, txn: &str, amount: i64) -> Write {
    let unit = Name::new(b"cent").expect("a name");
    Write::new(account.as_bytes(), &Command::Debit { txn: txn.as_bytes(), unit, amount })
}

#[test]
fn a_chain_by_mail_and_as_text_has_the_same_outcome() {
    let mut store = Store::start();
    let ways = ["typed", "text"];
    for way in ways {
        for account in ["a", "b"] {
            store.typed(&create(&format!("{{{way}}}{account}"), 100)).expect("it is new");
        }
    }
    let chains: [(&str, [(&str, i64); 2]); 5] = [
        ("carried out", [("a", 10), ("b", 20)]),
        ("carried out", [("a", 10), ("b", 20)]),
        ("denied", [("a", 10), ("b", 1_000)]),
        ("no account", [("a", 10), ("c", 20)]),
        ("no amount", [("a", 0), ("b", 20)]),
    ];
    for (name, links) in chains {
        let of = |way: &str| {
            let link = |(account, amount): (&str, i64)| {
                debit(&format!("{{{way}}}{account}"), name.split(' ').next_back().unwrap(), amount)
            };
            Request::Chain(links.map(link).to_vec())
        };
        let [typed, text] = ways.map(of);
        let by_mail = store.typed(&typed);
        let as_text = store.text(&text);
        let same = |outcome: Outcome| format!("{outcome:?}").replace("typed", "text");
        assert_eq!(same(by_mail), same(as_text), "{name}");
    }
    // Slots of the other core, and others of the same core.
    for other in 0..16 {
        let links = vec![debit(&format!("{{{other}}}a"), "t", 1), debit("{b}b", "t", 1)];
        let apart = Request::Chain(links);
        let refused = store.typed(&apart).expect_err("its accounts are of two slots");
        assert!(refused.to_string().starts_with("CROSSSLOT"), "{refused}");
        assert_eq!(store.text(&apart).expect_err("as well"), refused);
    }
}
