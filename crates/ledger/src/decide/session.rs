//! RESERVE, UPDATE, TERMINATE, RELEASE (docs/ledger.md sections 4 to 10; RFC 8506 sections
//! 5.2 to 5.4 and 7, table 6).

use super::draft::Draft;
use super::due::bury;
use super::room::check_room;
use super::units::{GrantRequest, Source, grant, release_item, settle, settle_late};
use super::{Outcome, Step, late, limit, reject, transaction};
use crate::digest::CommandBody;
use crate::{
    Answer, Cause, Code, Denial, Final, Id, Item, ItemAnswer, ItemAnswers, ItemAt, ItemRequest,
    Name, Op, PackedAnswer, Rejection, RequestName, Session, SessionAt, SessionOptions,
    SessionRequest, Standing, Status, StoredAnswer, Time, Tombstone, TombstoneKind, WindowEntry,
};
use smallvec::SmallVec;

const UNKNOWN: &str = "no open session has this id: SCUR.RESERVE opens one";
const ENDED: &str =
    "the session has ended: report what it used with LATEUSE, and open another one under a new id";
const EXPIRED: &str = "report what it used with LATEUSE, and open another one under a new id";
const USED_UP: &str = "the session id was used and is remembered: use a new one";
const EXPIRED_ID: &str = "its id is used up: open another one under a new id, and report what this one used with LATEUSE";
const OUT_OF_WINDOW: &str = "the request number is below the window of stored answers: it was answered, \
     or is too old to tell; what was never settled can be reported under a new number";
const MISMATCH: &str = "the request number was used with another body: use a new number";

const TRANSFER: &str = "the session is a transfer to another account, which the store ends by itself: repeat \
     SCUR.TRANSFER to see whether it has arrived";

pub(super) fn reserve(
    draft: &mut Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
) -> Step<Outcome> {
    if let Some(open) = find(draft, request.session).map(|place| &draft.account().sessions[place]) {
        return match look_up(draft, open, request, body) {
            WindowEntry::Stored(answer) => replay(answer, body).map(Outcome::Replay),
            _ => reject(Code::SessionExists, "the session is open: use SCUR.UPDATE"),
        };
    }
    // A closed session answers only the duplicates that its tombstone remembers.
    if let Some(tombstone) = draft.account().tombstones.find(request.session) {
        return match tombstone.answer_to(body.name(request.request)) {
            Some(answer) => replay(answer, body).map(Outcome::Replay),
            None => ended(draft, &tombstone, Code::SessionExists, (EXPIRED_ID, USED_UP)),
        };
    }
    // The session id is new from here on.
    check_room(draft, 1)?;
    if draft.account().status != Status::Active {
        let items = deny_all(request, Code::ServiceDenied, Cause::Status, Final::No);
        return Ok(refuse(draft, request, body, Code::ServiceDenied, items));
    }
    if let Some((limit, last)) = limit::full_session_limit(draft.account(), draft.now) {
        let cause = Cause::Limit { id: limit, allowed_at: None };
        let code = Code::CreditLimitReached;
        let last = if request.options.transfer { Final::No } else { last };
        let mut items = deny_all(request, code, cause, last);
        // A request without items gets one answer for the whole of it, which names the limit.
        if items.is_empty() {
            items.push(ItemAnswer::denied(code, cause, Final::No));
        }
        return Ok(refuse(draft, request, body, code, items));
    }
    // CLOSEONDENIAL may have to undo grants, which takes a copy of the account. Without it only the opening is ever
    // undone, when nothing was granted.
    let before = draft.mark_if(request.options.close_on_denial);
    let at = open(draft, request);
    let mut items = ItemAnswers::with_capacity(request.items.len());
    for index in 0..request.items.len() {
        if index >= draft.session(at).items.len() {
            items.push(deny_for_room(0));
            continue;
        }
        let position = draft.item_at(at, index);
        let answer = grant_listed(draft, position, request, index)?;
        note_standing(draft, position, &answer);
        items.push(answer);
    }
    let denied = items.iter().filter(|item| item.code != Code::Ok).count();
    let all_denied = denied > 0 && denied == items.len();
    if (all_denied && !request.options.keep_open) || (denied > 0 && request.options.close_on_denial)
    {
        match before {
            Some(before) => draft.roll_back(before),
            None => draft.unopen(at),
        }
        undo_grants(&mut items);
        return Ok(refuse(draft, request, body, Code::CreditLimitReached, items));
    }
    let code = if all_denied { Code::CreditLimitReached } else { Code::Ok };
    supervise(draft, at, request);
    Ok(Outcome::Commit(store(draft, at, request, body, code, items)))
}

