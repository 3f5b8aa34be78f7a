//! Encodes requests as RESP commands. This is the only encoder of SCUR commands for programs. docs/commands.md has the
//! grammar.

use crate::request::{command_name, with_links};
use crate::{Arguments, Read, Request};
use scurry_ledger::{
    BucketAttributes, Command, Create, ItemAmount, ItemKey, LimitSubject, LimitTerms, Link, Name,
    SessionRequest, Status, Time,
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
        Read::Check { unit, amount, .. } => {
            out.push(unit.as_bytes()).push_display(amount);
        }
    }
    out
}

/// Appends the arguments after the account.
fn append(out: &mut Arguments, command: &Command<'_>) {
    match *command {
        Command::Create(Create { txn, status, identities, buckets }) => {
            // Accounts are active unless the command says otherwise.
            out.option("TXN", txn);
            out.option("STATUS", (status != Status::Active).then(|| status.name()));
            append_identities(out, identities);
            for bucket in buckets {
                out.push("BUCKET").push(bucket.bucket.as_bytes()).push(bucket.unit.as_bytes());
                out.push_display(bucket.amount);
                append_attributes(out, &bucket.attributes);
            }
        }
        Command::Status { txn, status, identities } => {
            out.push(status.name()).option("TXN", txn);
            append_identities(out, identities);
        }
        Command::Delete { force } => {
            out.flag("FORCE", force);
        }
        Command::TopUp { txn, bucket, amount, unit, attributes } => {
            out.push(txn).push(bucket.as_bytes()).push_display(amount);
            out.option("UNIT", unit.as_ref().map(Name::as_bytes));
            append_attributes(out, &attributes);
        }
        Command::Adjust { txn, bucket, amount } => {
            out.push(txn).push(bucket.as_bytes()).push_display(amount);
        }
        Command::Bucket { txn, bucket, attributes, remove } => {
            out.push(txn).push(bucket.as_bytes()).flag("REMOVE", remove);
            append_attributes(out, &attributes);
        }
        Command::Debit { txn, unit, amount } => {
            out.push(txn).push(unit.as_bytes()).push_display(amount);
        }
        Command::DebitItems { txn, items } => {
            out.push(txn);
            append_amounts(out, items);
        }
        Command::RefundItems { txn, debit, items } => {
            out.push(txn).push(debit);
            append_amounts(out, items);
        }
        Command::Refund { txn, debit, amount } => {
            out.push(txn).push(debit);
            amount.iter().for_each(|amount| {
                out.push_display(amount);
            });
        }
        Command::Counter { txn, counter, amount, unit, period } => {
            out.push(txn).push(counter.as_bytes()).push_display(amount);
            out.option("UNIT", unit.as_ref().map(Name::as_bytes));
            out.option("PERIOD", period.map(scurry_ledger::Period::name));
        }
        Command::Limit { txn, limit, terms } => {
            out.push(txn).push(limit.as_bytes());
            append_terms(out, &terms);
        }
        Command::Reserve(request) | Command::Update(request) | Command::Terminate(request) => {
            append_session(out, &request);
        }
        Command::Release { session } => {
            out.push(session);
        }
    }
}

fn append_identities(out: &mut Arguments, identities: &[(Name, &[u8])]) {
    for (kind, value) in identities {
        out.push("IDENTITY").push(kind.as_bytes()).push(value);
    }
}

fn append_attributes(out: &mut Arguments, attributes: &BucketAttributes) {
    let BucketAttributes { priority, valid_from, valid_to, floor, period, offset_minutes, refill } =
        *attributes;
    out.number("PRIORITY", priority).number("FROM", valid_from.map(|time| time.0));
    match valid_to {
        Some(Some(Time(ms))) => out.number("TO", Some(ms)),
        Some(None) => out.push("TO").push("none"),
        None => out,
    };
    out.number("FLOOR", floor)
        .option("PERIOD", period.map(scurry_ledger::Period::name))
        .number("OFFSET", offset_minutes)
        .number("AMOUNT", refill);
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
        LimitTerms::Set { counted, amount, period, offset_minutes } => {
            match counted {
                LimitSubject::Sessions => {
                    out.push("SESSIONS");
                }
                LimitSubject::Units { unit, item } => {
                    out.push("UNIT").push(unit.as_bytes());
                    item.iter().for_each(|key| append_key(out.push("ITEM"), key));
                }
            }
            out.option("PERIOD", period.map(scurry_ledger::Period::name))
                .number("OFFSET", offset_minutes)
                .number("AMOUNT", Some(amount));
        }
    }
}

fn append_session(out: &mut Arguments, request: &SessionRequest<'_>) {
    // Durations carry their unit: the server refuses a short number without one, because it may be meant in seconds.
    let ms = |duration: Option<i64>| duration.map(|ms| format!("{ms}ms"));
    out.push(request.session)
        .push_display(request.request)
        .number("IFVERSION", request.if_version)
        .option("VALIDITY", ms(request.validity_ms))
        .option("TCC", ms(request.tcc_ms))
        .option("OVERRUN", request.overrun.map(scurry_ledger::Overrun::name))
        .flag("CLOSEONDENIAL", request.close_on_denial)
        .flag("KEEPOPEN", request.keep_open)
        .flag("LATEUSE", request.late_use)
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
}
