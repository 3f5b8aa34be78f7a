//! TRANSFER and the steps in which the host carries it (docs/ledger.md section 17). A transfer is a session of the
//! payer that holds the amount; the host credits the payee, then settles the hold.

use super::balance::{answer_of, topup};
use super::draft::Draft;
use super::due::bury;
use super::session::{find, long_after, release_all, reserve};
use super::units::{Source, settle};
use super::{Outcome, Step, reject};
use crate::digest::CommandBody;
use crate::remembered::RECEIPT;
use crate::{
    Answer, BucketAttributes, Code, Id, ItemAnswers, ItemAt, ItemKey, ItemRequest, Name, Op,
    Rejection, RequestKind, RequestName, Session, SessionAt, SessionOptions, SessionRequest,
    Status, Time, Tombstone, TombstoneKind, Transaction, Transfer, TransferStep, UnitAmount,
};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

/// Key of the one item of a transfer: a limit of this item bounds what an account sends.
pub const TRANSFER_ITEM: &[u8] = b"transfer";
/// Name of the request of a transfer's one answer.
const REQUEST: RequestName = RequestName { number: 0, kind: RequestKind::Reserve };
/// Time after which the host tries a step again for the first time, ms. Each next time is twice as long.
const RETRY_MS_FIRST: i64 = 1_000;

/// When a receipt is forgotten: after the last moment of the clock, so not by itself.
pub(super) const KEPT: Time = Time(Time::LAST.0 + 1);

/// Returns the id under which a payee remembers a transfer: the length of the payer's id tells where the id of the
/// transfer begins. `None` if it is longer than an id can be.
pub fn receipt_id(payer: &[u8], transfer: &[u8]) -> Option<Id> {
    let mut id = Vec::from(RECEIPT);
    id.extend_from_slice(format!("{}:", payer.len()).as_bytes());
    id.extend_from_slice(payer);
    id.push(b':');
    id.extend_from_slice(transfer);
    Id::new(&id)
}

/// The step that a transfer needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferView<'a> {
    /// Account that is credited.
    pub payee: &'a [u8],
    /// Bucket of the payee.
    pub bucket: Name,
    /// Unit of the amount.
    pub unit: Name,
    /// Amount that is still held for the payee; 0 once the payee was credited and the hold was settled.
    pub in_transit: i64,
}

impl Session {
    /// Returns what a transfer holds and for whom; `None` for a charging session.
    pub fn transfer(&self) -> Option<TransferView<'_>> {
        if !self.terms.transfer {
            return None;
        }
        let end = self.blob.iter().position(|&byte| byte == b' ')?;
        let (payee, bucket) = (&self.blob[..end], Name::new(&self.blob[end + 1..])?);
        let item = self.items.first()?;
        Some(TransferView { payee, bucket, unit: item.unit, in_transit: item.outstanding() })
    }
}

const MISMATCH: &str = "the transfer id was used with another body: use a new one";
const SESSION_EXISTS: &str =
    "the id is that of a session of the account, open or ended: use another one for the transfer";

/// Holds the amount, as a RESERVE of a session with one item.
pub(super) fn begin(
    draft: &mut Draft<'_>,
    transfer: &Transfer<'_>,
    body: &CommandBody,
) -> Step<Outcome> {
    if let Some(known) = draft.account().tombstones.find(transfer.id)
        && let TombstoneKind::Returned { digest, refusal } = known.kind
    {
        if !body.is(digest) {
            return reject(Code::RequestMismatch, MISMATCH);
        }
        return Err(returned(refusal));
    }
    let Some(key) = ItemKey::new(TRANSFER_ITEM) else { return reject(Code::Invalid, "no item") };
    let amount = Some(transfer.amount);
    let item = ItemRequest { key, unit: transfer.unit, used: None, requested: amount, min: amount };
    let mut blob = transfer.payee.to_vec();
    blob.push(b' ');
    blob.extend_from_slice(transfer.bucket.as_bytes());
    let options = SessionOptions {
        transfer: true,
        overrun: Some(crate::Overrun::Held),
        validity_ms: Some(RETRY_MS_FIRST),
        tcc_ms: Some(RETRY_MS_FIRST),
        ..SessionOptions::default()
    };
    let (session, items, blob) = (transfer.id, &[item], Some(blob.as_slice()));
    let request = SessionRequest { session, request: REQUEST.number, options, blob, items };
    let outcome = reserve(draft, &request, body).map_err(|refused| match refused.code {
        Code::RequestMismatch => Rejection { why: MISMATCH, ..refused },
        Code::SessionExists => Rejection { why: SESSION_EXISTS, ..refused },
        _ => refused,
    })?;
    if let Outcome::Commit(Answer::Session { code: Code::Ok, .. }) = outcome {
        draft.record(Op::Transit(UnitAmount { unit: transfer.unit, amount: transfer.amount }));
    }
    Ok(outcome)
}

