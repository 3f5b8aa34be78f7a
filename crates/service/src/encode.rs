//! Encodes requests and reads as RESP commands. This is the only encoder of SCUR commands for programs. docs/commands.md has the
//! grammar.

use crate::request::{command_name, with_links};
use crate::{
    Arguments, Follow, FollowFrom, ListRead, Read, Request, StatementRead, StoreRead, WatchStart,
};
use scurry_ledger::{
    BucketAttributes, Command, Create, Cycle, DebtRule, Id, ItemAmount, ItemKey, LimitSubject,
    LimitTerms, Link, Name, NamedZone, Period, PeriodClock, SessionRequest, Status, Time, Transfer,
    WindowTerms,
};

impl Request {
    /// Returns the request as a RESP command.
    pub fn arguments(&self) -> Arguments {
        match self {
            Request::Write(write) => write.command.with(|command| encode(&write.account, command)),
            Request::Chain(links) => with_links(links, encode_chain),
            Request::Read(read) => encode_read(self.command_name(), read),
        }
    }
}

impl StoreRead {
    /// Returns the read as the RESP command to one server.
    pub fn arguments(&self) -> Arguments {
        let mut out = Arguments::new(self.command_name());
        match self {
            StoreRead::Totals | StoreRead::Ready => {}
            StoreRead::List(ListRead { cursor, count, prefix, status }) => {
                out.push_display(cursor.within)
                    .number("COUNT", Some(count))
                    .option("PREFIX", prefix.as_ref())
                    .option("STATUS", status.map(Status::name));
            }
            StoreRead::Find { kind, value, session } => {
                out.push(kind.as_bytes()).push(value.as_bytes());
                out.option("SESSION", session.as_ref().map(Id::as_bytes));
            }
            StoreRead::Statement(statement) => {
                let StatementRead { account, from, to, unit, transaction, session, .. } = statement;
                let StatementRead { count, cursor, newest_first, .. } = statement;
                out.push(account)
                    .number("FROM", from.map(|time| time.0))
                    .number("TO", to.map(|time| time.0))
                    .option("UNIT", unit.as_ref().map(Name::as_bytes))
                    .option("TRANSACTION", transaction.as_ref().map(Id::as_bytes))
                    .option("SESSION", session.as_ref().map(Id::as_bytes))
                    .number("COUNT", *count)
                    .number("CURSOR", *cursor)
                    .flag("REV", *newest_first);
            }
            StoreRead::Bounds => {
                out.push("GET").push("*-max");
            }
        }
        out
    }

    fn command_name(&self) -> &'static str {
        match self {
            StoreRead::Totals => "SCUR.TOTALS",
            StoreRead::List(_) => "SCUR.LIST",
            StoreRead::Find { .. } => "SCUR.FIND",
            StoreRead::Statement(_) => "SCUR.STATEMENT",
            StoreRead::Bounds => "CONFIG",
            StoreRead::Ready => "PING",
        }
    }
}

impl Follow {
    /// Returns the read as a RESP command.
    pub fn arguments(&self) -> Arguments {
        let (start, thread) = match self.from {
            FollowFrom::Oldest(thread) => (WatchStart::Oldest, thread),
            FollowFrom::Newest(thread) => (WatchStart::Newest, thread),
            FollowFrom::At(position) => (WatchStart::At(position), position.thread),
        };
        let mut out = Arguments::new("SCUR.WATCH");
        out.push_display(start).number("THREAD", Some(thread)).number("COUNT", Some(self.count));
        for name in &self.names {
            out.push("EVENT").push(name);
        }
        out
    }
}

/// Encodes one command to an account.
pub fn encode(account: &[u8], command: &Command<'_>) -> Arguments {
    let mut out = Arguments::new(command_name(command));
    out.push(account);
    append(&mut out, command);
    out
}

