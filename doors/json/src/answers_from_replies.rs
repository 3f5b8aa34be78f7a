//! Converts replies of the store to answers. Each function returns None if the reply does not have the expected shape.

use crate::answer::{
    AccountBody, AccountList, AccountRow, AllowanceBody, Answer, AnswerBody, Audit, BucketBody,
    BucketTotals, ChainAnswer, Checked, ClockBody, CounterBody, Done, FormerIdentityBody,
    FoundAccounts, ItemAnswer, LimitBody, Moved, SessionAnswer, SessionRow, Sessions,
    TransferAnswer, Uncollected, Why, WindowBody,
};
use crate::quantity::Quantity;
use crate::text::{Begin, Key};
use crate::totals::TotalsBody;
use scurry_ledger::{
    self as ledger, Cause, Code, Cycle, DebtRule, Final, Id, LimitSubject, Name, Time, Window,
};
use scurry_resp::transfer_state;
use scurry_service::{AccountView, Answered, Reply, StoreReply, denied};

/// Returns the answer of a successful read.
pub(crate) fn shown(body: AnswerBody) -> Option<Answer> {
    Some(Answer { code: Code::Ok, replayed: false, body })
}

pub(crate) fn why(cause: Cause) -> Why {
    let named = cause.name().map(name);
    let (limit, bucket) = match cause {
        Cause::Bucket(_) => (None, named),
        _ => (named, None),
    };
    Why { cause: cause.word(), limit, bucket, allowed_at_ms: ms(cause.allowed_at()) }
}

/// Converts to the integer type of all answers, which is signed. Too large numbers become the greatest one.
pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn amount(amount: i64) -> Quantity {
    Quantity::Number(amount)
}

pub(crate) fn name(name: Name) -> String {
    name.as_str().to_owned()
}

pub(crate) fn id(id: &Id) -> String {
    lossy(id.as_bytes())
}

pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ms(time: Option<Time>) -> Option<i64> {
    time.map(|time| time.0)
}

fn answered(reply: Reply) -> Option<Answered> {
    match reply {
        Reply::Answer(answered) => Some(answered),
        _ => None,
    }
}

pub(crate) fn done(reply: Reply) -> Option<Answer> {
    let Answered { answer, replayed, .. } = answered(reply)?;
    let ledger::Answer::Account { code, version } = answer else { return None };
    let body = AnswerBody::Done(Done { code: code.name(), replayed, version: integer(version) });
    Some(Answer { code, replayed, body })
}

pub(crate) fn moved(reply: Reply) -> Option<Answer> {
    let answered = answered(reply)?;
    let (code, replayed) = (answered.code(), answered.replayed);
    Some(Answer { code, replayed, body: AnswerBody::Moved(moved_body(&answered)?) })
}

pub(crate) fn transfer(reply: Reply) -> Option<Answer> {
    let answered = answered(reply)?;
    let (code, replayed) = (answered.code(), answered.replayed);
    let ledger::Answer::Session { version, ref items, .. } = answered.answer else { return None };
    let body = TransferAnswer {
        code: code.name(),
        replayed,
        state: transfer_state(code, version),
        amount: amount(items.first().map_or(0, |item| item.granted)),
        why: why(answered.answer.cause()),
    };
    Some(Answer { code, replayed, body: AnswerBody::Transfer(body) })
}

fn moved_body(answered: &Answered) -> Option<Moved> {
    let ledger::Answer::Amount { code, version, amount: moved, cause } = answered.answer else {
        return None;
    };
    Some(Moved {
        code: code.name(),
        replayed: answered.replayed,
        version: integer(version),
        amount: amount(moved),
        why: why(cause),
    })
}

pub(crate) fn checked(reply: Reply) -> Option<Answer> {
    let Reply::Checked(checked) = reply else { return None };
    // The check succeeded even if its result is a denial.
    shown(AnswerBody::Checked(Checked {
        code: checked.code.name(),
        amount: amount(checked.amount),
        why: why(checked.cause),
    }))
}

