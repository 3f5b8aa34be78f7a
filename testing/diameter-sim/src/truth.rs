//! What clients have sent and were answered; it trusts no door. `books.rs` compares it with what the store has kept.

use crate::answer::Answer;
use crate::effect::{self, Effect, NOT_APPLICABLE, SUCCESS, UNABLE};
use crate::report::Report;
use crate::request::{Kind, Request};
use crate::services::is_charged;

/// Result-Codes.
const BUSY: u32 = 3004;
pub(crate) const CREDIT_LIMIT: u32 = 4012;
pub(crate) const UNKNOWN_SESSION: u32 = 5002;

/// A copy of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) request: usize,
    /// Number among the copies of its request.
    pub(crate) number: u32,
    is_over: bool,
}

/// All requests of all clients, and their copies.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(crate) requests: Vec<Request>,
    pub(crate) copies: Vec<Copy>,
    pub(crate) report: Report,
}

/// What an answer means for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The request is answered: the client goes on.
    First,
    /// It was answered before.
    Again,
    /// It is to be sent again.
    Busy,
}

impl Truth {
    /// Notes that a copy is sent. Returns its number.
    pub(crate) fn send(&mut self, request: usize) -> u64 {
        let of = &mut self.requests[request];
        self.copies.push(Copy { request, number: of.copies, is_over: false });
        of.copies += 1;
        of.waiting += 1;
        self.report.copies += 1;
        self.copies.len() as u64 - 1
    }

    /// Notes that no answer to a copy will come.
    pub(crate) fn gives_up(&mut self, copy: u64) -> usize {
        self.end_copy(copy)
    }

    fn end_copy(&mut self, copy: u64) -> usize {
        let copy = &mut self.copies[usize::try_from(copy).expect("a copy")];
        assert!(!std::mem::replace(&mut copy.is_over, true), "a copy ends twice: {copy:?}");
        self.requests[copy.request].waiting -= 1;
        copy.request
    }

    /// Notes an answer to a copy. It must be one to its request, and say what earlier answers have said.
    pub(crate) fn answered(&mut self, copy: u64, answer: Answer) -> (usize, Meaning) {
        let at = self.end_copy(copy);
        self.report.answers += 1;
        let request = &mut self.requests[at];
        let words = &request.words;
        let asked = (words.session.as_str(), words.kind.request_type() as u32, words.number);
        assert_eq!(
            (answer.session.as_str(), answer.kind, answer.number),
            asked,
            "an answer to another"
        );
        assert_eq!(answer.end_to_end, request.end_to_end, "{words:?}");
        if answer.result == BUSY {
            self.report.busy += 1;
            return (at, Meaning::Busy);
        }
        check_alone(request, &answer);
        request.answers += 1;
        let Some(first) = &request.answer else {
            request.answer = Some(answer);
            return (at, Meaning::First);
        };
        if !is_same(words.kind, first, &answer) {
            // Only when the store does not remember the request any more may a copy be refused.
            let is_refused = [UNKNOWN_SESSION, UNABLE].contains(&answer.result);
            assert!(
                is_refused && !words.kind.is_event(),
                "another answer to {words:?}:\n{first:?}\n{answer:?}"
            );
            self.report.forgotten += 1;
        }
        (at, Meaning::Again)
    }

    /// Notes that a copy has arrived at a door. Returns its request.
    pub(crate) fn arrives(&mut self, copy: u64, door: usize) -> usize {
        let Copy { request: at, number, .. } = self.copies[usize::try_from(copy).expect("a copy")];
        let request = &mut self.requests[at];
        request.seen_at[door] = true;
        request.first_seen.get_or_insert(number);
        at
    }
}

/// Reports whether two answers to one request say the same. A read may find another balance.
fn is_same(kind: Kind, first: &Answer, other: &Answer) -> bool {
    first.result == other.result && (kind == Kind::Check || first.said == other.said)
}

/// Checks what an answer says against its request.
fn check_alone(request: &Request, answer: &Answer) {
    let words = &request.words;
    let effect = Effect::of(words);
    let allowed = match &effect {
        Effect::Session if words.kind == Kind::Initial => vec![SUCCESS, CREDIT_LIMIT, UNABLE],
        Effect::Session => vec![SUCCESS, UNKNOWN_SESSION],
        Effect::Nothing(results) => results.clone(),
        Effect::Debit(_) => vec![SUCCESS, CREDIT_LIMIT],
        Effect::Settle { .. } => vec![effect::result(words)],
        Effect::Refund { .. } => vec![SUCCESS, NOT_APPLICABLE, UNABLE],
        Effect::Credit(_) | Effect::Check => vec![SUCCESS],
    };
    assert!(allowed.contains(&answer.result), "{allowed:?} for {words:?}\n{answer:?}");
    assert!(
        answer.services.is_empty() || answer.services.len() == words.parts.len(),
        "services were asked, and others are answered: {words:?}\n{answer:?}"
    );
    for (part, service) in words.parts.iter().zip(&answer.services) {
        assert_eq!(service.rating_group, part.rating_group, "{words:?}\n{answer:?}");
        assert!(service.result != CREDIT_LIMIT || service.granted == 0, "{answer:?}");
        if effect == Effect::Session {
            assert!(service.granted <= part.asked(), "{words:?}\n{answer:?}");
            continue;
        }
        let is_charged = is_charged(part.rating_group);
        let result = if is_charged { answer.result } else { NOT_APPLICABLE };
        assert_eq!(service.result, result, "{words:?}\n{answer:?}");
        let is_debit = matches!(effect, Effect::Debit(_)) && answer.result == SUCCESS;
        let is_debited = is_debit && is_charged && (part.used.is_none() || part.asked.is_some());
        let debited = if is_debited { effect::wanted(part) } else { 0 };
        assert_eq!(service.granted, debited, "{words:?}\n{answer:?}");
        assert_eq!(!service.refund.is_empty(), is_debited, "{words:?}\n{answer:?}");
    }
}
