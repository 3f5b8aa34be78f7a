//! Replies of RESP2 or RESP3 as the ledger's own types: the one decoder of SCUR replies for programs, with
//! `decode_store.rs` for reads of a whole store. docs/commands.md has the shapes.

use crate::reader::{
    Reader, bytes, cause, code, each, field, integer, key, list, or_nil, status, text, unsigned,
};
use redis::{ServerError, Value};
use scurry_ledger::{
    Answer, Cause, Checked, Code, Command, Cycle, DebtRule, Final, Id, ItemAnswer, LimitSubject,
    Name, Overrun, Standing, Time, UnitAmount,
};
use scurry_service::{
    AccountView, AllowanceView, Answered, AuditView, BalanceView, BucketTotals, BucketView,
    CallError, CommandBuf, CounterView, FormerIdentityView, HoldView, HoldsView, ItemView,
    LimitView, PartView, Read, Refusal, Reply, Request, SessionRow, SessionView, TransactionView,
};

/// Reads the reply to a request.
///
/// # Errors
/// When the store refused the request, or the reply has another shape than the request's.
pub fn decode(request: &Request, value: &Value) -> Result<Reply, CallError> {
    if let Value::ServerError(error) = value {
        return Err(refusal(error).into());
    }
    let reply = match request {
        Request::Write(write) => answered(&write.command, value).map(Reply::Answer),
        Request::Chain(links) => {
            let commands: Vec<&CommandBuf> = links.iter().map(|link| &link.command).collect();
            chain(&commands, value).map(Reply::Chain)
        }
        Request::Read(Read::Account { .. }) => account(value).map(Box::new).map(Reply::Account),
        Request::Read(Read::Session { .. }) => session(value).map(Box::new).map(Reply::Session),
        Request::Read(Read::Audit { .. }) => audit(value).map(Box::new).map(Reply::Audit),
        Request::Read(Read::Check { .. }) => checked(value).map(Reply::Checked),
        Request::Read(Read::Holds { .. }) => holds(value).map(Box::new).map(Reply::Holds),
        Request::Read(Read::Transaction { .. }) => {
            transaction(value).map(Box::new).map(Reply::Transaction)
        }
    };
    reply.ok_or(CallError::WrongShape)
}

/// Reads an error: a rejection of the ledger is `CODE number why`.
pub(crate) fn refusal(error: &ServerError) -> Refusal {
    let (name, details) = (error.code(), error.details().unwrap_or_default());
    match Code::ALL.iter().find(|code| code.name() == name) {
        Some(code) => {
            let why = details.split_once(' ').map_or(details, |(_, why)| why).to_owned();
            Refusal::Rejected { code: *code, why }
        }
        None => Refusal::Store(format!("{name} {details}")),
    }
}

fn answered(command: &CommandBuf, value: &Value) -> Option<Answered> {
    let mut reader = Reader::from_value(value)?;
    command.with(|command| match command {
        Command::Create(_) | Command::Status { .. } | Command::Delete { .. } => {
            let answer = Answer::Account { code: reader.code()?, version: reader.unsigned()? };
            // Only the answer to a command with a transaction id says it.
            let replayed = reader.flag().unwrap_or(false);
            Some(Answered { answer, replayed, keys: [].into_iter().collect() })
        }
        Command::Reserve(_)
        | Command::Update(_)
        | Command::Terminate(_)
        | Command::Release { .. } => session_answer(&mut reader),
        Command::Transfer(_) => transfer_answer(&mut reader),
        Command::Carry(_) => None,
        Command::TopUp { .. }
        | Command::Adjust { .. }
        | Command::Bucket { .. }
        | Command::Debit { .. }
        | Command::DebitItems { .. }
        | Command::RefundItems { .. }
        | Command::Refund { .. }
        | Command::Counter { .. }
        | Command::Limit { .. } => {
            let (code, replayed) = (reader.code()?, reader.flag()?);
            let (version, amount) = (reader.unsigned()?, reader.integer()?);
            let answer = Answer::Amount { code, version, amount, cause: reader.cause(code)? };
            Some(Answered { answer, replayed, keys: [].into_iter().collect() })
        }
    })
}

fn session_answer(reader: &mut Reader<'_>) -> Option<Answered> {
    let (code, replayed, version) = (reader.code()?, reader.flag()?, reader.unsigned()?);
    let rows = each(reader.value()?, |item| {
        let (key, code) = (item.key()?, item.code()?);
        let (granted, last) = (item.integer()?, Final::from_number(item.integer()?)?);
        let uncollected = item.integer()?;
        let cause = item.cause(code)?;
        Some((key, ItemAnswer { code, granted, last, uncollected, cause }))
    })?;
    let (keys, mut items): (_, scurry_ledger::ItemAnswers) = rows.into_iter().unzip();
    if let cause @ Cause::Limit { .. } = reader.cause(code)? {
        // A request without items that a limit denies: the limit is that of the whole.
        items.push(ItemAnswer { code, granted: 0, last: Final::No, uncollected: 0, cause });
    }
    Some(Answered { answer: Answer::Session { code, version, items }, replayed, keys })
}

