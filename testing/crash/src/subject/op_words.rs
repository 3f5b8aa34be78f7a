//! Commands of the model as requests.

use crate::wire::{Words, words};
use scurry_ledger::{BucketAttributes, Counted, ItemAmount, ItemRequest, LimitTerms};
use scurry_model::{ChainOp, Op, Request};
use std::fmt::Write as _;

/// The request that asks for this.
pub fn words_of(account: &str, op: &Op) -> Words {
    words(&line(account, op))
}

/// The request that asks for this chain.
pub(super) fn words_of_chain(chain: &ChainOp) -> Words {
    let mut request = words("SCUR.CHAIN");
    for (account, op) in chain {
        let mut command = words_of(account, op);
        command.remove(1);
        request.extend([account.clone().into_bytes(), command.len().to_string().into_bytes()]);
        request.append(&mut command);
    }
    request
}

fn line(id: &str, op: &Op) -> String {
    match op {
        Op::Create { buckets, .. } => {
            let mut line = format!("SCUR.CREATE {id}");
            for new in buckets {
                let (bucket, unit) = (new.bucket.as_str(), new.unit.as_str());
                put(&mut line, format_args!(" BUCKET {bucket} {unit} {}", new.amount));
                attributes(&mut line, &new.attributes);
            }
            line
        }
        Op::Status { status, .. } => format!("SCUR.STATUS {id} {}", status.name()),
        Op::Delete { force } => {
            format!("SCUR.DELETE {id}{}", if *force { " FORCE" } else { "" })
        }
        Op::TopUp { txn, bucket, amount, .. } => {
            format!("SCUR.TOPUP {id} {txn} {} {amount}", bucket.as_str())
        }
        Op::Adjust { txn, bucket, amount } => {
            format!("SCUR.ADJUST {id} {txn} {} {amount}", bucket.as_str())
        }
        Op::Bucket { txn, bucket, with, .. } => {
            let mut line = format!("SCUR.BUCKET {id} {txn} {}", bucket.as_str());
            attributes(&mut line, with);
            line
        }
        Op::Debit { txn, unit, amount } => {
            format!("SCUR.DEBIT {id} {txn} {} {amount}", unit.as_str())
        }
        Op::DebitItems { txn, items } => {
            format!("SCUR.DEBIT {id} {txn}{}", item_amounts(items))
        }
        Op::RefundItems { txn, debit, items } => {
            format!("SCUR.REFUND {id} {txn} {debit}{}", item_amounts(items))
        }
        Op::Refund { txn, debit, amount } => {
            let amount = amount.map(|amount| format!(" {amount}")).unwrap_or_default();
            format!("SCUR.REFUND {id} {txn} {debit}{amount}")
        }
        Op::Counter { txn, counter, amount, .. } => {
            format!("SCUR.COUNTER {id} {txn} {} {amount}", counter.as_str())
        }
        Op::Limit { txn, limit, terms } => {
            let mut line = format!("SCUR.LIMIT {id} {txn} {}", limit.as_str());
            terms_of(&mut line, terms);
            line
        }
        Op::Reserve(of) => request(id, "SCUR.RESERVE", of),
        Op::Update(of) => request(id, "SCUR.UPDATE", of),
        Op::Terminate(of) => request(id, "SCUR.TERMINATE", of),
        Op::Release { session } => format!("SCUR.RELEASE {id} {session}"),
    }
}

fn terms_of(line: &mut String, terms: &LimitTerms) {
    let LimitTerms::Set { counted, amount, period, offset_minutes } = terms else {
        return put(line, format_args!(" REMOVE"));
    };
    match counted {
        Counted::Sessions => put(line, format_args!(" SESSIONS")),
        Counted::Units { unit, item } => {
            put(line, format_args!(" UNIT {}", unit.as_str()));
            if let Some(key) = item {
                put(line, format_args!(" ITEM {key}"));
            }
        }
    }
    if let Some(period) = period {
        put(line, format_args!(" PERIOD {}", period.name()));
    }
    if let Some(minutes) = offset_minutes {
        put(line, format_args!(" OFFSET {minutes}"));
    }
    put(line, format_args!(" AMOUNT {amount}"));
}

fn request(id: &str, name: &str, of: &Request) -> String {
    let mut line = format!("{name} {id} {} {}", of.session, of.request);
    if let Some(blob) = &of.blob {
        put(&mut line, format_args!(" DATA {}", String::from_utf8_lossy(blob)));
    }
    for ItemRequest { key, unit, used, requested, .. } in &of.items {
        put(&mut line, format_args!(" ITEM {key} {}", unit.as_str()));
        for (word, amount) in [("USED", used), ("REQUESTED", requested)] {
            if let Some(amount) = amount {
                put(&mut line, format_args!(" {word} {amount}"));
            }
        }
    }
    line
}

fn attributes(line: &mut String, with: &BucketAttributes) {
    if let Some(priority) = with.priority {
        put(line, format_args!(" PRIORITY {priority}"));
    }
    if let Some(floor) = with.floor {
        put(line, format_args!(" FLOOR {floor}"));
    }
}

fn item_amounts(items: &[ItemAmount]) -> String {
    let mut line = String::new();
    for ItemAmount { key, unit, amount } in items {
        put(&mut line, format_args!(" ITEM {key} {} {amount}", unit.as_str()));
    }
    line
}

fn put(line: &mut String, text: std::fmt::Arguments<'_>) {
    line.write_fmt(text).expect("a string takes everything");
}