/// Returns the refusal of a transfer whose payee refused it.
fn returned(refusal: Code) -> Rejection {
    let why = "the payee refused the transfer with this code, and the amount has come back: \
               send it under a new id once the cause is gone";
    Rejection { code: refusal, why, bound: None, expired_ms: None }
}

/// Carries out a step of a transfer. A step that was taken before is a replay.
pub(super) fn carry(draft: &mut Draft<'_>, step: &TransferStep<'_>) -> Step<Outcome> {
    match *step {
        TransferStep::Receive { receipt, bucket, unit, amount } => {
            receive(draft, receipt, bucket, (unit, amount))
        }
        TransferStep::Settle { id } => settle_hold(draft, id),
        TransferStep::Forget { receipt } => {
            if draft.account().transactions.find(receipt).is_none() {
                return Ok(Outcome::Replay(done()));
            }
            draft.record(Op::ForgetReceipt(Id::new(receipt).unwrap_or(Id::EMPTY)));
            Ok(Outcome::Commit(done()))
        }
        TransferStep::Conclude { id, refusal } => conclude(draft, id, refusal),
    }
}

/// Returns the answer to every step but the first.
fn done() -> Answer {
    Answer::Session { code: Code::Ok, version: 0, items: ItemAnswers::new() }
}

/// Credits the payee as TOPUP does, and remembers the receipt until it is removed.
fn receive(
    draft: &mut Draft<'_>,
    receipt: &[u8],
    bucket: Name,
    (unit, amount): (Name, i64),
) -> Step<Outcome> {
    if let Some(known) = draft.account().transactions.find(receipt) {
        return Ok(Outcome::Replay(answer_of(&known)));
    }
    if draft.account().status == Status::Closed {
        return reject(Code::NotApplicable, "the account is closed: nothing is credited any more");
    }
    let done = topup(draft, bucket, amount, Some(unit), (&BucketAttributes::default(), &[]))?;
    let transaction = Transaction {
        id: Id::new(receipt).unwrap_or(Id::EMPTY),
        forget_at: KEPT,
        digest: 0,
        code: Code::Ok,
        version: draft.next_version(),
        amount: done.amount,
        cause: crate::Cause::None,
        parts: Vec::new(),
        items: Vec::new(),
    };
    let answer = answer_of(&transaction);
    draft.record(Op::Remember(Box::new(transaction)));
    Ok(Outcome::Commit(answer))
}

/// Finds the open transfer; `None` if it was concluded.
fn open(draft: &mut Draft<'_>, id: &[u8]) -> Option<SessionAt> {
    let place = find(draft, id)?;
    draft.account().sessions[place].terms.transfer.then(|| draft.name(place))
}

fn item(session: SessionAt) -> ItemAt {
    ItemAt { session, item: 0 }
}

/// Returns the unit and the amount that a transfer still holds.
fn held(draft: &Draft<'_>, at: SessionAt) -> UnitAmount {
    let item = draft.item(item(at));
    UnitAmount { unit: item.unit, amount: item.outstanding() }
}

fn settle_hold(draft: &mut Draft<'_>, id: &[u8]) -> Step<Outcome> {
    let Some(session) = open(draft, id).filter(|&at| held(draft, at).amount > 0) else {
        return Ok(Outcome::Replay(done()));
    };
    let UnitAmount { unit, amount } = held(draft, session);
    draft.name_item(item(session));
    settle(draft, item(session), amount, Source::OwnHold)?;
    draft.record(Op::Transit(UnitAmount { unit, amount: -amount }));
    let (validity_ms, tcc_ms) = (RETRY_MS_FIRST, RETRY_MS_FIRST);
    let deadline = draft.now.plus_ms(tcc_ms);
    draft.record(Op::Supervise { session, validity_ms, tcc_ms, deadline });
    Ok(Outcome::Commit(done()))
}

fn conclude(draft: &mut Draft<'_>, id: &[u8], refusal: Option<Code>) -> Step<Outcome> {
    let Some(at) = open(draft, id) else {
        return Ok(Outcome::Replay(done()));
    };
    let UnitAmount { unit, amount } = held(draft, at);
    let kind = match (refusal, draft.session(at).answers.stored(REQUEST)) {
        // What has arrived cannot come back, and what has not arrived cannot be concluded.
        (Some(_), _) if amount == 0 => return Ok(Outcome::Replay(done())),
        (None, _) if amount > 0 => return Ok(Outcome::Replay(done())),
        (Some(refusal), Some(answer)) => TombstoneKind::Returned { digest: answer.digest, refusal },
        (None, Some(answer)) => TombstoneKind::Answered {
            request: REQUEST,
            digest: answer.digest,
            code: answer.code,
            items: answer.items,
        },
        (_, None) => return reject(Code::Invalid, "the session has no answer"),
    };
    let (id, forget_at) = (draft.session(at).id.clone(), long_after(draft));
    release_all(draft, at);
    if amount > 0 {
        draft.record(Op::Transit(UnitAmount { unit, amount: -amount }));
    }
    bury(draft, Tombstone::new(id, forget_at, kind, None));
    Ok(Outcome::Commit(done()))
}
