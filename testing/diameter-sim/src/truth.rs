//! What clients have sent and were answered. It compares this with what the store has kept, and trusts no door.

use crate::answer::Answer;
use crate::report::Report;
use crate::request::{Kind, Request};
use crate::store::{Kept, LedgerName, SimStore};
use scurry_ledger::{Code, Time};
use std::collections::BTreeMap;

/// Result-Codes.
const SUCCESS: u32 = 2001;
const BUSY: u32 = 3004;
const CREDIT_LIMIT: u32 = 4012;
const UNKNOWN_SESSION: u32 = 5002;
const UNABLE: u32 = 5012;

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

    /// Notes that a copy has arrived at a door.
    pub(crate) fn arrives(&mut self, copy: u64, door: usize) {
        let Copy { request, number, .. } = self.copies[usize::try_from(copy).expect("a copy")];
        let request = &mut self.requests[request];
        request.seen_at[door] = true;
        request.first_seen.get_or_insert(number);
    }

    /// Compares accounts with requests. `store` has ended all sessions by now.
    pub(crate) fn check_end(&mut self, store: &SimStore, now: Time) {
        let mut kept = store.kept();
        let mut totals = BTreeMap::<Vec<u8>, (i64, i64)>::new();
        let mut debits = BTreeMap::<Vec<u8>, i64>::new();
        for request in &self.requests {
            let words = &request.words;
            let totals = totals.entry(words.account()).or_default();
            let Some(command) = words.kind.command() else {
                self.report.checks += 1;
                continue;
            };
            let (id, number) = words.ledger_id();
            let name: LedgerName = (words.account(), command, id.clone(), number);
            let kept = kept.remove(&name).unwrap_or_default();
            check_kept(request, kept);
            let is_done = kept.code == Some(Code::Ok);
            match words.kind {
                // Reported use is debited, whatever is granted.
                Kind::Update | Kind::Termination if kept.commits > 0 => totals.0 += words.used(),
                Kind::Settle if is_done => totals.0 += words.used(),
                Kind::Debit if is_done => {
                    totals.0 += words.asked();
                    debits.insert(id, words.asked());
                    self.report.debits += 1;
                }
                Kind::Refund if is_done => {
                    totals.1 += debits[&words.refund];
                    self.report.refunds += 1;
                }
                _ => {}
            }
            self.report.late += u64::from(kept.is_late && words.kind == Kind::Update);
            self.report.answered_twice += u64::from(request.answers > 1);
            self.report.overtaken += u64::from(request.first_seen > Some(0));
            self.report.both_doors += u64::from(request.seen_at == [true; 2]);
            let result = request.answer.as_ref().map(|answer| answer.result);
            self.report.denied += u64::from(result == Some(CREDIT_LIMIT));
        }
        assert!(kept.is_empty(), "the store has requests that no client has sent: {kept:?}");
        for (id, (used, refunded)) in totals {
            store.look(&id, now, |account| {
                let [bucket] = &account.buckets[..] else { panic!("one bucket") };
                let what = String::from_utf8_lossy(&id);
                assert_eq!(bucket.consumed, used, "{what}: debited, and what clients reported");
                assert_eq!(bucket.refunded, refunded, "{what}: refunded");
                assert_eq!(bucket.held, 0, "{what}: holds are left");
                assert!(account.sessions.is_empty(), "{what}: sessions are left");
                assert!(account.uncollected.is_empty(), "{what}: {:?}", account.uncollected);
                let out = bucket.consumed + bucket.expired + bucket.voided;
                let left = bucket.credited + bucket.refunded - out;
                assert_eq!(bucket.available + bucket.held, left, "{what}: units are lost or made");
            });
        }
        self.report.replays = store.replays();
        self.report.requests = self.requests.len() as u64;
    }
}

/// Reports whether two answers to one request say the same. A read may find another balance.
fn is_same(kind: Kind, first: &Answer, other: &Answer) -> bool {
    first.result == other.result && (kind == Kind::Check || first.said == other.said)
}

/// Checks what an answer says against its request.
fn check_alone(request: &Request, answer: &Answer) {
    let words = &request.words;
    let allowed: &[u32] = match words.kind {
        Kind::Initial => &[SUCCESS, CREDIT_LIMIT, UNABLE],
        Kind::Update | Kind::Termination => &[SUCCESS, UNKNOWN_SESSION],
        Kind::Debit => &[SUCCESS, CREDIT_LIMIT],
        Kind::Refund | Kind::Settle | Kind::Check => &[SUCCESS],
    };
    assert!(allowed.contains(&answer.result), "{words:?}\n{answer:?}");
    for service in &answer.services {
        let asked = words.parts.iter().find(|part| part.rating_group == service.rating_group);
        let asked = asked.unwrap_or_else(|| panic!("a service that was not asked: {answer:?}"));
        assert!(service.granted <= asked.asked.unwrap_or(0), "{words:?}\n{answer:?}");
        assert!(service.result != CREDIT_LIMIT || service.granted == 0, "{answer:?}");
    }
}

/// Checks what the store has kept of a request against its answer.
fn check_kept(request: &Request, kept: Kept) {
    let words = &request.words;
    assert!(kept.commits <= 1, "carried out {} times: {words:?}", kept.commits);
    let answer = request.answer.as_ref().unwrap_or_else(|| panic!("unanswered: {words:?}"));
    // A session that has ended is answered 5002: what was used must be debited all the same.
    let is_kept = match answer.result {
        SUCCESS | CREDIT_LIMIT => true,
        UNKNOWN_SESSION => words.used() > 0,
        _ => false,
    };
    assert!(!is_kept || kept.commits == 1, "answered, and not kept: {words:?}\n{answer:?}");
    let is_denied = kept.code == Some(Code::CreditLimitReached) && words.kind != Kind::Update;
    assert!(!is_denied || answer.result == CREDIT_LIMIT, "{words:?}\n{answer:?}\n{kept:?}");
}
