//! Sections 5, 6, 9 and 10, RESERVE, UPDATE, TERMINATE and RELEASE, and section 4 for them.

use super::body::asked;
use super::state::{Closed, End, Session, State};
use super::{Context, Refusal, id, money, require};
use crate::name;
use scurry_ledger::{
    Answer, Cause, Code, Final, ItemAnswer, ItemAnswers, ItemRequest, Limits, SessionRequest,
    SessionTerms, Standing, Status,
};
use std::collections::BTreeSet;

type Request<'a> = SessionRequest<'a>;

/// Returns the options that a session keeps.
fn terms(request: &Request<'_>, limits: &Limits) -> SessionTerms {
    let overrun = request.options.overrun.unwrap_or(limits.overrun_default);
    SessionTerms { overrun, transfer: request.options.transfer }
}

/// Checks the fields that RESERVE, UPDATE and TERMINATE share. Returns the session id.
fn fields(context: Context<'_>, request: &Request<'_>) -> Result<String, Code> {
    let session = id(request.session)?;
    let limits = context.limits;
    require(request.items.len() <= limits.items_max, Code::Invalid)?;
    let keys: BTreeSet<(String, &str)> =
        request.items.iter().map(|item| (item.key.to_string(), item.unit.as_str())).collect();
    require(keys.len() == request.items.len(), Code::Invalid)?;
    for duration in [request.options.validity_ms, request.options.tcc_ms].into_iter().flatten() {
        require((1..=limits.tcc_ms_max).contains(&duration), Code::Invalid)?;
    }
    require(request.blob.is_none_or(|blob| blob.len() <= limits.blob_len_max), Code::Invalid)?;
    Ok(session)
}

/// Looks up a request of a session that is not open in its tombstone. `otherwise` is the code for a request that is not
/// stored there.
fn look_up_tombstone(
    state: &State,
    context: Context<'_>,
    session: &str,
    request: u32,
    body: &str,
    otherwise: Code,
) -> Result<(), Refusal> {
    let Some(closed) = state.tombstones(context.now).find(|closed| closed.id == session) else {
        return Ok(());
    };
    let closing = match &closed.end {
        End::Request(request, same, answer) => Some((request, same, answer)),
        End::Expired(_) | End::Released(_) | End::Unknown | End::Returned(..) => None,
    };
    let late = closed.late.iter().map(|(request, same, answer)| (request, same, answer));
    let request = asked(request, body);
    let stored = closing.into_iter().chain(late).find(|stored| *stored.0 == request);
    Err(match stored {
        Some((_, same, answer)) if same == body => Refusal::Replay(answer.clone()),
        Some(_) => Code::RequestMismatch.into(),
        None => otherwise.into(),
    })
}

/// Settles use of a session that is not open, where no answer to the request is stored (section 9).
fn late_use(
    state: &mut State,
    context: Context<'_>,
    request: &Request<'_>,
    body: String,
    code: Code,
) -> Result<Answer, Refusal> {
    let (now, limits) = (context.now, context.limits);
    let own = asked(request.request, &body);
    let session = id(request.session)?;
    let known = state.tombstones(now).find(|closed| closed.id == session);
    let answered = known.and_then(|closed| closed.highest);
    // A request at or below the highest one that was answered may have been answered before.
    require(answered.is_none_or(|highest| own > highest), Code::OutOfWindow)?;
    // With as many stored answers above it, its own answer could not be stored.
    let above = |closed: &Closed| closed.late.iter().filter(|late| late.0 > own).count();
    require(known.is_none_or(|closed| above(closed) < limits.answers_max), Code::OutOfWindow)?;
    // A new tombstone needs room.
    if known.is_none() {
        room_for_id(state, context)?;
    }
    let overrun = terms(request, limits).overrun;
    let mut uncollected = vec![];
    for item in request.items {
        let amount = money::settle_late(state, item, overrun, now)?;
        uncollected.push(i64::try_from(amount).map_err(|_| Code::Overflow)?);
    }
    let items = all_items(code, &uncollected);
    let answer = Answer::Session { code, version: 0, items };
    let forget = now.saturating_add(limits.transaction_ms);
    let is_it = |closed: &&mut Closed| closed.id == session && closed.forget > now;
    let closed = match state.closed.iter_mut().find(is_it) {
        Some(closed) => closed,
        None => {
            let (id, end) = (session.clone(), End::Unknown);
            state.closed.push(Closed { id, forget, end, highest: None, late: vec![] });
            state.closed.last_mut().ok_or(Code::UnknownSession)?
        }
    };
    closed.forget = closed.forget.max(forget);
    closed.late.push((own, body, answer.clone()));
    closed.late.sort_by_key(|late| late.0);
    // Keep the highest answers. A dropped request raises the bound below which requests are refused.
    while closed.late.len() > limits.answers_max {
        let lowest = closed.late.remove(0).0;
        closed.highest = closed.highest.max(Some(lowest));
    }
    Ok(answer)
}

