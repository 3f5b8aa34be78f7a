//! Every rule of the ledger. A command is decided on a draft: each fact that follows from a rule is recorded and
//! applied to the draft at once, so that later rules see it. The recorded facts are the Change. All checks of a step
//! come before its first fact; a refusal throws the draft away.

mod account;
mod balance;
mod chain;
mod draft;
mod due;
mod fields;
mod former;
mod late;
mod limit;
mod mark;
mod room;
mod session;
mod transaction;
mod transfer;
mod units;

use crate::digest::CommandBody;
use crate::{
    Account, Answer, Change, Code, Command, Create, Decision, Limits, Op, Rejection, Time,
};
use alloc::vec::Vec;
pub(crate) use draft::Draft;
pub use due::next_due;
pub(crate) use due::{expire_due, is_due};
pub(crate) use limit::CountedUnits;
pub use transfer::{TRANSFER_ITEM, TransferView, receipt_id};
pub(crate) use units::{grantable, shortage};

/// Decides one command on one account (docs/ledger.md). Pure: the same arguments give the same decision. `now` is the
/// host's clock; the account's time never runs backwards.
pub fn decide(
    account: Option<&Account>,
    command: &Command<'_>,
    now: Time,
    limits: &Limits,
) -> Decision {
    let mut draft = account.cloned();
    decide_in_place(&mut draft, command, now, limits)
}

/// Does the same as [`decide`], for a host that already owns a copy of the account. After a Commit the copy is the
/// state that `apply` would give; after a Replay or a Reject the host must throw it away.
pub fn decide_in_place(
    account: &mut Option<Account>,
    command: &Command<'_>,
    now: Time,
    limits: &Limits,
) -> Decision {
    decide_with(&mut Vec::new(), account, command, now, limits)
}

/// Does the same as [`decide_in_place`], for a host that decides many commands. The facts of a Commit go into the
/// buffer in `spare`, and the host puts the buffer back when it is done with them. Allocating a thousand bytes for each
/// command would cost as much as some rules.
pub fn decide_with(
    spare: &mut Vec<Op>,
    account: &mut Option<Account>,
    command: &Command<'_>,
    now: Time,
    limits: &Limits,
) -> Decision {
    decide_by(run, spare, account, command, now, limits)
}

/// Does the same as [`decide_with`] for a command whose chain is denied by another command: its reported use is
/// settled, it gets nothing, and its answer is remembered (docs/ledger.md section 15). The caller has made sure that
/// the command alone, at the same time and on the same account, gives a Commit that is no denial.
pub fn decide_denied_with(
    spare: &mut Vec<Op>,
    account: &mut Option<Account>,
    command: &Command<'_>,
    now: Time,
    limits: &Limits,
) -> Decision {
    decide_by(chain::run, spare, account, command, now, limits)
}

#[inline]
fn decide_by(
    run: impl FnOnce(&mut Draft<'_>, &Command<'_>) -> Step<Outcome>,
    spare: &mut Vec<Op>,
    account: &mut Option<Account>,
    command: &Command<'_>,
    now: Time,
    limits: &Limits,
) -> Decision {
    let now = now.on(account.as_ref());
    let mut draft = Draft::new(account, core::mem::take(spare), now, limits);
    match run(&mut draft, command) {
        Ok(Outcome::Commit(answer)) => draft.commit(answer),
        Ok(Outcome::Replay(answer)) => {
            *spare = draft.give_up();
            Decision::Replay(answer)
        }
        Err(rejection) => {
            *spare = draft.give_up();
            Decision::Reject(rejection)
        }
    }
}

/// Returns the Change that a timer commits at `now`: the expiries that are due, or `None`.
pub fn tick(account: &Account, now: Time, limits: &Limits) -> Option<Change> {
    tick_in_place(&mut Some(account.clone()), now, limits)
}

