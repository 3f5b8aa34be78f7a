//! Late use: UPDATE and TERMINATE with LATEUSE for a session that is not open (docs/ledger.md section 9). The service
//! was used, so the use is debited, once: RFC 8506 section 5.3 lets a client report it after Tcc, and a store that
//! forgets it gives service away.

use super::draft::Draft;
use super::room::check_room;
use super::units::settle_late;
use super::{Outcome, Step, reject};
use crate::digest::CommandBody;
use crate::{
    Answer, Cause, Code, Id, ItemAnswer, ItemAnswers, LateAnswer, Op, PackedAnswer, SessionRequest,
};
use alloc::boxed::Box;

/// Reports whether the request has late use to settle although the session is not open.
pub(super) fn is_reported(request: &SessionRequest<'_>) -> bool {
    request.options.late_use && request.items.iter().any(|item| item.used.unwrap_or(0) > 0)
}

/// Settles the use of a session that is not open, and answers with this code. The caller has made sure that the request
/// is no duplicate.
pub(super) fn settle(
    draft: &mut Draft<'_>,
    request: &SessionRequest<'_>,
    body: &CommandBody,
    code: Code,
) -> Step<Outcome> {
    let name = body.name(request.request);
    match draft.account().tombstones.find(request.session) {
        Some(known) if !known.accepts_late_use(name, draft.limits.answers_max) => {
            return reject(
                Code::OutOfWindow,
                "the session ended, and the request is not after those that it answered: \
                 what was never settled can be reported under a new number",
            );
        }
        Some(_) => {}
        None => check_room(draft, 0)?,
    }
    let overrun = request.options.terms(draft.limits.overrun_default).overrun;
    draft.name_identities();
    let mut items = ItemAnswers::with_capacity(request.items.len());
    for item in request.items {
        let uncollected = settle_late(draft, item, overrun)?;
        items.push(ItemAnswer { code, cause: Cause::of(code), ..ItemAnswer::settled(uncollected) });
    }
    let version = 0;
    let late = LateAnswer {
        session: Id::new(request.session).unwrap_or(Id::EMPTY),
        answer: PackedAnswer::from_parts(name, body.digest(), (code, version), &items),
        forget_at: draft.now.plus_ms(draft.limits.transaction_ms),
        answers_max: u8::try_from(draft.limits.answers_max).unwrap_or(u8::MAX),
    };
    // With `transaction_ms` 0 the answer is forgotten in the same Change.
    let is_over = late.forget_at <= draft.now;
    draft.record(Op::NoteLate(Box::new(late)));
    if is_over {
        draft.record(Op::Forget);
    }
    Ok(Outcome::Commit(Answer::Session { code, version, items }))
}
