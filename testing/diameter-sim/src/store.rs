//! The store: the engine's shard with simulated time. A request waits until the simulator carries it out, and its reply
//! until the simulator gives it.

use crate::services::NUMBER;
use scurry_engine::{Config, Key, Outcome, Shard};
use scurry_ledger::{
    Account, BucketAttributes, Code, Command, Create, Name, NewBucket, Status, Time, check,
    validate,
};
use scurry_service::{
    Answered, Call, CallError, EventsCall, Follow, FoundAccounts, Read, Refusal, Reply, Request,
    Service, StoreCall, StoreRead, StoreReply,
};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// Number of a request to the store.
pub(crate) type Ticket = u64;

/// What a door asks.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    One(Request),
    All(StoreRead),
}

/// What the store replies.
#[derive(Clone, Debug)]
pub(crate) enum Replied {
    One(Reply),
    All(StoreReply),
}

/// What became of a request.
pub(crate) type Outcomes = Result<Replied, CallError>;

/// Name of a request in the ledger: account, what it does, session or transaction, number.
pub(crate) type LedgerName = (Vec<u8>, &'static str, Vec<u8>, u32);

/// What the store has kept of requests with one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// How often one was carried out, other than by its stored answer.
    pub(crate) commits: u32,
    pub(crate) code: Option<Code>,
    /// True if it was settled after its session had ended.
    pub(crate) is_late: bool,
}

/// The store, which doors share.
#[derive(Clone)]
pub(crate) struct SimStore {
    inner: Arc<Mutex<Inner>>,
    /// With a bug: accounts are found without a look at sessions.
    forgets_sessions: bool,
}

struct Inner {
    shard: Shard,
    /// Requests that were asked and not given to the simulator yet.
    asked: Vec<(Ticket, Asked)>,
    replies: BTreeMap<Ticket, Outcomes>,
    next: Ticket,
    accounts: Vec<Vec<u8>>,
    kept: BTreeMap<LedgerName, Kept>,
    replays: u64,
}

struct StoreFuture {
    store: SimStore,
    request: Option<Asked>,
    ticket: Ticket,
}

impl Future for StoreFuture {
    type Output = Outcomes;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Outcomes> {
        let store = self.store.clone();
        let mut inner = store.lock();
        if let Some(request) = self.request.take() {
            self.ticket = inner.next;
            inner.next += 1;
            let ticket = self.ticket;
            inner.asked.push((ticket, request));
        }
        inner.replies.remove(&self.ticket).map_or(Poll::Pending, Poll::Ready)
    }
}

impl Service for SimStore {
    fn call(&self, request: Request) -> Call<'_> {
        let outcome = self.ask(Asked::One(request));
        Box::pin(async move {
            match outcome.await? {
                Replied::One(reply) => Ok(reply),
                Replied::All(_) => Err(CallError::WrongShape),
            }
        })
    }

    fn read_store(&self, read: StoreRead) -> StoreCall<'_> {
        let read = match read {
            StoreRead::Find { kind, value, .. } if self.forgets_sessions => {
                StoreRead::Find { kind, value, session: None }
            }
            read => read,
        };
        let outcome = self.ask(Asked::All(read));
        Box::pin(async move {
            match outcome.await? {
                Replied::All(reply) => Ok(reply),
                Replied::One(_) => Err(CallError::WrongShape),
            }
        })
    }

    fn follow(&self, _: Follow) -> EventsCall<'_> {
        Box::pin(std::future::ready(Err(CallError::WrongShape)))
    }
}

impl SimStore {
    pub(crate) fn new() -> SimStore {
        let inner = Inner {
            shard: Shard::new(Config::default()),
            asked: Vec::new(),
            replies: BTreeMap::new(),
            next: 1,
            accounts: Vec::new(),
            kept: BTreeMap::new(),
            replays: 0,
        };
        SimStore { inner: Arc::new(Mutex::new(inner)), forgets_sessions: false }
    }