fn open(draft: &mut Draft<'_>, request: &SessionRequest<'_>) -> SessionAt {
    let id = Id::new(request.session).unwrap_or(Id::EMPTY);
    let terms = request.options.terms(draft.limits.overrun_default);
    let at = draft.open(id, terms);
    for item in request.items.iter().take(draft.limits.session_items_max) {
        draft.record(Op::AddItem { session: at, key: item.key, unit: item.unit });
    }
    at
}

/// Refuses a RESERVE, which opens no session; the answer is remembered under the session's id.
fn refuse(
    draft: &mut Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
    code: Code,
    items: ItemAnswers,
) -> Outcome {
    note_denials(draft, request, &items);
    store_answered_tombstone(draft, request, body, (code, None), &items);
    Outcome::Commit(Answer::Session { code, version: 0, items })
}

pub(super) fn update(
    draft: &mut Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
) -> Step<Outcome> {
    let (at, below) = match find_for(draft, request, body)? {
        Found::Replay(answer) => return Ok(Outcome::Replay(answer)),
        Found::Gone => return late::settle(draft, request, body, Code::Ok),
        Found::Unknown => return unknown(draft, request.session),
        Found::Open { at, below } => (at, below),
    };
    let positions = find_or_add_items(draft, at, request);
    let mut items = ItemAnswers::with_capacity(positions.len());
    for (&position, item) in positions.iter().zip(request.items) {
        let source = |draft: &Draft<'_>, at| source_of_use(draft, at, (request, item), below);
        let uncollected = settle_listed(draft, at, (position, item), source)?;
        items.push(ItemAnswer::settled(uncollected));
    }
    // Use is settled whatever the status is; only grants depend on it.
    if draft.account().status != Status::Active {
        for item in &mut items {
            (item.code, item.cause) = (Code::ServiceDenied, Cause::Status);
        }
        return Ok(close(draft, at, request, body, Code::ServiceDenied, items));
    }
    let before = draft.mark_if(request.options.close_on_denial);
    for (index, &position) in positions.iter().enumerate() {
        let asks = request.items[index].requested.unwrap_or(0) > 0;
        let Some(position) = position else {
            if asks && !below {
                items[index] = deny_for_room(items[index].uncollected);
            }
            continue;
        };
        if asks && !is_late(draft, position, request, below) {
            let held = draft.mark_if(request.options.keep_hold);
            if held.is_some() {
                release_item(draft, position, draft.now);
            }
            let granted = grant_listed(draft, position, request, index)?;
            if let Some(held) = held
                && granted.code != Code::Ok
            {
                draft.roll_back(held);
            }
            note_standing(draft, position, &granted);
            items[index] = ItemAnswer { uncollected: items[index].uncollected, ..granted };
        }
    }
    let denied = items.iter().filter(|item| item.code != Code::Ok).count();
    if let Some(before) = before
        && denied > 0
    {
        draft.roll_back(before);
        undo_grants(&mut items);
        return Ok(close(draft, at, request, body, Code::CreditLimitReached, items));
    }
    // The whole UPDATE is denied only if every item that asked for units was denied.
    let asked = request.items.iter().filter(|item| item.requested.unwrap_or(0) > 0).count();
    let code = if denied > 0 && denied == asked { Code::CreditLimitReached } else { Code::Ok };
    supervise(draft, at, request);
    Ok(Outcome::Commit(store(draft, at, request, body, code, items)))
}

