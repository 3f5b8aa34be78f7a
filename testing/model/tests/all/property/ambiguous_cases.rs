//! Situations that a reader of docs/ledger.md could interpret in two ways. The text settles each in a sentence; here
//! they are recognized, so that the test can check that the runs reached every one.

use scurry_ledger::{
    Account, Answer, BucketAttributes, Code, Decision, FormerIdentity, ItemRequest, Limit,
    LimitSubject, Limits, Period, RequestName, SessionOptions, Status, Time, decide, view,
};
use scurry_model::{Op, Request, StepResult};
use std::collections::BTreeSet;

/// All situations.
pub(crate) const ALL: &[&str] = &[
    "a debit of items overflows although a later one would be denied",
    "a TO that is over of a bucket that there is not",
    "PERIOD none and OFFSET under an id that is known",
    "a use of 0 in a new period, of what is held above the amount",
    "a replay in other words",
    "another OVERRUN beside LATEUSE",
    "a RESERVE, UPDATE or TERMINATE with the number of another kind",
    "a part refunded of a debit that touched a bucket twice",
    "a period that begins at valid_from",
    "a closed account opened with too many identities",
    "an identity set again goes to the end",
    "two thresholds in one command",
    "an allowance at the end of the clock",
    "a denial without items",
    "a former identity that is due is kept",
    "a former identity that is due is forgotten",
    "an identity comes back",
];

/// Step, with the state before it and its outcome.
pub(crate) struct Step<'a> {
    pub(crate) before: Option<&'a Account>,
    pub(crate) limits: &'a Limits,
    pub(crate) at: Time,
    pub(crate) op: &'a Op,
    pub(crate) came: &'a StepResult,
}

/// Memory of a run that the situations need.
#[derive(Default)]
pub(crate) struct AmbiguousCases {
    committed: Vec<Op>,
    /// Transaction ids of debits that have used a bucket twice.
    twice: BTreeSet<String>,
    /// Sessions, and numbers of their answered requests, with the kind.
    answered: BTreeSet<(String, RequestName)>,
}

impl AmbiguousCases {
    /// Returns the situations of a step.
    pub(crate) fn of(&mut self, step: &Step<'_>) -> Vec<&'static str> {
        let mut seen = vec![];
        let found = [
            step.overflows_before_a_denial(),
            step.is_over_and_unknown(),
            step.has_offset_without_period(),
            step.uses_nothing_in_a_new_period(),
            self.is_in_other_words(step),
            self.has_another_overrun(step),
            self.shares_a_number(step),
            self.refunds_in_part(step),
            step.begins_at_valid_from(),
            step.opens_with_too_many_identities(),
            step.sets_an_identity_again(),
            step.reaches_two_thresholds(),
            step.is_near_the_end(),
            step.is_denied_without_items(),
            step.has_due_identities().0,
            step.has_due_identities().1,
            step.regains_an_identity(),
        ];
        seen.extend(ALL.iter().zip(found).filter(|(_, found)| *found).map(|(name, _)| *name));
        self.remember(step);
        seen
    }

    fn remember(&mut self, step: &Step<'_>) {
        if !matches!(step.came, StepResult::Commit(_)) {
            return;
        }
        match step.op {
            Op::Debit { txn, .. } if step.touches_twice() => {
                self.twice.insert(txn.clone());
            }
            Op::Debit { txn, .. } => {
                self.twice.remove(txn);
            }
            _ => {}
        }
        if let (Some(request), Some(name)) = (step.op.request(), step.op.request_name()) {
            self.answered.insert((request.session.clone(), name));
        }
        self.committed.push(step.op.clone());
    }

    fn is_in_other_words(&self, step: &Step<'_>) -> bool {
        let Some(request) = step.op.request() else { return false };
        let plain = |request: &Request| Request {
            options: SessionOptions {
                if_version: None,
                late_use: false,
                cancel: false,
                ..request.options
            },
            ..request.clone()
        };
        let of_body = |op: &Op| op.request().map(plain) == Some(plain(request));
        matches!(step.came, StepResult::Replay(_)) && !self.committed.iter().any(of_body)
    }

    fn has_another_overrun(&self, step: &Step<'_>) -> bool {
        let Some(request) = step.op.request().filter(|request| request.options.late_use) else {
            return false;
        };
        let differs = |op: &Op| {
            let Some(known) = op.request() else { return false };
            let same = Request {
                options: SessionOptions { overrun: request.options.overrun, ..known.options },
                ..known.clone()
            };
            known.options.overrun != request.options.overrun
                && same == *request
                && is_alike(op, step.op)
        };
        step.is_refused(Code::RequestMismatch) && self.committed.iter().any(differs)
    }

    fn shares_a_number(&self, step: &Step<'_>) -> bool {
        let (Some(request), Some(name)) = (step.op.request(), step.op.request_name()) else {
            return false;
        };
        let shares = |known: &RequestName| known.number == name.number && known.kind != name.kind;
        let mut answered = self.answered.iter().filter(|(of, _)| *of == request.session);
        step.is_done() && answered.any(|(_, known)| shares(known))
    }

    fn refunds_in_part(&self, step: &Step<'_>) -> bool {
        let Op::Refund { debit, amount: Some(_), .. } = step.op else { return false };
        step.is_done() && self.twice.contains(debit)
    }
}

fn is_alike(op: &Op, other: &Op) -> bool {
    std::mem::discriminant(op) == std::mem::discriminant(other)
}

fn counts(limit: &Limit, item: &ItemRequest) -> bool {
    match limit.counted {
        LimitSubject::Sessions => false,
        LimitSubject::Units { unit, item: key } => {
            unit == item.unit && key.is_none_or(|key| key == item.key)
        }
    }
}

impl Step<'_> {
    fn is_refused(&self, code: Code) -> bool {
        *self.came == StepResult::Reject(code)
    }