/// Reads the answer to a TRANSFER: an open session, with version 1, is in transit.
fn transfer_answer(reader: &mut Reader<'_>) -> Option<Answered> {
    let (code, replayed, granted) = (reader.code()?, reader.flag()?, reader.integer()?);
    let version = match text(reader.value()?)? {
        "in_transit" => 1,
        "arrived" | "denied" => 0,
        _ => return None,
    };
    let cause = reader.cause(code)?;
    let items = [ItemAnswer { code, granted, last: Final::No, uncollected: 0, cause }].into();
    let answer = Answer::Session { code, version, items };
    Some(Answered { answer, replayed, keys: [].into_iter().collect() })
}

fn chain(commands: &[&CommandBuf], value: &Value) -> Option<Vec<Answered>> {
    let mut reader = Reader::from_value(value)?;
    let (_, replayed, _) = (reader.code()?, reader.flag()?, reader.integer()?);
    let answers = list(reader.value()?)?;
    if answers.len() != commands.len() {
        return None;
    }
    let each = commands.iter().zip(answers);
    each.map(|(command, value)| Some(Answered { replayed, ..answered(command, value)? })).collect()
}

fn checked(value: &Value) -> Option<Checked> {
    let mut reader = Reader::from_value(value)?;
    let (code, amount) = (reader.code()?, reader.integer()?);
    Some(Checked { code, amount, cause: reader.cause(code)? })
}

fn account(map: &Value) -> Option<AccountView> {
    Some(AccountView {
        status: status(field(map, "status")?)?,
        version: unsigned(field(map, "version")?)?,
        identities: each(field(map, "identities")?, |pair| Some((pair.name()?, pair.id()?)))?,
        buckets: buckets(map)?,
        bucket_items: match field(map, "bucket_items") {
            None => Vec::new(),
            Some(items) => each(items, |row| Some((row.name()?, row.key()?)))?,
        },
        counters: each(field(map, "counters")?, |counter| {
            let (id, unit, value) = (counter.name()?, counter.name()?, counter.integer()?);
            let (period, resets_at) = (counter.period()?, counter.time_or_nil()?);
            let cycle = counter.counter_zone(Cycle::fixed(period, 0))?;
            Some(CounterView { id, unit, value, cycle: counter.begin(cycle)?, resets_at })
        })?,
        limits: each(field(map, "limits")?, limit)?,
        sessions: each(field(map, "sessions")?, |session| {
            Some(SessionRow {
                id: session.id()?,
                version: session.unsigned()?,
                deadline: session.time()?,
                opened: session.time()?,
                active: session.time()?,
            })
        })?,
        // Few accounts have any.
        former_identities: match field(map, "former_identities") {
            None => Vec::new(),
            Some(former) => each(former, |former| {
                let (kind, value) = (former.name()?, former.id()?);
                Some(FormerIdentityView { kind, value, forget_at: former.time()? })
            })?,
        },
    })
}

/// Reads the buckets with their marks, which are an entry of their own.
fn buckets(map: &Value) -> Option<Vec<BucketView>> {
    let mut buckets = each(field(map, "buckets")?, bucket)?;
    if let Some(marks) = field(map, "bucket_marks") {
        for (id, mark) in each(marks, |row| Some((row.name()?, row.integer()?)))? {
            buckets.iter_mut().find(|bucket| bucket.id == id)?.mark = Some(mark);
        }
    }
    Some(buckets)
}

fn bucket(row: &mut Reader<'_>) -> Option<BucketView> {
    Some(BucketView {
        id: row.name()?,
        unit: row.name()?,
        available: row.integer()?,
        held: row.integer()?,
        floor: row.integer()?,
        priority: i32::try_from(row.integer()?).ok()?,
        valid_from: row.time()?,
        valid_to: row.time_or_nil()?,
        mark: None,
        allowance: match row.value() {
            None => None,
            Some(value) => {
                let mut row = Reader::from_value(value)?;
                let (cycle, amount) = (row.cycle()?, row.integer()?);
                let refills_at = row.time_or_nil()?;
                let cycle = row.begin(cycle)?;
                let (rollover, debt, owed) = refill_terms(&mut row)?;
                Some(AllowanceView { cycle, amount, refills_at, rollover, debt, owed })
            }
        },
    })
}

/// Reads the further terms of an allowance, which end its entry where it has them.
fn refill_terms(row: &mut Reader<'_>) -> Option<(i64, DebtRule, i64)> {
    let Some(rollover) = row.value() else { return Some((0, DebtRule::Net, 0)) };
    let debt = DebtRule::new(bytes(row.value()?)?)?;
    Some((integer(rollover)?, debt, row.integer()?))
}