pub(super) fn terminate(
    draft: &mut Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
) -> Step<Outcome> {
    let at = match find_for(draft, request, body)? {
        Found::Replay(answer) => return Ok(Outcome::Replay(answer)),
        Found::Gone => return late::settle(draft, request, body, Code::Ok),
        Found::Unknown => return cancel(draft, request, body, Code::Ok),
        Found::Open { at, .. } => at,
    };
    let positions = find_or_add_items(draft, at, request);
    let mut items = ItemAnswers::with_capacity(positions.len());
    for listed in positions.into_iter().zip(request.items) {
        let uncollected = settle_listed(draft, at, listed, |_, _| Source::OwnHold)?;
        items.push(ItemAnswer::settled(uncollected));
    }
    Ok(close(draft, at, request, body, Code::Ok, items))
}

/// Carries out a RESERVE that its chain denies.
pub(super) fn deny_reserve(
    draft: &mut Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
) -> Outcome {
    let items = deny_all(request, Code::ChainDenied, Cause::Chain, Final::No);
    if !request.options.keep_open {
        return refuse(draft, request, body, Code::ChainDenied, items);
    }
    let at = open(draft, request);
    supervise(draft, at, request);
    Outcome::Commit(store(draft, at, request, body, Code::ChainDenied, items))
}

/// Carries out an UPDATE or a TERMINATE that its chain denies: the use is settled, and the session stays open.
pub(super) fn deny_report(
    draft: &mut Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
    is_update: bool,
) -> Step<Outcome> {
    let (at, below) = match find_for(draft, request, body)? {
        Found::Replay(answer) => return Ok(Outcome::Replay(answer)),
        Found::Gone => return late::settle(draft, request, body, Code::ChainDenied),
        Found::Unknown => return cancel(draft, request, body, Code::ChainDenied),
        Found::Open { at, below } => (at, below),
    };
    let positions = find_or_add_items(draft, at, request);
    let mut items = ItemAnswers::with_capacity(positions.len());
    for (position, item) in positions.into_iter().zip(request.items) {
        let source = |draft: &Draft<'_>, at| match is_update {
            true => source_of_use(draft, at, (request, item), below),
            false => Source::OwnHold,
        };
        let uncollected = settle_listed(draft, at, (position, item), source)?;
        let (code, cause) = (Code::ChainDenied, Cause::Chain);
        items.push(ItemAnswer { code, cause, ..ItemAnswer::settled(uncollected) });
    }
    supervise(draft, at, request);
    Ok(Outcome::Commit(store(draft, at, request, body, Code::ChainDenied, items)))
}

pub(super) fn release(
    draft: &mut Draft<'_>,
    (session, txn): (&[u8], Option<&[u8]>),
    cancels: bool,
    body: &CommandBody,
) -> Step<Outcome> {
    let answer = Answer::Session { code: Code::Ok, version: 0, items: ItemAnswers::new() };
    if let Some(known) = txn.and_then(|txn| draft.account().transactions.find(txn)) {
        transaction::check_body(&known, body)?;
        return Ok(Outcome::Replay(answer));
    }
    let Some(place) = find(draft, session) else {
        return match draft.account().tombstones.find(session) {
            Some(Tombstone { kind: TombstoneKind::Released, .. }) => Ok(Outcome::Replay(answer)),
            None if cancels => {
                check_room(draft, 0)?;
                check_room_for_transaction(draft, txn)?;
                let (id, forget_at) = (Id::new(session).unwrap_or(Id::EMPTY), long_after(draft));
                // No number: the session has answered none.
                bury(draft, Tombstone::new(id, forget_at, TombstoneKind::Released, None));
                remember_release(draft, txn, body);
                Ok(Outcome::Commit(answer))
            }
            _ => unknown(draft, session),
        };
    };
    if draft.account().sessions[place].terms.transfer {
        return reject(Code::NotApplicable, TRANSFER);
    }
    check_room_for_transaction(draft, txn)?;
    let at = draft.name(place);
    let Session { id, answers, .. } = draft.session(at);
    let (id, last) = (id.clone(), answers.last());
    release_all(draft, at);
    let forget_at =
        if cancels { long_after(draft) } else { draft.now.plus_ms(draft.limits.tombstone_ms) };
    bury(draft, Tombstone::new(id, forget_at, TombstoneKind::Released, last));
    remember_release(draft, txn, body);
    Ok(Outcome::Commit(answer))
}