    fn is_done(&self) -> bool {
        matches!(self.came, StepResult::Commit(answer) if answer.code() == Code::Ok)
    }

    fn now(&self) -> Time {
        self.at.on(self.before)
    }

    fn limit(&self) -> impl Iterator<Item = &Limit> {
        self.before.iter().flat_map(|account| &account.limits)
    }

    fn is_open(&self, request: &Request) -> bool {
        let open = self.before.and_then(|account| account.session(request.session.as_bytes()));
        open.is_some_and(|open| open.deadline > self.now())
    }

    /// Decides another command in place of the step's.
    fn instead(&self, op: &Op) -> Decision {
        op.with(|command| decide(self.before, command, self.at, self.limits))
    }

    fn is_known(&self, txn: &str) -> bool {
        self.before.is_some_and(|account| account.transactions.find(txn.as_bytes()).is_some())
    }

    fn overflows_before_a_denial(&self) -> bool {
        let Op::DebitItems { items, .. } = self.op else { return false };
        let Some(last) = items.last().filter(|_| items.len() > 1) else { return false };
        let alone = Op::DebitItems { txn: "never-used".to_string(), items: vec![*last] };
        let denied = |answer: &Answer| answer.code() == Code::CreditLimitReached;
        self.is_refused(Code::Overflow)
            && matches!(self.instead(&alone), Decision::Commit(_, answer) if denied(&answer))
    }

    fn is_over_and_unknown(&self) -> bool {
        let later = |with: &BucketAttributes| BucketAttributes { valid_to: None, ..*with };
        let without = match self.op.clone() {
            Op::TopUp { txn, bucket, amount, unit, with, keys } if with.valid_to.is_some() => {
                Op::TopUp { txn, bucket, amount, unit, with: later(&with), keys }
            }
            Op::Bucket { txn, bucket, with, keys, remove } if with.valid_to.is_some() => {
                let with = BucketAttributes { priority: Some(0), ..later(&with) };
                Op::Bucket { txn, bucket, with, keys, remove }
            }
            _ => return false,
        };
        let unknown = |code| code == Code::UnknownBucket;
        self.is_refused(Code::Invalid)
            && matches!(self.instead(&without), Decision::Reject(why) if unknown(why.code))
    }

    fn has_offset_without_period(&self) -> bool {
        let (Op::TopUp { txn, with, .. } | Op::Bucket { txn, with, .. }) = self.op else {
            return false;
        };
        let is_none = with.period == Some(Period::None) && with.clock.is_given();
        is_none && self.is_known(txn) && self.is_refused(Code::Invalid)
    }

    fn uses_nothing_in_a_new_period(&self) -> bool {
        let Some(request) = self.op.request().filter(|request| self.is_open(request)) else {
            return false;
        };
        let nothing = |item: &&ItemRequest| item.used.unwrap_or(0) == 0;
        let is_new = |limit: &Limit| {
            let cycle = limit.window.cycle();
            let is_over = cycle.is_some_and(|of| of.start(self.now()) > limit.period_start);
            is_over && limit.held > limit.amount
        };
        let mut items = request.items.iter().filter(nothing);
        self.is_done() && items.any(|item| self.limit().any(|l| counts(l, item) && is_new(l)))
    }

