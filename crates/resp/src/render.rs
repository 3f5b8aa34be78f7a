//! Writes SCUR replies in the form that docs/commands.md documents for each command.

mod holds;
mod word;

pub use self::holds::{holds_map, transaction_map};

use self::word::{list, word};
use crate::{Reply, WRONG_TYPE};
use scurry_ledger::{
    Account, Allowance, Answer, Bucket, BucketKey, Cause, ChainRejection, Checked, Code, Command,
    Create, Cycle, ItemAnswer, ItemKey, ItemRequest, Limit, LimitSubject, Link, Name, Overrun,
    Period, Rejection, Session, Standing, Status, Time, Totals, Zone, first_denied,
};
use std::borrow::Cow;
use std::fmt::Display;

/// Writes the answer to a command that was committed, now or earlier (`replayed`).
pub fn answer(reply: &mut Reply<'_>, command: &Command<'_>, answer: &Answer, replayed: bool) {
    match answer {
        Answer::Account { code, version } => {
            let is_repeatable = matches!(
                command,
                Command::Create(Create { txn: Some(_), .. })
                    | Command::Status { txn: Some(_), .. }
                    | Command::Delete { if_txn: Some(_), .. }
            );
            reply.array(2 + usize::from(is_repeatable));
            reply.simple(code.name());
            reply.unsigned(*version);
            if is_repeatable {
                reply.integer(i64::from(replayed));
            }
        }
        Answer::Amount { code, version, amount, cause } => {
            answer_head(reply, *code, replayed, *version, cause_len(*cause));
            reply.integer(*amount);
            told(reply, *cause);
        }
        Answer::Session { code, version, items } if matches!(command, Command::Transfer(_)) => {
            transfer_answer(reply, (*code, *version), items, replayed);
        }
        Answer::Session { code, version, items } => {
            let requested: &[ItemRequest] = match command {
                Command::Reserve(request)
                | Command::Update(request)
                | Command::Terminate(request) => request.items,
                _ => &[],
            };
            // A denied request without items has its cause in the answer itself.
            let cause = if requested.is_empty() { answer.cause() } else { Cause::None };
            answer_head(reply, *code, replayed, *version, cause_len(cause));
            item_answers(reply, requested, items);
            told(reply, cause);
        }
    }
}

/// Writes the answer to a TRANSFER, whose session has one item.
#[cold]
fn transfer_answer(
    reply: &mut Reply<'_>,
    (code, version): (Code, u64),
    items: &[ItemAnswer],
    replayed: bool,
) {
    let cause = items.first().map_or(Cause::None, |item| item.cause);
    reply.array(4 + cause_len(cause));
    reply.simple(code.name());
    reply.integer(i64::from(replayed));
    reply.integer(items.first().map_or(0, |item| item.granted));
    reply.simple(transfer_state(code, version));
    told(reply, cause);
}

/// Returns the state of a transfer whose answer has this code and session version.
pub fn transfer_state(code: Code, version: u64) -> &'static str {
    match (code, version) {
        (Code::Ok, 0) => "arrived",
        (Code::Ok, _) => "in_transit",
        _ => "denied",
    }
}

/// Writes the answers to a chain.
pub fn chain_answers(
    reply: &mut Reply<'_>,
    links: &[Link<'_>],
    answers: &[Answer],
    replayed: bool,
) {
    let denied = first_denied(answers);
    reply.array(4);
    reply.simple(denied.map_or(Code::Ok, |link| answers[link].code()).name());
    reply.integer(i64::from(replayed));
    reply.unsigned(denied.map_or(0, |link| link as u64 + 1));
    reply.array(answers.len());
    for (link, one) in links.iter().zip(answers) {
        answer(reply, &link.command, one, replayed);
    }
}

/// Writes the error for a chain with a key that holds no account; `at` is the index of its link.
pub fn chain_wrong_type(reply: &mut Reply<'_>, links: &[Link<'_>], at: usize) {
    match links.get(at) {
        None => reply.error(WRONG_TYPE),
        Some(link) => reply.error(format_args!(
            "{WRONG_TYPE}: command {}, account {}",
            at + 1,
            link.account.escape_ascii()
        )),
    }
}

/// Writes the refusal of a chain: the number of the refused command, if it is one, and the reason.
pub fn chain_rejection(reply: &mut Reply<'_>, links: &[Link<'_>], refused: &ChainRejection) {
    let ChainRejection { link, rejection } = refused;
    match link.and_then(|at| Some((at + 1, links.get(at)?.account.escape_ascii()))) {
        None => crate::rejection(reply, rejection),
        Some((number, account)) => reject(
            reply,
            rejection.code,
            format_args!("command {number}, account {account}: {rejection}"),
        ),
    }
}