/// Checks that there is room for the transaction id of a RELEASE, if it has one.
fn check_room_for_transaction(draft: &Draft<'_>, txn: Option<&[u8]>) -> Step<()> {
    txn.map_or(Ok(()), |_| transaction::check_room(draft))
}

/// Remembers a RELEASE that has a transaction id.
fn remember_release(draft: &mut Draft<'_>, txn: Option<&[u8]>, body: &CommandBody) {
    if let Some(txn) = txn {
        transaction::remember(draft, txn, body, transaction::BalanceOutcome::ok(0));
    }
}

/// The open session that a request is for, or the answer to a duplicate.
enum Found {
    Open {
        at: SessionAt,
        /// Whether the number is new but below the window.
        below: bool,
    },
    Replay(Answer),
    /// No open session has the id, and the request reports late use.
    Gone,
    /// The id is unknown, and the request cancels its session.
    Unknown,
}

/// Does steps 1 to 3 of UPDATE and TERMINATE: finds the session, answers duplicates, checks IFVERSION.
fn find_for(
    draft: &mut Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
) -> Step<Found> {
    let Some(place) = find(draft, request.session) else {
        return match replay_closed(draft, request, body)? {
            Some(answer) => Ok(Found::Replay(answer)),
            None if late::is_reported(request) => Ok(Found::Gone),
            None if is_cancel(draft, request) => Ok(Found::Unknown),
            None => unknown(draft, request.session),
        };
    };
    let session = &draft.account().sessions[place];
    if session.terms.transfer {
        return reject(Code::NotApplicable, TRANSFER);
    }
    let below = match look_up(draft, session, request, body) {
        WindowEntry::Stored(answer) => return replay(answer, body).map(Found::Replay),
        WindowEntry::Below => return reject(Code::OutOfWindow, OUT_OF_WINDOW),
        WindowEntry::Late => true,
        WindowEntry::New => false,
    };
    // After the search for duplicates: a retry with its old IFVERSION still gets its stored answer.
    if request.options.if_version.is_some_and(|version| version != session.version) {
        return reject(
            Code::VersionConflict,
            "the session has another version: read it with SCUR.SESSION",
        );
    }
    Ok(Found::Open { at: draft.name(place), below })
}

/// Reports whether the request cancels a session that is unknown, and reports no use of it.
fn is_cancel(draft: &Draft<'_>, request: &SessionRequest<'_>) -> bool {
    request.options.cancel
        && draft.account().tombstones.find(request.session).is_none()
        && request.items.iter().all(|item| item.used.unwrap_or(0) == 0)
}

/// Ends a session that is unknown: its id is used up.
#[cold]
fn cancel(
    draft: &mut Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
    code: Code,
) -> Step<Outcome> {
    check_room(draft, 0)?;
    let settled = ItemAnswer { code, cause: Cause::of(code), ..ItemAnswer::settled(0) };
    let items: ItemAnswers = request.items.iter().map(|_| settled).collect();
    store_answered_tombstone(draft, request, body, (code, None), &items);
    Ok(Outcome::Commit(Answer::Session { code, version: 0, items }))
}

/// Refuses a command to a session that is not open.
#[cold]
fn unknown<T>(draft: &Draft<'_>, session: &[u8]) -> Step<T> {
    match draft.account().tombstones.find(session) {
        None | Some(Tombstone { kind: TombstoneKind::Unknown, .. }) => {
            reject(Code::UnknownSession, UNKNOWN)
        }
        Some(tombstone) => ended(draft, &tombstone, Code::UnknownSession, (EXPIRED, ENDED)),
    }
}