pub(crate) fn session(reply: Reply) -> Option<Answer> {
    let answered = answered(reply)?;
    let (code, replayed) = (answered.code(), answered.replayed);
    Some(Answer { code, replayed, body: AnswerBody::Session(session_body(&answered)?) })
}

fn session_body(answered: &Answered) -> Option<SessionAnswer> {
    let ledger::Answer::Session { code, version, items } = &answered.answer else { return None };
    // Without items the session request as a whole has the cause, with items each item has one.
    let cause = if answered.keys.is_empty() { answered.answer.cause() } else { Cause::None };
    let items = answered.keys.iter().zip(items).map(|(key, item)| ItemAnswer {
        key: Key(*key),
        code: item.code.name(),
        granted: amount(item.granted),
        last: item.last != Final::No,
        held: item.last == Final::Held,
        uncollected: amount(item.uncollected),
        why: why(item.cause),
    });
    Some(SessionAnswer {
        code: code.name(),
        replayed: answered.replayed,
        version: integer(*version),
        items: items.collect(),
        why: why(cause),
    })
}

pub(crate) fn chain(reply: Reply) -> Option<Answer> {
    let Reply::Chain(chain) = reply else { return None };
    let denied = denied(&chain);
    let code = denied.map_or(Code::Ok, |at| chain[at].code());
    // The ledger executes a chain as a whole, so either all commands are duplicates or none is.
    let replayed = chain.iter().all(|one| one.replayed);
    let answers = chain.iter().map(|one| match one.answer {
        ledger::Answer::Session { .. } => session_body(one).map(AnswerBody::Session),
        _ => moved_body(one).map(AnswerBody::Moved),
    });
    let body = ChainAnswer {
        code: code.name(),
        replayed,
        denied: denied.and_then(|at| i64::try_from(at + 1).ok()),
        answers: answers.collect::<Option<_>>()?,
    };
    Some(Answer { code, replayed, body: AnswerBody::Chain(body) })
}

pub(crate) fn account_body(account: AccountView) -> AccountBody {
    let identities = account.identities.iter().map(|(kind, value)| (name(*kind), id(value)));
    let items_of = |bucket| {
        let of_bucket = account.bucket_items.iter().filter(move |(of, _)| *of == bucket);
        of_bucket.map(|(_, key)| Key(*key)).collect()
    };
    let former_identities = account.former_identities.iter().map(|former| FormerIdentityBody {
        kind: name(former.kind),
        value: id(&former.value),
        forget_at_ms: former.forget_at.0,
    });
    let buckets = account.buckets.iter().map(|bucket| BucketBody {
        bucket: name(bucket.id),
        unit: name(bucket.unit),
        available: amount(bucket.available),
        held: amount(bucket.held),
        floor: amount(bucket.floor),
        priority: bucket.priority.into(),
        valid_from_ms: bucket.valid_from.0,
        valid_to_ms: ms(bucket.valid_to),
        mark: bucket.mark.map(amount),
        allowance: bucket.allowance.map(|allowance| AllowanceBody {
            period: allowance.cycle.period.to_string(),
            clock: clock(allowance.cycle),
            amount: amount(allowance.amount),
            refills_at_ms: ms(allowance.refills_at),
            rollover: Some(allowance.rollover).filter(|&units| units != 0).map(amount),
            debt: Some(allowance.debt).filter(|&rule| rule != DebtRule::Net).map(DebtRule::word),
            owed: Some(allowance.owed).filter(|&units| units != 0).map(amount),
        }),
        items: items_of(bucket.id),
    });
    let counters = account.counters.iter().map(|counter| CounterBody {
        counter: name(counter.id),
        unit: name(counter.unit),
        value: amount(counter.value),
        period: counter.cycle.period.to_string(),
        clock: Some(clock(counter.cycle)).filter(|clock| *clock != ClockBody::UTC),
        resets_at_ms: ms(counter.resets_at),
    });
    let limits = account.limits.iter().map(|limit| {
        let (unit, item) = match limit.counted {
            LimitSubject::Sessions => (None, None),
            LimitSubject::Units { unit, item } => (Some(name(unit)), item.map(Key)),
        };
        LimitBody {
            limit: name(limit.id),
            unit,
            item,
            amount: amount(limit.amount),
            used: amount(limit.used),
            held: amount(limit.held),
            left: amount(limit.left),
            overrun: amount(limit.overrun),
            window: window(limit.window),
            resets_at_ms: ms(limit.resets_at),
        }
    });
    AccountBody {
        status: account.status.name().to_owned(),
        version: integer(account.version),
        identities: identities.collect(),
        former_identities: former_identities.collect(),
        buckets: buckets.collect(),
        counters: counters.collect(),
        limits: limits.collect(),
        sessions: rows(&account),
    }
}