/// Closes a session that has given back its slices.
pub(super) fn close(state: &mut State, context: Context<'_>, session: &str, end: End, long: bool) {
    let mut highest = state.sessions.remove(session).and_then(|session| session.highest());
    if let End::Request(request, ..) = &end {
        highest = highest.max(Some(*request));
    }
    let Limits { tombstone_ms, transaction_ms, .. } = *context.limits;
    // A session of which late use, or the RESERVE after a cancel, may come is remembered as long as a transaction.
    let remembered = if long { tombstone_ms.max(transaction_ms) } else { tombstone_ms };
    let forget = context.now.saturating_add(remembered);
    state.closed.push(Closed { id: session.to_string(), forget, end, highest, late: vec![] });
}

/// Returns the same answer for all items, with the uncollected amount of each.
fn all_items(code: Code, uncollected: &[i64]) -> ItemAnswers {
    let cause = match code {
        Code::ServiceDenied => Cause::Status,
        Code::ChainDenied => Cause::Chain,
        _ => Cause::None,
    };
    let item = |&uncollected| ItemAnswer { code, granted: 0, last: Final::No, uncollected, cause };
    uncollected.iter().map(item).collect()
}

/// Returns the items of a request that closed the session on a denial: denied ones stay denied, and the others are
/// granted nothing.
fn nothing_granted(items: &[ItemAnswer]) -> ItemAnswers {
    let undo = |item: &ItemAnswer| match item.code {
        Code::Ok => ItemAnswer { granted: 0, last: Final::No, ..*item },
        _ => *item,
    };
    items.iter().map(undo).collect()
}