/// Refuses a command to a session that has ended: with the first text if it is known when the session expired.
#[cold]
fn ended<T>(
    draft: &Draft<'_>,
    tombstone: &Tombstone,
    code: Code,
    (expired, otherwise): (&'static str, &'static str),
) -> Step<T> {
    let expired_ms = expired_ms(draft, tombstone);
    let why = if expired_ms.is_some() { expired } else { otherwise };
    Err(Rejection { code, why, bound: None, expired_ms })
}

/// Returns how long ago the session expired, or `None` if it cannot be told. Late use makes the store remember the
/// session for longer, and a changed `tombstone_ms` can put the result out of its range.
fn expired_ms(draft: &Draft<'_>, tombstone: &Tombstone) -> Option<i64> {
    let is_told = tombstone.kind == TombstoneKind::Expired && tombstone.late.is_empty();
    let kept_ms = draft.limits.tombstone_ms;
    let left_ms = tombstone.forget_at.0.checked_sub(draft.now.0)?;
    kept_ms.checked_sub(left_ms).filter(|ago_ms| is_told && (0..=kept_ms).contains(ago_ms))
}

fn look_up(
    draft: &Draft<'_>,
    session: &Session,
    request: &SessionRequest<'_>,
    body: &CommandBody,
) -> WindowEntry {
    let name = body.name(request.request);
    session.answers.look_up(name, draft.limits.answers_max, session.version)
}

/// Returns the position of an open session in the account's order.
pub(super) fn find(draft: &Draft<'_>, session: &[u8]) -> Option<usize> {
    draft.account().sessions.iter().position(|open| open.id.as_bytes() == session)
}

/// Returns the stored answer if the body is the same, else `REQUEST_MISMATCH`.
fn replay(answer: StoredAnswer, body: &CommandBody) -> Step<Answer> {
    if !body.is(answer.digest) {
        return reject(Code::RequestMismatch, MISMATCH);
    }
    let StoredAnswer { code, version, items, .. } = answer;
    Ok(Answer::Session { code, version, items })
}

/// Returns the stored answer to a duplicate of the request that closed a session, or of late use.
fn replay_closed(
    draft: &Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
) -> Step<Option<Answer>> {
    let Some(tombstone) = draft.account().tombstones.find(request.session) else {
        return Ok(None);
    };
    let stored = tombstone.answer_to(body.name(request.request));
    stored.map(|answer| replay(answer, body)).transpose()
}

/// Returns the stored answer to this very body, if there is one.
pub(super) fn stored(
    draft: &Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
) -> Option<Answer> {
    let Some(place) = find(draft, request.session) else {
        return replay_closed(draft, request, body).ok().flatten();
    };
    match look_up(draft, &draft.account().sessions[place], request, body) {
        WindowEntry::Stored(answer) => replay(answer, body).ok(),
        WindowEntry::New | WindowEntry::Late | WindowEntry::Below => None,
    }
}

/// Reports whether an UPDATE settles the use of an item from `available` only.
#[inline]
fn is_late(draft: &Draft<'_>, at: ItemAt, request: &SessionRequest<'_>, below: bool) -> bool {
    below || draft.item(at).last_grant.is_some_and(|last| request.request < last)
}