fn clock(cycle: Cycle) -> ClockBody {
    ClockBody {
        offset_minutes: cycle.zone.offset_minutes().map(i64::from),
        zone: cycle.zone.named().map(|zone| zone.name().to_owned()),
        begin: cycle.given_begin().map(Begin),
    }
}

fn window(window: Window) -> WindowBody {
    let none =
        WindowBody { period: None, clock: None, rolling_ms: None, rate_ms: None, burst: None };
    match window {
        Window::Period(cycle) => {
            WindowBody { period: Some(cycle.period.to_string()), clock: Some(clock(cycle)), ..none }
        }
        Window::Rolling(span) => WindowBody { rolling_ms: Some(span.ms()), ..none },
        Window::Rate { span, burst } => {
            WindowBody { rate_ms: Some(span.ms()), burst: burst.map(amount), ..none }
        }
    }
}

fn rows(account: &AccountView) -> Vec<SessionRow> {
    let row = |row: &scurry_service::SessionRow| SessionRow {
        session: id(&row.id),
        version: integer(row.version),
        deadline_ms: row.deadline.0,
        opened_ms: row.opened.0,
        active_ms: row.active.0,
    };
    account.sessions.iter().map(row).collect()
}

pub(crate) fn account(reply: Reply) -> Option<Answer> {
    let Reply::Account(account) = reply else { return None };
    shown(AnswerBody::Account(Box::new(account_body(*account))))
}

pub(crate) fn sessions(reply: Reply) -> Option<Answer> {
    let Reply::Account(account) = reply else { return None };
    shown(AnswerBody::Sessions(Sessions { sessions: rows(&account) }))
}

pub(crate) fn audit(reply: Reply) -> Option<Answer> {
    let Reply::Audit(audit) = reply else { return None };
    let buckets = audit.buckets.iter().map(|bucket| BucketTotals {
        bucket: name(bucket.id),
        unit: name(bucket.unit),
        available: amount(bucket.available),
        held: amount(bucket.held),
        credited: amount(bucket.credited),
        refunded: amount(bucket.refunded),
        consumed: amount(bucket.consumed),
        expired: amount(bucket.expired),
        voided: amount(bucket.voided),
        overdrawn: amount(bucket.overdrawn),
    });
    let uncollected = audit
        .uncollected
        .iter()
        .map(|row| Uncollected { unit: name(row.unit), amount: amount(row.amount) });
    shown(AnswerBody::Audit(Audit {
        ok: audit.ok,
        version: integer(audit.version),
        buckets: buckets.collect(),
        uncollected: uncollected.collect(),
    }))
}

pub(crate) fn totals(reply: StoreReply) -> Option<Answer> {
    let StoreReply::Totals(totals) = reply else { return None };
    shown(AnswerBody::Totals(TotalsBody::of(totals)?))
}

pub(crate) fn listed(reply: StoreReply) -> Option<Answer> {
    let StoreReply::List(list) = reply else { return None };
    let accounts = list.accounts.iter().map(|row| AccountRow {
        account: lossy(&row.account),
        status: row.status.name().to_owned(),
        version: integer(row.version),
    });
    let cursor = list.next.map(|next| next.to_string());
    shown(AnswerBody::List(AccountList { accounts: accounts.collect(), cursor }))
}

pub(crate) fn found(reply: StoreReply) -> Option<Answer> {
    let StoreReply::Found(found) = reply else { return None };
    let accounts = found.accounts.iter().map(|account| lossy(account)).collect();
    shown(AnswerBody::Found(FoundAccounts { accounts, more: found.more }))
}