pub(super) fn reserve(
    account: &mut Option<State>,
    context: Context<'_>,
    request: &Request<'_>,
    body: String,
) -> Result<Answer, Refusal> {
    let (now, limits, number) = (context.now, context.limits, request.request);
    let session = fields(context, request)?;
    require(request.options.if_version.is_none() && !request.options.late_use, Code::Invalid)?;
    require(!request.options.keep_hold && !request.options.cancel, Code::Invalid)?;
    require(!request.options.keep_open || !request.options.close_on_denial, Code::Invalid)?;
    for item in request.items {
        let requested = item.requested.unwrap_or(0);
        require(item.used.is_none() && requested >= 1, Code::Invalid)?;
        require((0..=requested).contains(&item.min.unwrap_or(1)), Code::Invalid)?;
    }
    let state = account.as_mut().ok_or(Code::UnknownAccount)?;
    if let Some(open) = state.sessions.get(&session) {
        let own = asked(number, &body);
        let stored = open.window(limits).into_iter().find(|stored| stored.0 == own);
        let (_, same, answer) = stored.ok_or(Code::SessionExists)?;
        require(*same == body, Code::RequestMismatch)?;
        return Err(Refusal::Replay(answer.clone()));
    }
    look_up_tombstone(state, context, &session, number, &body, Code::SessionExists)?;
    let open = state.sessions.len();
    require(open < limits.sessions_max, Code::Busy)?;
    require(open + state.tombstones(now).count() < limits.session_ids_max, Code::Busy)?;

    let deny = |state: &mut State, code, items| {
        let answer = Answer::Session { code, version: 0, items };
        let end = End::Request(asked(number, &body), body.clone(), answer.clone());
        let long = request.options.late_use || request.options.transfer;
        close(state, context, &session, end, long);
        Ok(answer)
    };
    if state.status != Status::Active {
        let items = all_items(Code::ServiceDenied, &vec![0; request.items.len()]);
        return deny(state, Code::ServiceDenied, items);
    }
    if let Some(limit) = state.closed_to_sessions(now) {
        let (code, cause) =
            (Code::CreditLimitReached, Cause::Limit { id: name(&limit), allowed_at: None });
        // Of places that others have, more would be there without them.
        let places = state.limits.iter().find(|of| of.id == limit).map_or(0, |of| of.amount);
        let last = match request.items.is_empty() || request.options.transfer {
            true => Final::No,
            false if places > 0 => Final::Held,
            false => Final::Last,
        };
        let denied = ItemAnswer { code, granted: 0, last, uncollected: 0, cause };
        let count = request.items.len().max(1);
        return deny(state, code, (0..count).map(|_| denied).collect());
    }
    let before = state.clone();
    let validity = request.options.validity_ms.unwrap_or(limits.validity_ms_default);
    let tcc = request.options.tcc_ms.unwrap_or(validity.saturating_mul(2)).min(limits.tcc_ms_max);
    let new = Session {
        version: 1,
        validity,
        tcc,
        deadline: now.saturating_add(tcc),
        opened: now,
        terms: terms(request, limits),
        blob: request.blob.unwrap_or(&[]).to_vec(),
        items: vec![],
        answers: vec![],
        given_up: None,
    };
    state.sessions.insert(session.clone(), new);
    let mut items = ItemAnswers::new();
    for item in request.items {
        if !has_room(state, context, &session, item) {
            items.push(no_room(0));
            continue;
        }
        let answer = money::grant(state, &session, item, number, now)?;
        let last = if request.options.transfer { Final::No } else { answer.last };
        items.push(ItemAnswer { last, ..answer });
    }
    let denied = items.iter().filter(|item| item.code != Code::Ok).count();
    let opens = match (denied, items.len() - denied) {
        (0, _) => true,
        (_, 0) => request.options.keep_open,
        _ => !request.options.close_on_denial,
    };
    if !opens {
        *state = before;
        return deny(state, Code::CreditLimitReached, nothing_granted(&items));
    }
    let everything = denied > 0 && denied == items.len();
    let code = if everything { Code::CreditLimitReached } else { Code::Ok };
    let answer = Answer::Session { code, version: 1, items };
    let opened = state.sessions.get_mut(&session).ok_or(Code::UnknownSession)?;
    opened.store(limits, number, body, answer.clone());
    Ok(answer)
}

/// Account of a new request.
enum Found<'a> {
    /// The session is open; true where the number is below the window.
    Open(&'a mut State, bool),
    /// The session is not open, and the request reports late use.
    Gone(&'a mut State),
    /// Nothing is known of the session, which the request cancels.
    Unknown(&'a mut State),
}

/// Executes steps 1 to 3 of UPDATE and TERMINATE.
fn find<'a>(
    account: &'a mut Option<State>,
    context: Context<'_>,
    session: &str,
    request: &Request<'_>,
    body: &str,
) -> Result<Found<'a>, Refusal> {
    let state = account.as_mut().ok_or(Code::UnknownAccount)?;
    let Some(open) = state.sessions.get(session) else {
        let has_use = request.items.iter().any(|item| item.used.is_some_and(|used| used > 0));
        let late = request.options.late_use && has_use;
        return match look_up_tombstone(
            state,
            context,
            session,
            request.request,
            body,
            Code::UnknownSession,
        ) {
            Err(Refusal::Reject(Code::UnknownSession)) | Ok(()) if late => Ok(Found::Gone(state)),
            Ok(())
                if request.options.cancel && !has_use && !state.remembers(session, context.now) =>
            {
                Ok(Found::Unknown(state))
            }
            Ok(()) => Err(Code::UnknownSession.into()),
            Err(refusal) => Err(refusal),
        };
    };
    require(!open.terms.transfer, Code::NotApplicable)?;
    let window = open.window(context.limits);
    let own = asked(request.request, body);
    if let Some((_, same, answer)) = window.iter().find(|stored| stored.0 == own) {
        require(same == body, Code::RequestMismatch)?;
        return Err(Refusal::Replay(answer.clone()));
    }
    // A request below the window was never answered if no answer was dropped, or if its number is in a gap.
    let full = window.len() >= context.limits.answers_max;
    let lower = window.iter().all(|stored| own < stored.0);
    let all_stored = open.answers.len() == window.len();
    let in_gap = |gap: &(u32, u32)| gap.0 <= request.request && request.request <= gap.1;
    let never = (all_stored && !full) || open.gaps(context.limits).iter().any(in_gap);
    require(!lower || never, Code::OutOfWindow)?;
    let below = lower && !all_stored;
    require(
        request.options.if_version.is_none_or(|seen| seen == open.version),
        Code::VersionConflict,
    )?;
    Ok(Found::Open(state, below))
}