/// Returns where an UPDATE takes the use of one of its items from.
#[inline]
fn source_of_use(
    draft: &Draft<'_>,
    at: ItemAt,
    (request, item): (&SessionRequest<'_>, &ItemRequest),
    below: bool,
) -> Source {
    if is_late(draft, at, request, below) {
        Source::AvailableOnly
    } else if request.options.keep_hold && item.requested.unwrap_or(0) > 0 {
        Source::OwnHoldKept
    } else {
        Source::OwnHold
    }
}

/// Positions in the session of a request's items, in the order of the request. `None` for an item that the session does
/// not have and has no room for.
type ItemPositions = SmallVec<[Option<ItemAt>; 4]>;

/// Finds the items that a request lists, and adds those that the session does not have, as far as it has room.
fn find_or_add_items(
    draft: &mut Draft<'_>,
    at: SessionAt,
    request: &SessionRequest<'_>,
) -> ItemPositions {
    let session = draft.session(at);
    let (known, mut len) = (session.items.as_slice(), session.item_count());
    // A client lists its items in the same order each time: the next one is most often after the one before.
    let mut next = 0;
    let find = |item: &ItemRequest| {
        let is_it = |known: &Item| known.key == item.key && known.unit == item.unit;
        let after = known[next..].iter().position(is_it).map(|place| next + place);
        let found = after.or_else(|| known[..next].iter().position(is_it))?;
        next = found + 1;
        Some(draft.item_at(at, found))
    };
    let mut positions: ItemPositions = request.items.iter().map(find).collect();
    for (position, item) in positions.iter_mut().zip(request.items) {
        match *position {
            Some(known) => draft.name_item(known),
            None if len < draft.limits.session_items_max => {
                let added = ItemAt { session: at, item: u8::try_from(len).unwrap_or(u8::MAX) };
                *position = Some(added);
                draft.add_item(added, item.key, item.unit);
                len += 1;
            }
            None => {}
        }
    }
    positions
}

/// Settles the use of an item that a request lists. Of an item for which the session has no room it is debited as late use
/// is. Returns the amount that could not be debited.
fn settle_listed(
    draft: &mut Draft<'_>,
    session: SessionAt,
    (position, item): (Option<ItemAt>, &ItemRequest),
    source: impl FnOnce(&Draft<'_>, ItemAt) -> Source,
) -> Step<i64> {
    match position {
        Some(position) => {
            let source = source(draft, position);
            settle(draft, position, item.used.unwrap_or(0), source)
        }
        None => {
            let overrun = draft.session(session).terms.overrun;
            settle_late(draft, item, overrun)
        }
    }
}

/// Denies an item for which the session has no room.
fn deny_for_room(uncollected: i64) -> ItemAnswer {
    let denied = ItemAnswer::denied(Code::CreditLimitReached, Cause::Items, Final::No);
    ItemAnswer { uncollected, ..denied }
}

fn grant_listed(
    draft: &mut Draft<'_>,
    at: ItemAt,
    request: &SessionRequest<'_>,
    index: usize,
) -> Step<ItemAnswer> {
    let item = &request.items[index];
    let asked = GrantRequest {
        requested: item.requested.unwrap_or(0),
        min: item.min.unwrap_or(1).max(1),
        request: request.request,
    };
    let answer = grant(draft, at, asked)?;
    // The answer of a transfer, which is all or nothing, does not tell it.
    let last = if request.options.transfer { Final::No } else { answer.last };
    Ok(ItemAnswer { last, ..answer })
}

/// Records what an item's request for units got, if it was not all.
#[inline]
fn note_standing(draft: &mut Draft<'_>, at: ItemAt, answer: &ItemAnswer) {
    let standing = match (answer.code, answer.last) {
        (Code::CreditLimitReached, _) => Standing::Denied,
        (_, Final::Last) => Standing::Final,
        (_, Final::Held) => Standing::FinalHeld,
        (_, Final::No) => Standing::Granted,
    };
    if draft.item(at).standing != standing {
        draft.record(Op::FallShort(at, standing));
    }
}

/// Records the denied items of an answer for readers of the log.
fn note_denials(draft: &mut Draft<'_>, request: &SessionRequest<'_>, items: &[ItemAnswer]) {
    if items.iter().all(|item| item.code == Code::Ok) {
        return;
    }
    let denials = items.iter().enumerate().filter(|(_, answer)| answer.code != Code::Ok);
    draft.note_denials(denials.map(|(at, answer)| {
        let asked = request.items.get(at);
        Denial {
            item: asked.map(|item| item.key),
            unit: asked.map_or(Name::EMPTY, |item| item.unit),
            requested: asked.and_then(|item| item.requested).unwrap_or(0),
            code: answer.code,
            cause: answer.cause,
            left_out: 0,
        }
    }));
}

fn deny_all(request: &SessionRequest<'_>, code: Code, cause: Cause, last: Final) -> ItemAnswers {
    let denied = ItemAnswer::denied(code, cause, last);
    request.items.iter().map(|_| denied).collect()
}

/// Sets the grants of items to 0 that were granted before another item was denied.
fn undo_grants(items: &mut [ItemAnswer]) {
    for item in items.iter_mut().filter(|item| item.code == Code::Ok) {
        item.granted = 0;
        item.last = Final::No;
    }
}

fn supervise(draft: &mut Draft<'_>, session: SessionAt, request: &SessionRequest<'_>) {
    let known = draft.session(session);
    let opening = known.version == 0;
    // Without VALIDITY a RESERVE takes the default, and an UPDATE keeps the session's.
    let validity_ms = request.options.validity_ms.unwrap_or(if opening {
        draft.limits.validity_ms_default
    } else {
        known.validity_ms
    });
    // A new validity without TCC makes Tcc twice that, within the bound.
    let tcc_ms = match request.options.tcc_ms {
        Some(tcc_ms) => tcc_ms,
        None if opening || request.options.validity_ms.is_some() => {
            validity_ms.saturating_mul(2).min(draft.limits.tcc_ms_max)
        }
        None => known.tcc_ms,
    };
    let deadline = draft.now.plus_ms(tcc_ms);
    draft.record(Op::Supervise { session, validity_ms, tcc_ms, deadline });
    if let Some(blob) = request.blob {
        draft.record(Op::SetBlob(session, blob.to_vec()));
    }
}

fn store(
    draft: &mut Draft<'_>,
    session: SessionAt,
    request: &SessionRequest<'_>,
    body: &CommandBody,
    code: Code,
    items: ItemAnswers,
) -> Answer {
    note_denials(draft, request, &items);
    let version = draft.session(session).version;
    let name = body.name(request.request);
    let answer = PackedAnswer::from_parts(name, body.digest(), (code, version), &items);
    let answers_max = u8::try_from(draft.limits.answers_max).unwrap_or(u8::MAX);
    draft.record(Op::StoreAnswer { session, answer, answers_max });
    Answer::Session { code, version, items }
}

pub(super) fn release_all(draft: &mut Draft<'_>, at: SessionAt) {
    draft.name_identities();
    for index in 0..draft.session(at).items.len() {
        let item = draft.item_at(at, index);
        if !draft.item(item).slices.is_empty() {
            draft.name_item(item);
            release_item(draft, item, draft.now);
        }
    }
    draft.record(Op::CloseSession(at));
}

fn close(
    draft: &mut Draft<'_>,
    at: SessionAt,
    request: &SessionRequest<'_>,
    body: &CommandBody,
    code: Code,
    items: ItemAnswers,
) -> Outcome {
    // The tombstone needs this name only if it is after that of the closing request.
    let name = body.name(request.request);
    let last = draft.session(at).answers.last().filter(|last| *last > name);
    note_denials(draft, request, &items);
    release_all(draft, at);
    store_answered_tombstone(draft, request, body, (code, last), &items);
    Outcome::Commit(Answer::Session { code, version: 0, items })
}

fn store_answered_tombstone(
    draft: &mut Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
    (code, last): (Code, Option<RequestName>),
    items: &[ItemAnswer],
) {
    let kind = TombstoneKind::Answered {
        request: body.name(request.request),
        digest: body.digest(),
        code,
        items: ItemAnswers::from_slice(items),
    };
    let id = Id::new(request.session).unwrap_or(Id::EMPTY);
    let SessionOptions { late_use, cancel, transfer, .. } = request.options;
    let forget_at = if late_use || cancel || transfer {
        // After a shorter time a repetition would count as late use, so the use would be debited twice.
        long_after(draft)
    } else {
        draft.now.plus_ms(draft.limits.tombstone_ms)
    };
    bury(draft, Tombstone::new(id, forget_at, kind, last));
}

/// Returns when a session is forgotten that a late report or a late RESERVE may still name.
pub(super) fn long_after(draft: &Draft<'_>) -> Time {
    draft.now.plus_ms(draft.limits.tombstone_ms.max(draft.limits.transaction_ms))
}
