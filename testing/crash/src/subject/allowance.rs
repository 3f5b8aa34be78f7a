//! An account whose bucket is refilled during the test: an offset of its time zone makes its hour begin at a chosen
//! minute. The refill must happen once and in time, also if no server ran at that moment.

use super::{Counts, InDoubt, ReplyTimes, Subject, words_of};
use crate::clock::wall_ms;
use crate::views;
use crate::wire::RequestWords;
use anyhow::{Result, bail, ensure};
use scurry_conformance::Value;
use scurry_ledger::{BucketAttributes, NewBucket, Period, PeriodClock, Status, Time};
use scurry_model::{Op, Random, Request, key, name};
use scurry_service::{AllowanceView, BucketTotals};
use std::collections::VecDeque;

/// Tolerance between the server's clock and ours, ms.
const SLACK_MS: i64 = 600;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const CREDIT: i64 = 1_000;
/// Amount of a refill.
const AMOUNT: i64 = 700;
/// Amount held by a session, also across the refill.
const HELD: i64 = 100;
/// Debits of 1 from one account at most. Then it is only audited until it is refilled and the next account follows.
const DEBITS_MAX: i64 = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Create,
    Reserve,
    Debit,
    Audit,
}

/// State of the account without the effects of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    is_there: bool,
    is_held: bool,
    debits: i64,
}

/// The account, its state and its refill.
pub(crate) struct Allowance {
    key: String,
    number: u64,
    known: State,
    sent: State,
    open: VecDeque<Act>,
    /// Number for ids of debits.
    serial: u64,
    /// Start of the period after the one in which the account was created, ms.
    refill_ms: i64,
    /// Time at which the account was first seen to exist, ms.
    seen_ms: Option<i64>,
    is_refilled: bool,
    counts: Counts,
}

impl State {
    fn act(mut self, act: Act) -> State {
        match act {
            Act::Create => self.is_there = true,
            Act::Reserve => self.is_held = true,
            Act::Debit => self.debits += 1,
            Act::Audit => {}
        }
        self
    }
}

impl Allowance {
    pub(crate) fn new(key: String) -> Allowance {
        let mut allowance = Allowance {
            key,
            number: 0,
            known: State::default(),
            sent: State::default(),
            open: VecDeque::new(),
            serial: 0,
            refill_ms: 0,
            seen_ms: None,
            is_refilled: false,
            counts: Counts::default(),
        };
        allowance.follow();
        allowance
    }

    /// Moves on to the next account.
    fn follow(&mut self) {
        self.number += 1;
        let stem = self.key.split('.').next().unwrap_or_default().to_owned();
        self.key = format!("{stem}.{}", self.number);
        (self.known, self.sent) = (State::default(), State::default());
        (self.seen_ms, self.is_refilled) = (None, false);
    }

    fn act(&self, random: &mut Random) -> Act {
        match self.sent {
            State { is_there: false, .. } => Act::Create,
            State { is_held: false, .. } => Act::Reserve,
            State { debits, .. } if debits < DEBITS_MAX && random.one_in(4) => Act::Debit,
            _ => Act::Audit,
        }
    }

    fn words(&mut self, act: Act) -> RequestWords {
        let op = match act {
            Act::Create => self.create(),
            Act::Reserve => Request::new("s", 0).ask(key("10.4711"), "sec", HELD).reserve(),
            Act::Debit => {
                self.serial += 1;
                Op::debit(&format!("d{}", self.serial), "sec", 1)
            }
            Act::Audit => return views::audit(&self.key),
        };
        words_of(&self.key, &op)
    }

    fn create(&mut self) -> Op {
        // The offset makes an hour begin at the next minute, or at the one after it if the next is too near.
        let minute = (wall_ms() + 2 * SLACK_MS) / MINUTE_MS + 1;
        self.refill_ms = minute * MINUTE_MS;
        let attributes = BucketAttributes {
            period: Some(Period::Hour),
            clock: PeriodClock::with_offset((60 - minute % 60) % 60),
            refill: Some(AMOUNT),
            ..BucketAttributes::default()
        };
        // A separate unit, because TOTALS do not include refills of accounts that no command has touched.
        let bucket = NewBucket { bucket: name("b"), unit: name("sec"), amount: CREDIT, attributes };
        let (identities, buckets) = (Vec::new(), vec![bucket]);
        Op::Create { txn: None, status: Status::Active, identities, buckets, keys: vec![] }
    }