fn limit(row: &mut Reader<'_>) -> Option<LimitView> {
    let id = row.name()?;
    let unit = row.value()?;
    let item = row.value()?;
    let counted = match (unit, item) {
        (Value::Nil, _) => LimitSubject::Sessions,
        (unit, Value::Nil) => LimitSubject::Units { unit: Name::new(bytes(unit)?)?, item: None },
        (unit, item) => {
            LimitSubject::Units { unit: Name::new(bytes(unit)?)?, item: Some(key(item)?) }
        }
    };
    let mut limit = LimitView {
        id,
        counted,
        amount: row.integer()?,
        used: row.integer()?,
        held: row.integer()?,
        left: row.integer()?,
        overrun: row.integer()?,
        window: row.window()?,
        resets_at: row.time_or_nil()?,
    };
    limit.window = row.rest_of_window(limit.window)?;
    Some(limit)
}

fn session(map: &Value) -> Option<SessionView> {
    let account = account(map)?;
    let map = field(map, "session")?;
    let last_request = match field(map, "last_request")? {
        Value::Nil => None,
        value => Some(u32::try_from(integer(value)?).ok()?),
    };
    Some(SessionView {
        account,
        row: SessionRow {
            id: Id::new(bytes(field(map, "id")?)?)?,
            version: unsigned(field(map, "version")?)?,
            deadline: Time(integer(field(map, "deadline")?)?),
            opened: Time(integer(field(map, "opened")?)?),
            active: Time(integer(field(map, "active")?)?),
        },
        validity_ms: integer(field(map, "validity")?)?,
        tcc_ms: integer(field(map, "tcc")?)?,
        overrun: Overrun::named(bytes(field(map, "overrun")?)?)?,
        last_request,
        blob: bytes(field(map, "data")?)?.to_vec(),
        items: each(field(map, "items")?, |item| {
            Some(ItemView {
                key: item.key()?,
                unit: item.name()?,
                granted: item.integer()?,
                outstanding: item.integer()?,
                used: item.integer()?,
                from_hold: item.integer()?,
                direct: item.integer()?,
                released: item.integer()?,
                uncollected: item.integer()?,
                standing: Standing::named(bytes(item.value()?)?)?,
            })
        })?,
    })
}

fn holds(map: &Value) -> Option<HoldsView> {
    Some(HoldsView {
        version: unsigned(field(map, "version")?)?,
        buckets: each(field(map, "buckets")?, |row| {
            let (id, unit) = (row.name()?, row.name()?);
            Some(BalanceView { id, unit, available: row.integer()?, held: row.integer()? })
        })?,
        holds: each(field(map, "holds")?, |row| {
            Some(HoldView {
                session: row.id()?,
                key: row.key()?,
                unit: row.name()?,
                bucket: row.name()?,
                amount: row.integer()?,
                deadline: row.time()?,
                opened: row.time()?,
                active: row.time()?,
            })
        })?,
        next: or_nil(field(map, "next")?, |next| Id::new(bytes(next)?))?,
    })
}

fn transaction(map: &Value) -> Option<TransactionView> {
    let code = code(field(map, "code")?)?;
    Some(TransactionView {
        code,
        version: unsigned(field(map, "version")?)?,
        amount: integer(field(map, "amount")?)?,
        cause: or_nil(field(map, "cause")?, cause)?.unwrap_or(Cause::of(code)),
        forget_at: Time(integer(field(map, "forget_at")?)?),
        parts: each(field(map, "parts")?, |row| {
            let bucket = or_nil(row.value()?, |name| Name::new(bytes(name)?))?;
            let unit = or_nil(row.value()?, |name| Name::new(bytes(name)?))?;
            let (amount, refunded) = (row.integer()?, row.integer()?);
            let item = or_nil(row.value()?, key)?;
            Some(PartView { bucket: bucket.zip(unit), amount, refunded, item })
        })?,
    })
}

fn audit(map: &Value) -> Option<AuditView> {
    Some(AuditView {
        ok: integer(field(map, "ok")?)? == 1,
        version: unsigned(field(map, "version")?)?,
        buckets: each(field(map, "buckets")?, |row| {
            Some(BucketTotals {
                id: row.name()?,
                unit: row.name()?,
                available: row.integer()?,
                held: row.integer()?,
                credited: row.integer()?,
                refunded: row.integer()?,
                consumed: row.integer()?,
                expired: row.integer()?,
                voided: row.integer()?,
                overdrawn: row.integer()?,
            })
        })?,
        uncollected: each(field(map, "uncollected")?, |row| {
            Some(UnitAmount { unit: row.name()?, amount: row.integer()? })
        })?,
    })
}