fn answer_head(reply: &mut Reply<'_>, code: Code, replayed: bool, version: u64, cause: usize) {
    // Nearly every answer begins with these bytes.
    if code == Code::Ok && !replayed {
        reply.formed(b"*4\r\n+OK\r\n:0\r\n");
    } else {
        reply.array(4 + cause);
        reply.simple(code.name());
        reply.integer(i64::from(replayed));
    }
    reply.unsigned(version);
}

/// Writes the key of an item: a numeric key as an integer.
#[inline]
fn item_key(reply: &mut Reply<'_>, key: &ItemKey) {
    match key {
        ItemKey::Number(key) => reply.integer(i64::from(*key)),
        ItemKey::Id(id) => reply.bulk(id.as_bytes()),
    }
}

/// Returns the number of elements that tell the cause of a denial: none, its text, and when a limit allows it.
#[inline]
fn cause_len(cause: Cause) -> usize {
    usize::from(cause.word().is_some()) + usize::from(cause.allowed_at().is_some())
}

/// Writes the cause of a denial, if it is known.
#[inline]
fn told(reply: &mut Reply<'_>, cause: Cause) {
    if let Some(word) = cause.word() {
        tell(reply, cause, word);
    }
}

#[cold]
fn tell(reply: &mut Reply<'_>, cause: Cause, word: &str) {
    match cause.name() {
        Some(name) => reply.simple(&format!("{word} {}", name.as_str())),
        None => reply.simple(word),
    }
    if let Some(time) = cause.allowed_at() {
        reply.integer(time.0);
    }
}

/// Returns the text of a cause, if it is known: its word, and the id of the limit or the bucket.
pub fn cause_text(cause: Cause) -> Option<Cow<'static, str>> {
    let word = cause.word()?;
    Some(match cause.name() {
        Some(name) => format!("{word} {}", name.as_str()).into(),
        None => word.into(),
    })
}

fn item_answers(reply: &mut Reply<'_>, requested: &[ItemRequest], answers: &[ItemAnswer]) {
    let each = requested.is_empty() || requested.len() == answers.len();
    debug_assert!(each, "one answer per item, in their order");
    reply.array(requested.len().min(answers.len()));
    for (item, answer) in requested.iter().zip(answers) {
        reply.array(5 + cause_len(answer.cause));
        item_key(reply, &item.key);
        match answer.code {
            Code::Ok => reply.ok(),
            code => reply.simple(code.name()),
        }
        reply.integers([answer.granted, i64::from(answer.last as u8), answer.uncollected]);
        told(reply, answer.cause);
    }
}

/// Writes the answer to `SCUR.CHECK`.
pub fn check_answer(reply: &mut Reply<'_>, checked: Checked) {
    let Checked { code, amount, cause } = checked;
    reply.array(2 + cause_len(cause));
    reply.simple(code.name());
    reply.integer(amount);
    told(reply, cause);
}

/// Writes a refusal.
pub fn rejection(reply: &mut Reply<'_>, rejection: &Rejection) {
    reject(reply, rejection.code, rejection);
}

/// Writes a refusal with this explanation.
pub fn reject(reply: &mut Reply<'_>, code: Code, why: impl Display) {
    reply.error(format_args!("{} {} {why}", code.name(), code as u8));
}

/// Writes the answer to `SCUR.GET`.
pub fn account_map(reply: &mut Reply<'_>, account: &Account, now: Time) {
    reply.map(7 + rare_entries(account));
    account_entries(reply, account, now);
}

/// Writes the answer to `SCUR.SESSION`.
pub fn session_map(reply: &mut Reply<'_>, account: &Account, session: &Session, now: Time) {
    reply.map(8 + rare_entries(account));
    account_entries(reply, account, now);
    word!(reply, "session");
    session_entry(reply, session);
}

/// Returns the number of entries that only some accounts have.
fn rare_entries(account: &Account) -> usize {
    usize::from(!account.former_identities.is_empty())
        + usize::from(!account.bucket_keys.is_empty())
        + usize::from(account.buckets.iter().any(|bucket| bucket.mark.is_some()))
}

/// Writes the items that some buckets are for.
#[cold]
fn bucket_items(reply: &mut Reply<'_>, account: &Account) {
    list!(reply, "bucket_items", account.bucket_keys.len());
    for BucketKey { bucket, key } in &account.bucket_keys {
        reply.array(2);
        reply.name(&account.bucket_no(*bucket).map_or(Name::EMPTY, |bucket| bucket.id));
        item_key(reply, key);
    }
}

/// Writes the marks of the buckets that have one.
#[cold]
fn bucket_marks(reply: &mut Reply<'_>, account: &Account, count: usize) {
    list!(reply, "bucket_marks", count);
    for bucket in &account.buckets {
        if let Some(mark) = bucket.mark {
            reply.array(2);
            reply.name(&bucket.id);
            reply.integer(mark);
        }
    }
}