/// Does the same as [`tick`], for a host that already owns a copy of the account.
pub fn tick_in_place(account: &mut Option<Account>, now: Time, limits: &Limits) -> Option<Change> {
    let held = account.as_ref()?;
    let now = now.on(Some(held));
    // A refill alone does not make a tick: it is done when the account is next touched.
    if next_due(held).is_none_or(|due| due > now) {
        return None;
    }
    let mut draft = Draft::new(account, Vec::new(), now, limits);
    expire_due(&mut draft);
    draft.finish_if_changed()
}

/// Result of a step of a command, or the reason why the command is refused.
type Step<T> = Result<T, Rejection>;

/// Returns a refusal.
fn reject<T>(code: Code, why: &'static str) -> Step<T> {
    debug_assert!(matches!(code.kind(), crate::CodeKind::Reject));
    Err(Rejection { code, why, bound: None, expired_ms: None })
}

/// Result of a command before the Change is closed.
enum Outcome {
    /// Stored answer to a duplicate.
    Replay(Answer),
    /// Answer to a command that has recorded facts.
    Commit(Answer),
}

fn run(draft: &mut Draft<'_>, command: &Command<'_>) -> Step<Outcome> {
    // A bound may have been lowered since a request was answered, so a duplicate of it may fail this check: it still
    // gets its stored answer.
    if let Err(refused) = fields::check(command, draft.limits) {
        return stored(draft, command).map(Outcome::Replay).ok_or(refused);
    }
    if draft.account_exists() {
        expire_due(draft);
    } else if let Command::Delete { if_txn: Some(_), .. } = command {
        // What the command asks for is done, perhaps by this command itself, when it came first.
        return Ok(Outcome::Replay(Answer::Account { code: Code::Ok, version: 0 }));
    } else if !matches!(command, Command::Create(_)) {
        return reject(Code::UnknownAccount, "no account has this id: create it with SCUR.CREATE");
    }
    let body = &CommandBody::new(command);
    match command {
        Command::Create(create) => account::create(draft, create, body),
        Command::Status { txn, status, identities } => {
            account::status(draft, *txn, (*status, identities), body)
        }
        Command::Delete { force, if_txn } => account::delete(draft, *force, *if_txn),
        Command::TopUp { .. }
        | Command::Adjust { .. }
        | Command::Bucket { .. }
        | Command::Debit { .. }
        | Command::DebitItems { .. }
        | Command::Refund { .. }
        | Command::RefundItems { .. }
        | Command::Counter { .. }
        | Command::Limit { .. } => balance::run(draft, command, body),
        Command::Transfer(transfer) => transfer::begin(draft, transfer, body),
        Command::Carry(step) => transfer::carry(draft, step),
        Command::Reserve(request) => session::reserve(draft, request, body),
        Command::Update(request) => session::update(draft, request, body),
        Command::Terminate(request) => session::terminate(draft, request, body),
        Command::Release { session, txn, cancel } => {
            session::release(draft, (session, *txn), *cancel, body)
        }
    }
}

/// Returns the stored answer to a request whose fields are refused now: a bound was larger when it was answered.
#[cold]
fn stored(draft: &mut Draft<'_>, command: &Command<'_>) -> Option<Answer> {
    if let Command::Create(Create { txn: Some(txn), .. }) | Command::Status { txn: Some(txn), .. } =
        command
    {
        // A stored body passed the checks when it was answered, so there is no need to check its fields again.
        return account::stored(draft, txn, &CommandBody::new(command));
    }
    if let Command::DebitItems { txn, .. } | Command::RefundItems { txn, .. } = command {
        return balance::stored(draft, txn, &CommandBody::new(command));
    }
    let (Command::Reserve(request) | Command::Update(request) | Command::Terminate(request)) =
        command
    else {
        return None;
    };
    let (items_max, blob_len_max, tcc_ms_max) = (usize::MAX, usize::MAX, i64::MAX);
    let unbounded = Limits { items_max, blob_len_max, tcc_ms_max, ..draft.limits.clone() };
    if !draft.account_exists() || fields::check(command, &unbounded).is_err() {
        return None;
    }
    expire_due(draft);
    session::stored(draft, request, &CommandBody::new(command))
}
