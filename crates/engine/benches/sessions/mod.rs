//! The charging sessions of the lab's `moaf-scur`, as commands to a shard.

use rustix::time::{ClockId, clock_gettime};
use scurry_engine::{Key, Outcome, Shard};
use scurry_ledger::{
    BucketAttributes, Command, Create, ItemRequest, Name, NewBucket, SessionRequest, Time,
};
use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

pub(crate) const NOW: Time = Time(1_700_000_000_000);
/// Number of sessions that are served in rotation.
const SESSIONS: usize = 3_200;

/// One operation of a session; none is a read.
const STEPS: [Option<Step>; 8] = [
    None,
    Some(Step { request: 0, used: None, requested: Some(1_000) }),
    None,
    Some(Step { request: 1, used: Some(900), requested: Some(1_000) }),
    None,
    Some(Step { request: 2, used: Some(900), requested: Some(1_000) }),
    None,
    Some(Step { request: 3, used: Some(700), requested: None }),
];

#[derive(Clone, Copy)]
struct Step {
    request: u32,
    used: Option<i64>,
    requested: Option<i64>,
}

/// An operation of a session.
#[derive(Clone)]
pub(crate) struct Session {
    step: usize,
    pub(crate) account: [u8; 11],
    id: [u8; 8],
}

/// Sessions in rotation, with the next operation of each.
pub(crate) struct Sessions {
    all: Vec<Session>,
    turn: usize,
    accounts: u64,
    random: u64,
    opened: u64,
}

impl Sessions {
    /// Creates sessions of the accounts numbered from 0 on.
    pub(crate) fn new(accounts: u64) -> Sessions {
        let idle = Session { step: 0, account: account_id(0), id: digits(0) };
        Sessions {
            all: vec![idle; SESSIONS],
            turn: 0,
            accounts,
            random: 0x9e37_79b9_7f4a_7c15,
            opened: 0,
        }
    }

    /// Returns the next operation.
    pub(crate) fn next(&mut self) -> Session {
        let session = &mut self.all[self.turn];
        self.turn = (self.turn + 1) % SESSIONS;
        if session.step == 0 {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            session.account = account_id(self.random % self.accounts);
            session.id = digits(self.opened);
            self.opened += 1;
        }
        let taken = session.clone();
        session.step = (session.step + 1) % STEPS.len();
        taken
    }

    /// Returns the time of a host that opens a hundred sessions per millisecond.
    pub(crate) fn now(&self) -> Time {
        Time(NOW.0.saturating_add_unsigned(self.opened / 100))
    }
}

/// Runs an operation, and returns whether its answer is right.
pub(crate) fn run(shard: &mut Shard, now: Time, key: Key<'_>, session: &Session) -> bool {
    let Some(step) = STEPS[session.step] else {
        let account = black_box(shard.account(now, key).ok());
        return account.is_some_and(|account| {
            session.step == 0 || black_box(account.session(&session.id)).is_some()
        });
    };
    let Some(unit) = Name::new(b"octets") else { return false };
    let item =
        ItemRequest { key: 1.into(), unit, used: step.used, requested: step.requested, min: None };
    let request = SessionRequest {
        session: &session.id,
        request: step.request,
        items: &[item],
        ..SessionRequest::default()
    };
    let command = match session.step {
        1 => Command::Reserve(request),
        7 => Command::Terminate(request),
        _ => Command::Update(request),
    };
    let outcome = black_box(shard.execute(now, key, black_box(&command)));
    matches!(outcome, Outcome::Answer { replayed: false, .. })
}

/// Creates accounts with two buckets each.
pub(crate) fn populate(shard: &mut Shard, accounts: u64) -> Result<(), Box<dyn Error>> {
    let unit = Name::new(b"octets").ok_or("a name")?;
    let mut buckets = vec![];
    for (id, priority) in [(&b"main"[..], 10), (&b"bonus"[..], 5)] {
        buckets.push(NewBucket {
            bucket: Name::new(id).ok_or("a name")?,
            unit,
            amount: 1_000_000_000_000,
            attributes: BucketAttributes { priority: Some(priority), ..Default::default() },
        });
    }
    let create = Create::active(&buckets);
    for number in 0..accounts {
        let id = account_id(number);
        let key = shard.key(&id);
        shard.execute(NOW, key, &Command::Create(create));
    }
    Ok(())
}

fn account_id(number: u64) -> [u8; 11] {
    let mut id = *b"acc:0000000";
    id[3..].copy_from_slice(&digits(number));
    id[3] = b':';
    id
}

fn digits(number: u64) -> [u8; 8] {
    let mut text = *b"s0000000";
    let mut rest = number;
    for place in text[1..].iter_mut().rev() {
        *place = b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize];
        rest /= 36;
    }
    text
}

/// Reads the CPU time of this process, because recovery uses a second thread.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let part = |part: i64| u64::try_from(part).unwrap_or_default();
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}
