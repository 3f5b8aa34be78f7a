//! The oracle: docs/ledger.md a second time, as plainly as possible.
//!
//! It shares no code with `decide`, only the types of commands, answers, codes and limits. It copies the whole account
//! before each command and discards the copy when the command is rejected. Sums are i128 and are checked after each
//! movement.

mod balance;
mod body;
pub(crate) mod calendar;
mod chain;
mod due;
mod limit;
mod mark;
mod money;
mod provision;
mod session;
mod snapshot;
mod state;
mod transfer;

pub use chain::{ModelChainResult, execute_chain};
pub use snapshot::{BucketShot, ItemShot, LimitShot, SessionShot, Snapshot};

use scurry_ledger::{Answer, Cause, Checked, Code, Command, ItemKey, Limits, Name, Status, Time};
use state::{End, State};

/// Answer of the model to a command; compare it with a `Decision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelResult {
    /// Duplicate: the stored answer. Nothing changed.
    Replay(Answer),
    /// Rejection with this code. Nothing changed.
    Reject(Code),
    /// The command was executed, or denied and remembered.
    Commit(Answer),
}

/// Why a command is not executed.
enum Refusal {
    Replay(Answer),
    Reject(Code),
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Refusal {
        Refusal::Reject(code)
    }
}

/// One account or its absence, under the given limits.
#[derive(Clone, Debug)]
pub struct Model {
    limits: Limits,
    state: Option<State>,
    told: Vec<ReportedThreshold>,
    crossed: Vec<mark::CrossedMark>,
}

/// Threshold that a Commit reports: the limit, the percent of its amount, and its used amount.
pub(crate) type ReportedThreshold = (String, i128, i128);

/// Time and bounds of one command.
#[derive(Clone, Copy)]
struct Context<'a> {
    now: i64,
    limits: &'a Limits,
}

impl Model {
    /// Creates a model without an account.
    pub fn new(limits: Limits) -> Model {
        Model { limits, state: None, told: vec![], crossed: vec![] }
    }

    /// Executes a command at clock time `clock`, and records the changes.
    pub fn execute(&mut self, clock: Time, command: &Command<'_>) -> ModelResult {
        let now = self.now(clock);
        let context = Context { now, limits: &self.limits };
        let mut copy = self.state.clone();
        if let Some(state) = &mut copy {
            if let Err(code) = due::apply(state, context) {
                return ModelResult::Reject(code);
            }
            state.version += 1;
            state.changed_at = now;
        }
        let before = limit::levels(copy.as_ref(), now);
        match dispatch(&mut copy, context, command) {
            Err(Refusal::Replay(answer)) => ModelResult::Replay(answer),
            Err(Refusal::Reject(code)) => ModelResult::Reject(code),
            Ok(answer) => {
                self.told = limit::told(&before, copy.as_ref(), command, now);
                self.crossed = mark::crossed(self.state.as_ref(), copy.as_ref());
                self.state = copy;
                ModelResult::Commit(answer)
            }
        }
    }

    /// Returns how long before `clock` the session expired, if it is remembered as expired and no late use of it was
    /// reported.
    pub fn expired_ms(&self, clock: Time, session: &str) -> Option<i64> {
        let (now, mut state) = (self.now(clock), self.state.clone()?);
        due::apply(&mut state, Context { now, limits: &self.limits }).ok()?;
        let mut closed = state.tombstones(now).filter(|closed| closed.id == session);
        closed.find_map(|closed| match closed.end {
            End::Expired(moment) if closed.late.is_empty() => Some(now - moment),
            _ => None,
        })
    }

    /// Does the work of a timer at clock time `clock`; returns false when nothing was due.
    pub fn tick(&mut self, clock: Time) -> bool {
        let now = self.now(clock);
        if self.next_due().is_none_or(|due| due.0 > now) {
            return false;
        }
        let mut copy = self.state.clone();
        if let Some(state) = &mut copy {
            if due::apply(state, Context { now, limits: &self.limits }).is_err() {
                return false;
            }
            state.version += 1;
            state.changed_at = now;
        }
        self.crossed = mark::crossed(self.state.as_ref(), copy.as_ref());
        self.state = copy;
        true
    }