    /// Returns whether the refill must have happened, and whether it may have, during `asked`.
    fn is_due(&self, asked: ReplyTimes) -> (bool, bool) {
        let was_there = self.seen_ms.is_some_and(|seen| seen + SLACK_MS < self.refill_ms);
        let is_over = self.refill_ms + SLACK_MS < asked.from_ms;
        (was_there && is_over, self.refill_ms < asked.to_ms + SLACK_MS)
    }

    /// Checks the values that depend on time, and returns the others.
    fn state(&mut self, get: &Value, audit: &Value, asked: ReplyTimes) -> Result<State> {
        if let Value::Error(_) = get {
            return Ok(State::default());
        }
        let [bucket] = views::audit_of(audit)?.buckets[..] else { bail!("its buckets: {audit}") };
        let BucketTotals { available, held, credited, consumed, expired, .. } = bucket;
        let is_plain = bucket.refunded == 0 && bucket.voided == 0 && bucket.overdrawn == 0;
        ensure!(is_plain, "a bucket is {bucket:?}");
        let (must, may) = self.is_due(asked);
        let is_refilled = credited == CREDIT + AMOUNT;
        ensure!(is_refilled || credited == CREDIT, "refilled several times: {bucket:?}");
        ensure!(is_refilled || !must, "the refill is missing: {bucket:?}");
        ensure!(!is_refilled || may, "refilled too early: {bucket:?}");
        ensure!(is_refilled || !self.is_refilled, "the refill is lost: {bucket:?}");
        let sum = available + held + consumed + expired;
        ensure!(sum == credited, "units are lost, or were made: {bucket:?}");
        // Some debits came before the refill and others after it.
        let after = if is_refilled { AMOUNT - available } else { CREDIT - available };
        let most = consumed + held;
        let fits = if is_refilled { (0..=most).contains(&after) } else { after == most };
        ensure!(fits, "more or less than the allowance is there: {bucket:?}");
        let [bucket] = views::account_of(get)?.buckets[..] else { bail!("its buckets: {get}") };
        let Some(AllowanceView { amount: AMOUNT, refills_at: Some(Time(next)), .. }) =
            bucket.allowance
        else {
            bail!("the allowance is lost: {get}")
        };
        let is_next = next == self.refill_ms && !must || next == self.refill_ms + HOUR_MS && may;
        ensure!(is_next, "the next refill is wrong, after {}: {get}", self.refill_ms);
        self.counts.refills += u64::from(is_refilled && !self.is_refilled);
        self.is_refilled = is_refilled;
        Ok(State { is_there: true, is_held: held == HELD, debits: consumed })
    }
}

impl Subject for Allowance {
    fn key(&self) -> &str {
        &self.key
    }

    fn next(&mut self, random: &mut Random) -> RequestWords {
        let act = self.act(random);
        self.open.push_back(act);
        self.sent = self.sent.act(act);
        self.words(act)
    }

    fn replied(&mut self, reply: &Value) -> Result<()> {
        let Some(act) = self.open.pop_front() else { bail!("nothing was asked") };
        let text = reply.to_string();
        let right = match act {
            Act::Create => text == "[OK, 1]",
            Act::Reserve => text == format!("[OK, 0, 1, [[\"10.4711\", OK, {HELD}, 0, 0]]]"),
            Act::Debit => text.starts_with("[OK, 0, ") && text.ends_with(", 1]"),
            Act::Audit => views::audit_of(reply).is_ok(),
        };
        ensure!(right, "{act:?} is answered {reply}");
        self.known = self.known.act(act);
        self.seen_ms = self.seen_ms.or(Some(wall_ms()));
        Ok(())
    }

    fn state_requests(&self) -> Vec<RequestWords> {
        views::state_requests(&self.key, &[])
    }

    fn check_state(&mut self, replies: &[Value], asked: ReplyTimes) -> Result<InDoubt> {
        let [get, audit] = replies else { bail!("no replies") };
        let state = self.state(get, audit, asked)?;
        let mut states = vec![self.known];
        for act in &self.open {
            states.push(states[states.len() - 1].act(*act));
        }
        let Some(applied) = states.iter().position(|one| *one == state) else {
            bail!("it is {state:?}, and was {:?} with {:?} in doubt", self.known, self.open);
        };
        let doubt = InDoubt { requests: self.open.len(), applied };
        self.open.clear();
        (self.known, self.sent) = (state, state);
        if state.is_there {
            self.seen_ms = self.seen_ms.or(Some(asked.to_ms));
        }
        if self.is_refilled && state.debits == DEBITS_MAX {
            self.follow();
        }
        Ok(doubt)
    }

    fn repeat_requests(&mut self, _: &mut Random) -> Vec<RequestWords> {
        Vec::new()
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