pub(super) fn update(
    account: &mut Option<State>,
    context: Context<'_>,
    request: &Request<'_>,
    body: String,
) -> Result<Answer, Refusal> {
    let (now, number) = (context.now, request.request);
    let session = fields(context, request)?;
    require(!request.options.keep_open && !request.options.cancel, Code::Invalid)?;
    let exclusive = [request.options.keep_hold, request.options.close_on_denial];
    require(exclusive != [true, true], Code::Invalid)?;
    require(request.options.overrun.is_none() || request.options.late_use, Code::Invalid)?;
    for item in request.items {
        let requested = item.requested.unwrap_or(0);
        require(item.used.is_some() || item.requested.is_some(), Code::Invalid)?;
        require(item.used.unwrap_or(0) >= 0 && requested >= 0, Code::Invalid)?;
        // REQUESTED 0 counts as no REQUESTED, and does not permit a MIN.
        require(item.min.is_none() || requested > 0, Code::Invalid)?;
        require((0..=requested).contains(&item.min.unwrap_or(0)), Code::Invalid)?;
    }
    let (state, below) = match find(account, context, &session, request, &body)? {
        Found::Open(state, below) => (state, below),
        Found::Gone(state) => return late_use(state, context, request, body, Code::Ok),
        Found::Unknown(_) => return Err(Code::UnknownSession.into()),
    };

    let late = late_items(state, &session, request, below);
    let uncollected = settle_items(state, &session, request, &late, context)?;
    let deny = |state: &mut State, code, items| {
        money::release_all(state, &session, now)?;
        let answer = Answer::Session { code, version: 0, items };
        let end = End::Request(asked(number, &body), body.clone(), answer.clone());
        close(state, context, &session, end, request.options.late_use);
        Ok(answer)
    };
    if state.status != Status::Active {
        return deny(state, Code::ServiceDenied, all_items(Code::ServiceDenied, &uncollected));
    }
    // Kept to undo the grants when a denial closes the session.
    let before = state.clone();
    let mut items = all_items(Code::Ok, &uncollected);
    for ((item, &late), answer) in request.items.iter().zip(&late).zip(&mut items) {
        if item.requested.unwrap_or(0) > 0 && !late {
            let uncollected = answer.uncollected;
            if !has_room(state, context, &session, item) {
                *answer = no_room(uncollected);
                continue;
            }
            // KEEPHOLD: what the item still holds goes back, and is held again if nothing is granted for it.
            let held = state.clone();
            if request.options.keep_hold {
                money::release_listed(state, &session, item, now)?;
            }
            let granted = money::grant(state, &session, item, number, now)?;
            if request.options.keep_hold && granted.code != Code::Ok {
                *state = held;
                let open = state.sessions.get_mut(&session).ok_or(Code::UnknownSession)?;
                open.item_or_new(item).standing = Standing::Denied;
            }
            *answer = ItemAnswer { uncollected, ..granted };
        }
    }
    let asked = request.items.iter().filter(|item| item.requested.unwrap_or(0) > 0).count();
    let denied = items.iter().filter(|item| item.code != Code::Ok).count();
    if denied > 0 && request.options.close_on_denial {
        *state = before;
        return deny(state, Code::CreditLimitReached, nothing_granted(&items));
    }
    // The answer is a denial only when every item that requested units was denied.
    let code = if denied > 0 && denied == asked { Code::CreditLimitReached } else { Code::Ok };
    go_on(state, context, request, body, code, items)
}

/// Reports for each listed item whether it is late (section 6).
fn late_items(state: &State, session: &str, request: &Request<'_>, below: bool) -> Vec<bool> {
    let open = state.sessions.get(session);
    let newest = |item: &ItemRequest| open?.item(item)?.last_grant;
    let is_late =
        |item: &ItemRequest| below || newest(item).is_some_and(|last| request.request < last);
    request.items.iter().map(is_late).collect()
}