    /// Returns when something is due next.
    pub fn next_due(&self) -> Option<Time> {
        self.state.as_ref().and_then(due::next).map(Time)
    }

    /// Returns the thresholds that the last Commit of a command reported, sorted by the ids of the limits.
    pub(crate) fn told(&self) -> &[ReportedThreshold] {
        &self.told
    }

    /// Returns the marks that the last Commit crossed, sorted.
    pub(crate) fn crossed(&self) -> &[mark::CrossedMark] {
        &self.crossed
    }

    /// Executes `SCUR.CHECK`; None without an account.
    pub fn check(
        &self,
        clock: Time,
        (unit, item): (Name, Option<ItemKey>),
        amount: i64,
    ) -> Option<Checked> {
        let now = self.now(clock);
        let mut state = self.state.clone()?;
        due::apply(&mut state, Context { now, limits: &self.limits }).ok()?;
        let key = item.map(|key| key.to_string());
        let (unit, key) = (unit.as_str(), key.as_deref());
        let all = state.grantable(unit, key, now);
        let left = state.tightest(unit, key, now).map_or(all, |(_, left)| left);
        let all = all.min(left);
        let grantable = i64::try_from(all.min(i64::MAX.into())).ok()?;
        let (code, cause) = match state.status {
            Status::Active if grantable < amount => {
                (Code::CreditLimitReached, state.shortage(unit, key, amount.into(), now))
            }
            Status::Active => (Code::Ok, Cause::None),
            _ => (Code::ServiceDenied, Cause::Status),
        };
        Some(Checked { code, amount: grantable, cause })
    }

    /// Returns everything visible, with expiries that are due at `clock` applied but not written.
    pub fn snapshot(&self, clock: Time) -> Option<Snapshot> {
        let now = self.now(clock);
        let mut state = self.state.clone()?;
        due::apply(&mut state, Context { now, limits: &self.limits }).ok()?;
        Some(Snapshot::of_model(&state, now))
    }

    /// Returns the effective time, which is never before the account's last Change.
    pub fn now(&self, clock: Time) -> i64 {
        let year_6429 = 140_737_488_355_327;
        let clock = clock.0.clamp(0, year_6429);
        self.state.as_ref().map_or(clock, |state| state.changed_at.max(clock))
    }
}

fn dispatch(
    account: &mut Option<State>,
    context: Context<'_>,
    command: &Command<'_>,
) -> Result<Answer, Refusal> {
    let body = body::text(command);
    match command {
        Command::Create(create) => provision::create(account, context, create, body),
        Command::Status { txn, status, identities } => {
            provision::status(account, context, *txn, (*status, identities), body)
        }
        Command::Delete { force, if_txn } => provision::delete(account, context, *force, *if_txn),
        Command::Transfer(transfer) => transfer::begin(account, context, transfer, body),
        Command::Carry(step) => transfer::carry(account, context, step),
        Command::Reserve(request) => session::reserve(account, context, request, body),
        Command::Update(request) => session::update(account, context, request, body),
        Command::Terminate(request) => session::terminate(account, context, request, body),
        Command::Release { session, txn, cancel } => {
            provision::release(account, context, (session, *txn), *cancel, body)
        }
        _ => balance::execute(account, context, command, body),
    }
}

/// Checks a session id, transaction id or identity value: 1 to 255 bytes of printable ASCII.
fn id(bytes: &[u8]) -> Result<String, Code> {
    let fine = bytes.iter().all(|&byte| byte > b' ' && byte < 0x7f);
    if bytes.is_empty() || bytes.len() > 255 || !fine {
        return Err(Code::Invalid);
    }
    Ok(bytes.iter().map(|&byte| char::from(byte)).collect())
}

/// Begins the id of a receipt.
const RECEIPT: &str = "transfer:";

/// Checks a transaction id: those of receipts are not for clients.
fn txn_id(bytes: &[u8]) -> Result<String, Code> {
    id(bytes).and_then(|id| match id.starts_with(RECEIPT) {
        true => Err(Code::Invalid),
        false => Ok(id),
    })
}

/// Returns an error unless the condition holds.
fn require(condition: bool, code: Code) -> Result<(), Code> {
    if condition { Ok(()) } else { Err(code) }
}