    /// Returns the store with a bug: accounts are found without a look at sessions.
    pub(crate) fn without_sessions(&self) -> SimStore {
        SimStore { inner: Arc::clone(&self.inner), forgets_sessions: true }
    }

    fn ask(&self, request: Asked) -> StoreFuture {
        StoreFuture { store: self.clone(), request: Some(request), ticket: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates an account with this credit, octets.
    pub(crate) fn create(&self, account: &[u8], credit: i64, now: Time) {
        let bucket = NewBucket {
            bucket: name("main"),
            unit: name("octet"),
            amount: credit,
            attributes: BucketAttributes::default(),
        };
        let create = Command::Create(Create::active(std::slice::from_ref(&bucket)));
        let mut inner = self.lock();
        inner.command(account, &create, now);
        inner.accounts.push(account.to_vec());
    }

    /// Gives an account a number.
    pub(crate) fn give(&self, account: &[u8], number: &str, now: Time) {
        self.lock().set_number(account, number, now);
    }

    /// Takes an account its number.
    pub(crate) fn take(&self, account: &[u8], now: Time) {
        self.lock().set_number(account, "", now);
    }

    /// Returns the accounts.
    pub(crate) fn accounts(&self) -> Vec<Vec<u8>> {
        self.lock().accounts.clone()
    }

    /// Takes the requests that were asked since the last call.
    pub(crate) fn take_asked(&self) -> Vec<(Ticket, Asked)> {
        std::mem::take(&mut self.lock().asked)
    }

    /// Carries a request out and returns the reply.
    pub(crate) fn execute(&self, request: &Asked, now: Time) -> Outcomes {
        match request {
            Asked::One(request) => self.lock().execute(request, now).map(Replied::One),
            Asked::All(read) => self.lock().find(read, now).map(Replied::All),
        }
    }

    /// Carries a request out on a copy of its account, which is thrown away: a bug.
    pub(crate) fn pretend(&self, request: &Asked, now: Time) -> Outcomes {
        let Asked::One(Request::Write(write)) = request else { return self.execute(request, now) };
        let mut inner = self.lock();
        let hash = inner.shard.key(&write.account).hash();
        let key = Key::hashed(&write.account, hash);
        let account = inner.shard.account(now, key).map_err(|_| CallError::WrongShape)?;
        let mut copy = Some(account.clone());
        let limits = Config::default().limits;
        let decided = write
            .command
            .with(|command| scurry_ledger::decide_in_place(&mut copy, command, now, &limits));
        match decided {
            scurry_ledger::Decision::Replay(answer)
            | scurry_ledger::Decision::Commit(_, answer) => {
                let keys = write.command.item_keys().collect();
                Ok(Replied::One(Reply::Answer(Answered { answer, replayed: false, keys })))
            }
            scurry_ledger::Decision::Reject(rejection) => {
                let why = rejection.to_string();
                Err(Refusal::Rejected { code: rejection.code, why }.into())
            }
        }
    }

    /// Gives the reply of a request to the door that waits for it.
    pub(crate) fn reply(&self, ticket: Ticket, outcome: Outcomes) {
        self.lock().replies.insert(ticket, outcome);
    }

    /// Ends what is due.
    pub(crate) fn tick(&self, now: Time) {
        let mut inner = self.lock();
        while inner.shard.tick(now) > 0 {}
    }

    /// Calls `look` with an account as it is now. Its invariants hold.
    pub(crate) fn look<R>(&self, id: &[u8], now: Time, look: impl FnOnce(&Account) -> R) -> R {
        let mut inner = self.lock();
        let hash = inner.shard.key(id).hash();
        let account = inner.shard.account(now, Key::hashed(id, hash)).expect("an account");
        validate(account, now.on(Some(account))).expect("a valid account");
        look(account)
    }

    pub(crate) fn kept(&self) -> BTreeMap<LedgerName, Kept> {
        self.lock().kept.clone()
    }

    pub(crate) fn replays(&self) -> u64 {
        self.lock().replays
    }
}

impl Inner {
    /// Carries an operator's command out.
    fn command(&mut self, account: &[u8], command: &Command<'_>, now: Time) {
        let hash = self.shard.key(account).hash();
        let outcome = self.shard.execute(now, Key::hashed(account, hash), command);
        assert!(matches!(outcome, Outcome::Answer { .. }), "{outcome:?}");
    }

    fn set_number(&mut self, account: &[u8], number: &str, now: Time) {
        let identities = [(name(NUMBER), number.as_bytes())];
        let (txn, status) = (None, Status::Active);
        self.command(account, &Command::Status { txn, status, identities: &identities }, now);
    }

    /// Finds the accounts of an identity, or that of a session.
    fn find(&mut self, read: &StoreRead, now: Time) -> Result<StoreReply, CallError> {
        let StoreRead::Find { kind, value, session } = read else {
            return Err(CallError::WrongShape);
        };
        let (kind, value) = (*kind, value.as_bytes());
        let mut found = FoundAccounts::default();
        match session {
            None => {
                found.more = self.shard.find_accounts(kind, value, 8, |account| {
                    found.accounts.push(account.to_vec());
                });
            }
            Some(session) => {
                let account =
                    self.shard.find_session_account(now, (kind, value), session.as_bytes());
                if let Some((holder, account)) = account {
                    (found.accounts, found.holder) = (vec![account.into()], Some(holder));
                }
            }
        }
        Ok(StoreReply::Found(found))
    }

    fn execute(&mut self, request: &Request, now: Time) -> Result<Reply, CallError> {
        let write = match request {
            Request::Write(write) => write,
            Request::Read(Read::Check { account, unit, item, amount }) => {
                let hash = self.shard.key(account).hash();
                let key = Key::hashed(account, hash);
                let account = self.shard.account(now, key).map_err(|_| CallError::WrongShape)?;
                return Ok(Reply::Checked(check(account, (*unit, *item), *amount, now)));
            }
            Request::Read(_) | Request::Chain(_) => return Err(CallError::WrongShape),
        };
        let hash = self.shard.key(&write.account).hash();
        let key = Key::hashed(&write.account, hash);
        let outcome = write.command.with(|command| self.shard.execute(now, key, command));
        match outcome {
            Outcome::Answer { answer, replayed } => {
                if replayed {
                    self.replays += 1;
                } else {
                    let name = write.command.with(|command| ledger_name(&write.account, command));
                    let kept = self.kept.entry(name).or_default();
                    kept.commits += 1;
                    kept.code = Some(answer.code());
                    kept.is_late = is_late(&answer);
                }
                let keys = write.command.item_keys().collect();
                Ok(Reply::Answer(Answered { answer, replayed, keys }))
            }
            Outcome::Reject(rejection) => {
                let why = rejection.to_string();
                Err(Refusal::Rejected { code: rejection.code, why }.into())
            }
            Outcome::WrongType | Outcome::OutOfMemory => panic!("{outcome:?}"),
        }
    }
}

fn is_late(answer: &scurry_ledger::Answer) -> bool {
    matches!(answer, scurry_ledger::Answer::Session { code: Code::Ok, version: 0, .. })
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn ledger_name(account: &[u8], command: &Command<'_>) -> LedgerName {
    let (what, id, number) = match command {
        Command::Reserve(request) => ("reserve", request.session, request.request),
        Command::Update(request) => ("update", request.session, request.request),
        Command::Terminate(request) => ("terminate", request.session, request.request),
        Command::Debit { txn, .. } | Command::DebitItems { txn, .. } => ("debit", *txn, 0),
        Command::Refund { txn, .. } | Command::RefundItems { txn, .. } => ("refund", *txn, 0),
        Command::TopUp { txn, .. } => ("topup", *txn, 0),
        other => panic!("no door asks for this: {other:?}"),
    };
    (account.to_vec(), what, id.to_vec(), number)
}