    /// Reports whether a debit takes a bucket down to 0 and, in a second pass, below it.
    fn touches_twice(&self) -> bool {
        let Op::Debit { unit, amount, .. } = self.op else { return false };
        let valid = self.before.iter().flat_map(|account| &account.buckets);
        let valid = valid.filter(|bucket| bucket.unit == *unit && bucket.is_valid(self.now()));
        let above: Vec<i64> = valid.map(|bucket| bucket.available.max(0)).collect();
        let sum: i128 = above.iter().map(|&amount| i128::from(amount)).sum();
        above.iter().filter(|&&amount| amount > 0).count() > 1 && i128::from(*amount) > sum
    }

    fn begins_at_valid_from(&self) -> bool {
        let Some(account) = self.before else { return false };
        account.allowances.iter().any(|allowance| {
            account.bucket_no(allowance.bucket).is_some_and(|bucket| {
                let from = bucket.valid_from;
                let is_start = allowance.cycle.start(from) == from;
                let comes = account.changed_at < from && from <= self.now();
                is_start && comes && from > allowance.period_start && !bucket.is_expired(from)
            })
        })
    }

    fn opens_with_too_many_identities(&self) -> bool {
        let (Op::Status { status, .. }, Some(account)) = (self.op, self.before) else {
            return false;
        };
        let Op::Status { txn, identities, .. } = self.op.clone() else { return false };
        let closed = Op::Status { txn, status: Status::Closed, identities };
        let too_many = |code| code == Code::Invalid;
        (*status, account.status) == (Status::Active, Status::Closed)
            && self.is_refused(Code::NotApplicable)
            && matches!(self.instead(&closed), Decision::Reject(why) if too_many(why.code))
    }

    /// Reports whether a former identity that is due is kept for as long again, and whether one is forgotten.
    fn has_due_identities(&self) -> (bool, bool) {
        let Some(before) = self.before else { return (false, false) };
        let after = view(before, self.at, self.limits);
        let kept = |former: &&FormerIdentity| {
            after.former_identities.iter().any(|one| one.identity == former.identity)
        };
        let now = self.at.on(self.before);
        let due = || before.former_identities.iter().filter(|former| former.forget_at <= now);
        (due().any(|former| kept(&former)), due().any(|former| !kept(&former)))
    }

    fn regains_an_identity(&self) -> bool {
        let (Op::Status { identities, .. }, Some(before)) = (self.op, self.before) else {
            return false;
        };
        let seen = view(before, self.at, self.limits);
        let mut former = seen.former_identities.iter();
        self.is_done()
            && former.any(|former| {
                identities.last().is_some_and(|(kind, value)| former.identity.is(*kind, value))
            })
    }

    fn sets_an_identity_again(&self) -> bool {
        let (Op::Status { identities, .. }, Some(account)) = (self.op, self.before) else {
            return false;
        };
        let others = account.identities.iter().rev().skip(1);
        let known: Vec<_> = others.map(|identity| identity.kind).collect();
        let again = |(kind, value): &(_, Vec<u8>)| !value.is_empty() && known.contains(kind);
        self.is_done() && identities.iter().any(again)
    }

    /// Reports whether the first item alone brings a limit to 80 % and all of them bring it to 100 %.
    fn reaches_two_thresholds(&self) -> bool {
        let Op::DebitItems { items, .. } = self.op else { return false };
        let sum = |unit, upto: usize| -> i128 {
            let of_unit = items.iter().take(upto).filter(|item| item.unit == unit);
            of_unit.map(|item| i128::from(item.amount)).sum()
        };
        let both = |limit: &Limit| {
            let LimitSubject::Units { unit, item: None } = limit.counted else { return false };
            let Some(account) = self.before else { return false };
            let read = account.limit_at(limit, self.now());
            let level = |upto| (i128::from(read.used) + sum(unit, upto)) * 100;
            let percent = |percent| i128::from(read.most()) * percent;
            let first = percent(80) <= level(1) && level(1) < percent(100);
            read.told == 0 && sum(unit, 1) > 0 && first && level(items.len()) >= percent(100)
        };
        self.is_done() && self.limit().any(both)
    }

    fn is_near_the_end(&self) -> bool {
        let Some(account) = self.before else { return false };
        let now = self.now();
        let none = |period: Period| period != Period::None;
        account.allowances.iter().any(|allowance| {
            none(allowance.cycle.period)
                && allowance.cycle.end(now).is_none()
                && account.bucket_no(allowance.bucket).is_some_and(|bucket| bucket.is_valid(now))
        })
    }

    fn is_denied_without_items(&self) -> bool {
        let is_denial = |answer: &Answer| answer.code() == Code::ServiceDenied;
        let request = self.op.request();
        request.is_some_and(|request| request.items.is_empty())
            && matches!(self.came, StepResult::Commit(answer) if is_denial(answer))
    }
}