/// Reports whether an open session has the item, or has room for it.
fn has_room(state: &State, context: Context<'_>, session: &str, item: &ItemRequest) -> bool {
    let open = &state.sessions[session];
    open.item(item).is_some() || open.items.len() < context.limits.session_items_max
}

/// Returns the answer to an item that asks and for which its session has no room.
fn no_room(uncollected: i64) -> ItemAnswer {
    let (code, cause) = (Code::CreditLimitReached, Cause::Items);
    ItemAnswer { code, granted: 0, last: Final::No, uncollected, cause }
}

/// Settles what an open session reports (section 7). Returns the uncollected amount of each listed item.
fn settle_items(
    state: &mut State,
    session: &str,
    request: &Request<'_>,
    late: &[bool],
    context: Context<'_>,
) -> Result<Vec<i64>, Code> {
    let now = context.now;
    let mut uncollected = vec![];
    for (item, &late) in request.items.iter().zip(late) {
        if !has_room(state, context, session, item) {
            let overrun = state.sessions[session].terms.overrun;
            let amount = money::settle_late(state, item, overrun, now)?;
            uncollected.push(i64::try_from(amount).map_err(|_| Code::Overflow)?);
            continue;
        }
        let keeps = request.options.keep_hold && item.requested.unwrap_or(0) > 0;
        let amount = money::settle(state, session, item, late, now)?;
        if !late && !keeps {
            money::release_listed(state, session, item, now)?;
        }
        uncollected.push(i64::try_from(amount).map_err(|_| Code::Overflow)?);
    }
    Ok(uncollected)
}

/// Updates a session that stays open (6.7): its deadline, its version, its blob, the stored answer.
fn go_on(
    state: &mut State,
    context: Context<'_>,
    request: &Request<'_>,
    body: String,
    code: Code,
    items: ItemAnswers,
) -> Result<Answer, Refusal> {
    let (now, limits) = (context.now, context.limits);
    let open = state.sessions.get_mut(&id(request.session)?).ok_or(Code::UnknownSession)?;
    if let Some(validity) = request.options.validity_ms {
        open.validity = validity;
        // Tcc defaults to twice the validity.
        open.tcc = validity.saturating_mul(2).min(limits.tcc_ms_max);
    }
    open.tcc = request.options.tcc_ms.unwrap_or(open.tcc);
    open.deadline = now.saturating_add(open.tcc);
    open.version += 1;
    if let Some(blob) = request.blob {
        open.blob = blob.to_vec();
    }
    let answer = Answer::Session { code, version: open.version, items };
    open.store(limits, request.request, body, answer.clone());
    Ok(answer)
}

pub(super) fn terminate(
    account: &mut Option<State>,
    context: Context<'_>,
    request: &Request<'_>,
    body: String,
) -> Result<Answer, Refusal> {
    let session = fields(context, request)?;
    let supervision = request.options.validity_ms.or(request.options.tcc_ms);
    require(supervision.is_none(), Code::Invalid)?;
    require(request.options.overrun.is_none() || request.options.late_use, Code::Invalid)?;
    require(!request.options.close_on_denial && request.blob.is_none(), Code::Invalid)?;
    require(!request.options.keep_open && !request.options.keep_hold, Code::Invalid)?;
    for item in request.items {
        require(item.requested.is_none() && item.min.is_none(), Code::Invalid)?;
        require(item.used.is_some_and(|used| used >= 0), Code::Invalid)?;
    }
    let state = match find(account, context, &session, request, &body)? {
        Found::Open(state, _) => state,
        Found::Gone(state) => return late_use(state, context, request, body, Code::Ok),
        Found::Unknown(state) => return cancel(state, context, request, body, Code::Ok),
    };
    let on_time = vec![false; request.items.len()];
    let uncollected = settle_items(state, &session, request, &on_time, context)?;
    money::release_all(state, &session, context.now)?;
    let items = all_items(Code::Ok, &uncollected);
    let answer = Answer::Session { code: Code::Ok, version: 0, items };
    let end = End::Request(asked(request.request, &body), body, answer.clone());
    close(state, context, &session, end, request.options.late_use || request.options.cancel);
    Ok(answer)
}