/// Writes the identities that the account has given up and is still found by.
#[cold]
fn former_identities(reply: &mut Reply<'_>, account: &Account) {
    list!(reply, "former_identities", account.former_identities.len());
    for former in &account.former_identities {
        reply.array(3);
        reply.name(&former.identity.kind);
        reply.bulk(former.identity.value.as_bytes());
        reply.integer(former.forget_at.0);
    }
}

fn account_entries(reply: &mut Reply<'_>, account: &Account, now: Time) {
    word!(reply, "status");
    match account.status {
        Status::Active => reply.formed(b"+active\r\n"),
        status => reply.simple(status.name()),
    }
    word!(reply, "version");
    reply.unsigned(account.version);
    list!(reply, "identities", account.identities.len());
    for identity in &account.identities {
        reply.array(2);
        reply.name(&identity.kind);
        reply.bulk(identity.value.as_bytes());
    }
    list!(reply, "buckets", account.buckets.len());
    for bucket in &account.buckets {
        balance(reply, bucket, account.allowance(bucket.no), now);
    }
    list!(reply, "counters", account.counters.len());
    for counter in &account.counters {
        // A period of UTC needs no zone.
        let clock_len = match counter.cycle {
            Cycle { zone: Zone::Fixed(0), .. } if counter.cycle.given_begin().is_none() => 0,
            cycle => 1 + begin_len(cycle),
        };
        reply.array(5 + clock_len);
        reply.name(&counter.id);
        reply.name(&counter.unit);
        reply.integer(counter.value_at(now));
        period(reply, counter.cycle.period);
        time_or_null(reply, counter.resets_at(now));
        if clock_len > 0 {
            zone(reply, counter.cycle.zone);
            begin(reply, counter.cycle);
        }
    }
    list!(reply, "limits", account.limits.len());
    for limit in &account.limits {
        limit_entry(reply, account, limit, now);
    }
    list!(reply, "sessions", account.sessions.len());
    for session in &account.sessions {
        reply.array(5);
        reply.bulk(session.id.as_bytes());
        reply.unsigned(session.version);
        reply.integers([session.deadline.0, session.opened.0, session.active().0]);
    }
    if !account.bucket_keys.is_empty() {
        bucket_items(reply, account);
    }
    let marks = account.buckets.iter().filter(|bucket| bucket.mark.is_some()).count();
    if marks > 0 {
        bucket_marks(reply, account, marks);
    }
    if !account.former_identities.is_empty() {
        former_identities(reply, account);
    }
}

fn balance(reply: &mut Reply<'_>, bucket: &Bucket, allowance: Option<&Allowance>, now: Time) {
    reply.array(8 + usize::from(allowance.is_some()));
    reply.name(&bucket.id);
    reply.name(&bucket.unit);
    reply.integers([
        bucket.available,
        bucket.held,
        bucket.floor,
        i64::from(bucket.priority),
        bucket.valid_from.0,
    ]);
    time_or_null(reply, bucket.valid_to);
    if let Some(allowance) = allowance {
        allowance_entry(reply, bucket, allowance, now);
    }
}

#[inline(never)]
fn allowance_entry(reply: &mut Reply<'_>, bucket: &Bucket, allowance: &Allowance, now: Time) {
    let has_terms = allowance.has_terms();
    reply.array(if has_terms { 8 } else { 4 + begin_len(allowance.cycle) });
    period(reply, allowance.cycle.period);
    zone(reply, allowance.cycle.zone);
    reply.integer(allowance.amount);
    time_or_null(reply, allowance.next_refill(bucket, now));
    if has_terms {
        reply.integers([i64::from(allowance.cycle.begin), allowance.rollover]);
        reply.simple(allowance.debt.word());
        reply.integer(allowance.owed);
    } else {
        begin(reply, allowance.cycle);
    }
}

fn period(reply: &mut Reply<'_>, period: Period) {
    reply.simple(&period.to_string());
}

/// Writes minutes ahead of UTC, or the name of a zone.
fn zone(reply: &mut Reply<'_>, zone: Zone) {
    match zone {
        Zone::Fixed(minutes) => reply.integer(i64::from(minutes)),
        Zone::Named(zone) => reply.bulk(zone.name().as_bytes()),
    }
}

fn begin_len(cycle: Cycle) -> usize {
    usize::from(cycle.given_begin().is_some())
}

/// Writes the begin of a cycle, of one that does not begin as usual.
fn begin(reply: &mut Reply<'_>, cycle: Cycle) {
    match cycle.given_begin() {
        Some(Cycle::FIRST_USE) => reply.simple(Cycle::FIRST_USE_WORD),
        Some(begin) => reply.integer(i64::from(begin)),
        None => {}
    }
}