/// Encodes a chain as one `SCUR.CHAIN` command.
pub fn encode_chain(links: &[Link<'_>]) -> Arguments {
    let mut out = Arguments::new("SCUR.CHAIN");
    for Link { account, command } in links {
        // A link is the account, the number of words that follow for it, the command's name, and its other arguments.
        let mut rest = Arguments::default();
        append(&mut rest, command);
        out.push(account).push_display(rest.len() + 1).push(command_name(command));
        rest.iter().for_each(|argument| {
            out.push(argument);
        });
    }
    out
}

fn encode_read(name: &str, read: &Read) -> Arguments {
    let mut out = Arguments::new(name);
    out.push(read.account());
    match read {
        Read::Account { .. } | Read::Audit { .. } => {}
        Read::Session { session, .. } => {
            out.push(session);
        }
        Read::Check { unit, item, amount, .. } => {
            out.push(unit.as_bytes()).push_display(amount);
            append_keys(&mut out, item.iter().copied());
        }
        Read::Holds { after, count, .. } => {
            out.push("COUNT").push_display(count);
            out.option("AFTER", Some(after).filter(|after| !after.is_empty()));
        }
        Read::Transaction { txn, .. } => {
            out.push(txn);
        }
    }
    out
}

/// Appends the arguments after the account.
fn append(out: &mut Arguments, command: &Command<'_>) {
    match *command {
        Command::Create(create @ Create { txn, status, identities, buckets, keys: _ }) => {
            // Accounts are active unless the command says otherwise.
            out.option("TXN", txn);
            out.option("STATUS", (status != Status::Active).then(|| status.name()));
            append_identities(out, identities);
            for (index, bucket) in buckets.iter().enumerate() {
                out.push("BUCKET").push(bucket.bucket.as_bytes()).push(bucket.unit.as_bytes());
                out.push_display(bucket.amount);
                append_attributes(out, &bucket.attributes);
                append_keys(out, create.keys_of(index));
            }
        }
        Command::Status { txn, status, identities } => {
            out.push(status.name()).option("TXN", txn);
            append_identities(out, identities);
        }
        Command::Delete { force, if_txn } => {
            out.flag("FORCE", force).option("IFTXN", if_txn);
        }
        Command::TopUp { txn, bucket, amount, unit, attributes, keys } => {
            out.push(txn).push(bucket.as_bytes()).push_display(amount);
            out.option("UNIT", unit.as_ref().map(Name::as_bytes));
            append_attributes(out, &attributes);
            append_keys(out, keys.iter().copied());
        }
        Command::Adjust { txn, bucket, amount } => {
            out.push(txn).push(bucket.as_bytes()).push_display(amount);
        }
        Command::Bucket { txn, bucket, attributes, keys, remove } => {
            out.push(txn).push(bucket.as_bytes()).flag("REMOVE", remove);
            append_attributes(out, &attributes);
            out.flag("ANYITEM", keys.is_some_and(<[ItemKey]>::is_empty));
            append_keys(out, keys.unwrap_or(&[]).iter().copied());
        }
        Command::Debit { txn, unit, amount } => {
            out.push(txn).push(unit.as_bytes()).push_display(amount);
        }
        Command::DebitItems { txn, items } => {
            out.push(txn);
            append_amounts(out, items);
        }
        Command::RefundItems { txn, debit, items, carry } => {
            out.push(txn).push(debit).flag("CARRY", carry);
            append_amounts(out, items);
        }
        Command::Refund { txn, debit, amount, carry } => {
            out.push(txn).push(debit).flag("CARRY", carry);
            amount.iter().for_each(|amount| {
                out.push_display(amount);
            });
        }
        Command::Counter { txn, counter, amount, unit, period, clock } => {
            out.push(txn).push(counter.as_bytes()).push_display(amount);
            out.option("UNIT", unit.as_ref().map(Name::as_bytes));
            append_period(out, period, &clock);
        }
        Command::Limit { txn, limit, terms } => {
            out.push(txn).push(limit.as_bytes());
            append_terms(out, &terms);
        }
        Command::Transfer(Transfer { payer: _, id, unit, amount, payee, bucket }) => {
            out.push(id).push(unit.as_bytes()).push_display(amount);
            out.push(payee).push(bucket.as_bytes());
        }
        Command::Carry(_) => unreachable!("a store carries its transfers by itself"),
        Command::Reserve(request) | Command::Update(request) | Command::Terminate(request) => {
            append_session(out, &request);
        }
        Command::Release { session, txn, cancel } => {
            out.push(session).flag("CANCEL", cancel).option("TXN", txn);
        }
    }
}

fn append_identities(out: &mut Arguments, identities: &[(Name, &[u8])]) {
    for (kind, value) in identities {
        out.push("IDENTITY").push(kind.as_bytes()).push(value);
    }
}

fn append_keys(out: &mut Arguments, keys: impl Iterator<Item = ItemKey>) {
    for key in keys {
        out.push("ITEM").push_display(key);
    }
}

fn append_attributes(out: &mut Arguments, attributes: &BucketAttributes) {
    let BucketAttributes {
        priority,
        valid_from,
        valid_to,
        floor,
        mark,
        period,
        clock,
        refill,
        rollover,
        debt,
    } = *attributes;
    out.number("PRIORITY", priority).number("FROM", valid_from.map(|time| time.0));
    match valid_to {
        Some(Some(Time(ms))) => out.number("TO", Some(ms)),
        Some(None) => out.push("TO").push("none"),
        None => out,
    };
    out.number("FLOOR", floor);
    match mark {
        Some(Some(mark)) => out.number("MARK", Some(mark)),
        Some(None) => out.push("MARK").push("none"),
        None => out,
    };
    append_period(out, period, &clock);
    out.number("AMOUNT", refill)
        .number("ROLLOVER", rollover)
        .option("DEBT", debt.map(DebtRule::word));
}

fn append_period(out: &mut Arguments, period: Option<Period>, clock: &PeriodClock) {
    let PeriodClock { offset_minutes, zone, begin } = *clock;
    out.option("PERIOD", period.map(|period| period.to_string()))
        .number("OFFSET", offset_minutes)
        .option("ZONE", zone.map(NamedZone::name))
        .option("BEGIN", begin.map(begin_word));
}

fn begin_word(begin: u8) -> String {
    match begin {
        Cycle::FIRST_USE => Cycle::FIRST_USE_WORD.to_owned(),
        begin => begin.to_string(),
    }
}

fn append_amounts(out: &mut Arguments, items: &[ItemAmount]) {
    for ItemAmount { key, unit, amount } in items {
        append_key(out.push("ITEM"), key);
        out.push(unit.as_bytes()).push_display(amount);
    }
}

fn append_key(out: &mut Arguments, key: &ItemKey) {
    match key {
        ItemKey::Number(number) => out.push_display(number),
        ItemKey::Id(id) => out.push(id.as_bytes()),
    };
}

fn append_terms(out: &mut Arguments, terms: &LimitTerms) {
    match *terms {
        LimitTerms::Remove => {
            out.push("REMOVE");
        }
        LimitTerms::Set { counted, amount, window } => {
            match counted {
                LimitSubject::Sessions => {
                    out.push("SESSIONS");
                }
                LimitSubject::Units { unit, item } => {
                    out.push("UNIT").push(unit.as_bytes());
                    item.iter().for_each(|key| append_key(out.push("ITEM"), key));
                }
            }
            append_window(out, window);
            out.number("AMOUNT", Some(amount));
        }
    }
}

fn append_window(out: &mut Arguments, window: WindowTerms) {
    match window {
        WindowTerms::Period { period, clock } => append_period(out, period, &clock),
        WindowTerms::Rolling { span_ms } => {
            out.option("ROLLING", Some(format!("{span_ms}ms")));
        }
        WindowTerms::Rate { span_ms, burst } => {
            out.option("RATE", Some(format!("{span_ms}ms"))).number("BURST", burst);
        }
    }
}

fn append_session(out: &mut Arguments, request: &SessionRequest<'_>) {
    // Durations carry their unit: the server refuses a short number without one, because it may be meant in seconds.
    let ms = |duration: Option<i64>| duration.map(|ms| format!("{ms}ms"));
    let options = &request.options;
    out.push(request.session)
        .push_display(request.request)
        .number("IFVERSION", options.if_version)
        .option("VALIDITY", ms(options.validity_ms))
        .option("TCC", ms(options.tcc_ms))
        .option("OVERRUN", options.overrun.map(scurry_ledger::Overrun::name))
        .flag("CLOSEONDENIAL", options.close_on_denial)
        .flag("KEEPOPEN", options.keep_open)
        .flag("KEEPHOLD", options.keep_hold)
        .flag("CANCEL", options.cancel)
        .flag("LATEUSE", options.late_use)
        .option("DATA", request.blob);
    for item in request.items {
        append_key(out.push("ITEM"), &item.key);
        out.push(item.unit.as_bytes())
            .number("USED", item.used)
            .number("REQUESTED", item.requested)
            .number("MIN", item.min);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ListCursor, Position};

    #[test]
    fn a_status_is_written_where_it_is_not_the_usual_one() {
        let words = |status| {
            let create = Create { status, ..Create::active(&[]) };
            let arguments = encode(b"a", &Command::Create(create));
            arguments.iter().map(<[u8]>::to_vec).collect::<Vec<_>>().join(&b' ')
        };
        assert_eq!(words(Status::Active), b"SCUR.CREATE a");
        assert_eq!(words(Status::Suspended), b"SCUR.CREATE a STATUS suspended");
    }

    fn joined(arguments: &Arguments) -> String {
        arguments.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_option_is_written_once_and_only_if_it_is_set() {
        let list = |prefix, status| {
            let cursor = ListCursor { server: 3, within: 7 };
            joined(&StoreRead::List(ListRead { cursor, count: 100, prefix, status }).arguments())
        };
        assert_eq!(list(None, None), "SCUR.LIST 7 COUNT 100");
        let all = list(Some(b"a:".to_vec()), Some(Status::Closed));
        assert_eq!(all, "SCUR.LIST 7 COUNT 100 PREFIX a: STATUS closed");
        let plain = StatementRead {
            account: b"a".to_vec(),
            from: None,
            to: None,
            unit: None,
            transaction: None,
            session: None,
            count: None,
            cursor: None,
            newest_first: false,
        };
        assert_eq!(joined(&StoreRead::Statement(plain.clone()).arguments()), "SCUR.STATEMENT a");
        let full = StatementRead {
            from: Some(Time(1)),
            to: Some(Time(2)),
            unit: Name::new(b"cent"),
            transaction: Id::new(b"t"),
            session: Id::new(b"s"),
            count: Some(3),
            cursor: Position::parse(b"1.0:4-5"),
            newest_first: true,
            ..plain
        };
        let full = joined(&StoreRead::Statement(full).arguments());
        let expected = "SCUR.STATEMENT a FROM 1 TO 2 UNIT cent TRANSACTION t SESSION s COUNT 3 CURSOR 1.0:4-5 REV";
        assert_eq!(full, expected);
    }

    #[test]
    fn a_read_names_its_thread() {
        let position = Position::parse(b"1.7:3").expect("a position");
        for (from, words) in [
            (FollowFrom::Oldest(2), "SCUR.WATCH 0 THREAD 2 COUNT 5"),
            (FollowFrom::Newest(0), "SCUR.WATCH $ THREAD 0 COUNT 5"),
            (FollowFrom::At(position), "SCUR.WATCH 1.7:3 THREAD 7 COUNT 5"),
        ] {
            let mut follow = Follow { from, count: 5, names: Vec::new() };
            assert_eq!(joined(&follow.arguments()), words);
            follow.names = vec!["credited", "status"];
            let words = format!("{words} EVENT credited EVENT status");
            assert_eq!(joined(&follow.arguments()), words);
        }
    }
}