/// Ends a session of which nothing is known (section 9).
fn cancel(
    state: &mut State,
    context: Context<'_>,
    request: &Request<'_>,
    body: String,
    code: Code,
) -> Result<Answer, Refusal> {
    let session = id(request.session)?;
    room_for_id(state, context)?;
    let items = all_items(code, &vec![0; request.items.len()]);
    let answer = Answer::Session { code, version: 0, items };
    let end = End::Request(asked(request.request, &body), body, answer.clone());
    close(state, context, &session, end, true);
    Ok(answer)
}

/// Refuses a new session id without room for it.
fn room_for_id(state: &State, context: Context<'_>) -> Result<(), Code> {
    let ids = state.sessions.len() + state.tombstones(context.now).count();
    require(ids < context.limits.session_ids_max, Code::Busy)
}

/// Executes a RESERVE that its chain denies (section 15). It opens nothing, or with KEEPOPEN a session without grants.
pub(super) fn deny_reserve(
    state: &mut State,
    context: Context<'_>,
    request: &Request<'_>,
    body: String,
) -> Result<Answer, Code> {
    let (code, session) = (Code::ChainDenied, id(request.session)?);
    let items = all_items(code, &vec![0; request.items.len()]);
    let version = u64::from(request.options.keep_open);
    let answer = Answer::Session { code, version, items };
    if !request.options.keep_open {
        let end = End::Request(asked(request.request, &body), body, answer.clone());
        close(state, context, &session, end, request.options.late_use);
        return Ok(answer);
    }
    let limits = context.limits;
    let validity = request.options.validity_ms.unwrap_or(limits.validity_ms_default);
    let tcc = request.options.tcc_ms.unwrap_or(validity.saturating_mul(2)).min(limits.tcc_ms_max);
    let mut opened = Session {
        version,
        validity,
        tcc,
        deadline: context.now.saturating_add(tcc),
        opened: context.now,
        terms: terms(request, limits),
        blob: request.blob.unwrap_or(&[]).to_vec(),
        items: vec![],
        answers: vec![],
        given_up: None,
    };
    opened.store(limits, request.request, body, answer.clone());
    for item in request.items.iter().take(limits.session_items_max) {
        opened.item_or_new(item);
    }
    state.sessions.insert(session, opened);
    Ok(answer)
}

/// Executes an UPDATE or a TERMINATE that its chain denies (section 15). The use is settled, nothing is granted, and
/// the session continues as after any UPDATE.
pub(super) fn deny_report(
    account: &mut Option<State>,
    context: Context<'_>,
    request: &Request<'_>,
    body: String,
    may_be_late: bool,
) -> Result<Answer, Refusal> {
    let session = id(request.session)?;
    let (state, below) = match find(account, context, &session, request, &body)? {
        Found::Gone(state) => return late_use(state, context, request, body, Code::ChainDenied),
        Found::Unknown(state) => return cancel(state, context, request, body, Code::ChainDenied),
        Found::Open(state, below) => (state, below),
    };
    let late = match may_be_late {
        true => late_items(state, &session, request, below),
        false => vec![false; request.items.len()],
    };
    let uncollected = settle_items(state, &session, request, &late, context)?;
    let code = Code::ChainDenied;
    go_on(state, context, request, body, code, all_items(code, &uncollected))
}

pub(super) fn release(
    account: &mut Option<State>,
    context: Context<'_>,
    session: &[u8],
    cancel: bool,
) -> Result<Answer, Refusal> {
    let session = id(session)?;
    let state = account.as_mut().ok_or(Code::UnknownAccount)?;
    let answer = Answer::Session { code: Code::Ok, version: 0, items: ItemAnswers::new() };
    if cancel && !state.sessions.contains_key(&session) && !state.remembers(&session, context.now) {
        room_for_id(state, context)?;
        close(state, context, &session, End::Released(answer.clone()), true);
        return Ok(answer);
    }
    if !state.sessions.contains_key(&session) {
        let closed = state.tombstones(context.now).find(|closed| closed.id == session);
        return Err(match closed.map(|closed| &closed.end) {
            Some(End::Released(answer)) => Refusal::Replay(answer.clone()),
            _ => Code::UnknownSession.into(),
        });
    }
    require(!state.sessions[&session].terms.transfer, Code::NotApplicable)?;
    money::release_all(state, &session, context.now)?;
    close(state, context, &session, End::Released(answer.clone()), cancel);
    Ok(answer)
}