#[inline(never)]
fn limit_entry(reply: &mut Reply<'_>, account: &Account, limit: &Limit, now: Time) {
    let (held, resets_at) = (account.held_in(limit), account.limit_resets_at(limit, now));
    let (left, limit) = (account.left_in(limit, now), account.limit_at(limit, now));
    let cycle = limit.window.cycle().unwrap_or(Cycle::NONE);
    let burst = limit.window.given_burst();
    reply.array(11 + begin_len(cycle) + 2 * usize::from(burst.is_some()));
    reply.name(&limit.id);
    match limit.counted {
        LimitSubject::Sessions => {
            reply.null();
            reply.null();
        }
        LimitSubject::Units { unit, item } => {
            reply.name(&unit);
            match item {
                Some(key) => item_key(reply, &key),
                None => reply.null(),
            }
        }
    }
    reply.integers([limit.amount, limit.used, held, left, limit.overrun]);
    reply.simple(&limit.window.to_string());
    zone(reply, cycle.zone);
    time_or_null(reply, resets_at);
    begin(reply, cycle);
    if let Some(burst) = burst {
        reply.null();
        reply.integer(burst);
    }
}

#[inline]
fn time_or_null(reply: &mut Reply<'_>, time: Option<Time>) {
    match time {
        Some(time) => reply.integer(time.0),
        None => reply.null(),
    }
}

fn session_entry(reply: &mut Reply<'_>, session: &Session) {
    reply.map(11);
    word!(reply, "id");
    reply.bulk(session.id.as_bytes());
    word!(reply, "version");
    reply.unsigned(session.version);
    word!(reply, "deadline");
    reply.integer(session.deadline.0);
    word!(reply, "opened");
    reply.integer(session.opened.0);
    word!(reply, "active");
    reply.integer(session.active().0);
    word!(reply, "validity");
    reply.integer(session.validity_ms);
    word!(reply, "tcc");
    reply.integer(session.tcc_ms);
    word!(reply, "overrun");
    match session.terms.overrun {
        Overrun::Overdraw => reply.formed(b"+overdraw\r\n"),
        overrun => reply.simple(overrun.name()),
    }
    word!(reply, "last_request");
    match session.answers.last_request() {
        Some(request) => reply.integer(i64::from(request)),
        None => reply.null(),
    }
    word!(reply, "data");
    if session.blob.is_empty() {
        reply.formed(b"$0\r\n\r\n");
    } else {
        reply.bulk(&session.blob);
    }
    list!(reply, "items", session.items.len());
    for item in &session.items {
        reply.array(10);
        item_key(reply, &item.key);
        reply.name(&item.unit);
        reply.integers([
            item.granted,
            item.outstanding(),
            item.used,
            item.from_hold,
            item.direct,
            item.released,
            item.uncollected,
        ]);
        match item.standing {
            Standing::Granted => reply.formed(b"+granted\r\n"),
            standing => reply.simple(standing.name()),
        }
    }
}

/// Writes the answer to `SCUR.AUDIT`; `ok` tells whether the invariants hold.
pub fn audit_map(reply: &mut Reply<'_>, account: &Account, ok: bool) {
    reply.map(4);
    word!(reply, "ok");
    reply.integer(i64::from(ok));
    word!(reply, "version");
    reply.unsigned(account.version);
    list!(reply, "buckets", account.buckets.len());
    for bucket in &account.buckets {
        reply.array(10);
        reply.name(&bucket.id);
        reply.name(&bucket.unit);
        for amount in [
            bucket.available,
            bucket.held,
            bucket.credited,
            bucket.refunded,
            bucket.consumed,
            bucket.expired,
            bucket.voided,
            bucket.overdrawn,
        ] {
            reply.integer(amount);
        }
    }
    list!(reply, "uncollected", account.uncollected.len());
    for uncollected in &account.uncollected {
        reply.array(2);
        reply.name(&uncollected.unit);
        reply.integer(uncollected.amount);
    }
}

/// Writes the answer to `SCUR.TOTALS`.
pub fn totals_map(reply: &mut Reply<'_>, totals: &Totals) {
    reply.map(3);
    word!(reply, "accounts");
    reply.unsigned(totals.accounts);
    word!(reply, "sessions");
    reply.unsigned(totals.sessions);
    list!(reply, "units", totals.units.len());
    for unit in &totals.units {
        reply.array(11);
        reply.name(&unit.unit);
        for amount in [
            unit.available,
            unit.held,
            unit.credited,
            unit.refunded,
            unit.consumed,
            unit.expired,
            unit.voided,
            unit.overdrawn,
            unit.uncollected,
            unit.in_transit,
        ] {
            reply.big(amount);
        }
    }
}
