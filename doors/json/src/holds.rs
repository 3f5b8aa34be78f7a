//! Open holds of an account, and what is remembered of a transaction: builds the requests and reads the replies.

use crate::answer::{
    Answer, AnswerBody, BalanceBody, HoldBody, HoldsBody, PartBody, TransactionBody,
};
use crate::answers_from_replies::{amount, id, integer, name, shown, why};
use crate::build::{account, count_of};
use crate::input::Input;
use crate::text::{Id, Key};
use scurry_http::Problem;
use scurry_service::{HoldView, PartView, Read, Reply, Request};

/// Most sessions of an answer, as in SCUR.HOLDS.
pub(crate) const HOLDS_MAX: i64 = scurry_resp::COUNT_MAX as i64;
/// Default number of sessions of an answer.
const HOLDS: u16 = 100;

pub(crate) fn build(input: &Input) -> Result<Request, Problem> {
    let [limit, cursor] = input.query(["limit", "cursor"])?;
    let cursor = cursor.map(|cursor| input.parameter("cursor", Some(cursor)));
    let after: Option<Id> = cursor.transpose()?;
    let after = after.map_or(Vec::new(), Id::into_bytes);
    let count = count_of(input, limit, HOLDS_MAX)?.unwrap_or(HOLDS);
    Ok(Request::Read(Read::Holds { account: account(input)?.into_bytes(), after, count }))
}

pub(crate) fn read(reply: Reply) -> Option<Answer> {
    let Reply::Holds(view) = reply else { return None };
    let buckets = view.buckets.iter().map(|bucket| BalanceBody {
        bucket: name(bucket.id),
        unit: name(bucket.unit),
        available: amount(bucket.available),
        held: amount(bucket.held),
    });
    shown(AnswerBody::Holds(HoldsBody {
        version: integer(view.version),
        buckets: buckets.collect(),
        holds: view.holds.iter().map(hold).collect(),
        cursor: view.next.as_ref().map(id),
    }))
}

fn hold(hold: &HoldView) -> HoldBody {
    HoldBody {
        session: id(&hold.session),
        key: Key(hold.key),
        unit: name(hold.unit),
        bucket: name(hold.bucket),
        amount: amount(hold.amount),
        deadline_ms: hold.deadline.0,
        opened_ms: hold.opened.0,
        active_ms: hold.active.0,
    }
}

pub(crate) fn build_transaction(input: &Input) -> Result<Request, Problem> {
    let txn: Id = input.text("transaction")?;
    let account = account(input)?.into_bytes();
    Ok(Request::Read(Read::Transaction { account, txn: txn.into_bytes() }))
}

pub(crate) fn read_transaction(reply: Reply) -> Option<Answer> {
    let Reply::Transaction(view) = reply else { return None };
    shown(AnswerBody::Transaction(TransactionBody {
        code: view.code.name(),
        version: integer(view.version),
        amount: amount(view.amount),
        why: why(view.cause),
        forget_at_ms: view.forget_at.0,
        parts: view.parts.iter().map(part).collect(),
    }))
}

fn part(part: &PartView) -> PartBody {
    PartBody {
        bucket: part.bucket.map(|(bucket, _)| name(bucket)),
        unit: part.bucket.map(|(_, unit)| name(unit)),
        amount: amount(part.amount),
        refunded: amount(part.refunded),
        item: part.item.map(Key),
    }
}
