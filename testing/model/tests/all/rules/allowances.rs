//! Sections 2, 3 and 12: buckets that are refilled, and spent ones that make room.

use scurry_ledger::{
    BucketAttributes, Code, Cycle, DebtRule, Limits, Period, SessionOptions, Status, Time, tick,
    view,
};
use scurry_model::{Op, Random, Request, ScriptedPair, StepResult, name};

const HOUR: i64 = 3_600_000;

/// Returns an hourly allowance.
fn hourly(refill: i64) -> BucketAttributes {
    BucketAttributes { period: Some(Period::Hour), refill: Some(refill), ..Default::default() }
}

/// Creates one bucket of 10 that is refilled to 10 each hour; the first period began at 0.
fn script() -> ScriptedPair {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&Op::bucket("set", "a", hourly(10)));
    script
}

#[test]
fn what_is_left_expires_when_a_period_begins() {
    let mut script = script();
    script.done(&Op::debit("d", "u", 4));
    script.now = HOUR;
    assert_eq!(script.amount(&Op::debit("e", "u", 7)), (Code::Ok, 7));
    let bucket = script.bucket("a");
    assert_eq!((bucket.available, bucket.credited, bucket.expired), (3, 20, 6));
}

#[test]
fn a_refill_alone_arms_no_timer_and_a_read_shows_it() {
    let mut script = script();
    script.now = HOUR + 1_000;
    assert!(script.tick(), "the transaction is forgotten");
    script.now = 7 * HOUR;
    assert!(!script.tick());
    let account = script.pair.account.as_ref().expect("an account");
    let seen = view(account, Time(script.now), &script.pair.limits);
    assert_eq!((account.buckets[0].credited, seen.buckets[0].credited), (20, 80));
    assert_eq!(tick(account, Time(script.now), &script.pair.limits), None);
}

#[test]
fn a_debt_and_what_is_held_go_on_in_the_new_period() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&Op::bucket("set", "a", BucketAttributes { floor: Some(-20), ..hourly(8) }));
    let reserve = Request {
        options: SessionOptions { tcc_ms: Some(3 * HOUR), ..SessionOptions::default() },
        ..Request::new("s", 0).ask(1, "u", 4)
    };
    script.done(&reserve.reserve());
    script.done(&Op::debit("d", "u", 26));
    assert_eq!(script.funds("a"), (-20, 4));
    for (hour, available) in [(1, -12), (2, -4)] {
        script.now = hour * HOUR;
        script.done(&Op::status(Status::Active));
        assert_eq!(script.funds("a"), (available, 4));
    }
    // The session gives back 4 at 3 h and 1 s, after the refill at 3 h.
    script.now = 4 * HOUR - 1;
    script.done(&Op::status(Status::Active));
    assert_eq!(script.funds("a"), (8, 0));
    script.now = 4 * HOUR;
    script.done(&Op::status(Status::Active));
    assert_eq!((script.funds("a"), script.bucket("a").expired), ((8, 0), 8));
}

#[test]
fn a_debt_is_paid_by_as_many_periods_as_it_takes() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&Op::bucket("set", "a", BucketAttributes { floor: Some(-20), ..hourly(8) }));
    script.done(&Op::debit("d", "u", 30));
    script.now = 4 * HOUR;
    script.done(&Op::status(Status::Active));
    let bucket = script.bucket("a");
    assert_eq!((bucket.available, bucket.credited, bucket.expired), (8, 42, 4));
}

#[test]
fn what_comes_back_between_two_periods_belongs_to_the_first() {
    let mut script = script();
    let reserve = Request {
        options: SessionOptions { tcc_ms: Some(HOUR), ..SessionOptions::default() },
        ..Request::new("s", 0).ask(1, "u", 10)
    };
    script.done(&reserve.reserve());
    script.now = 5 * HOUR;
    script.done(&Op::status(Status::Active));
    let bucket = script.bucket("a");
    assert_eq!((bucket.available, bucket.credited, bucket.expired), (10, 60, 50));
}

#[test]
fn any_number_of_periods_is_a_few_facts() {
    let mut script = script();
    script.done(&Op::debit("d", "u", 3));
    // A little before the end of the clock, without the model, which would walk through the hours.
    let (limits, end) = (script.pair.limits.clone(), Time(Time::LAST.0 - HOUR));
    let account = script.pair.account.take().expect("an account");
    let change = tick(&account, end, &limits).expect("the transactions are forgotten");
    assert_eq!(change.ops.len(), 4, "{change:?}");
    let seen = view(&account, end, &limits);
    let periods = end.0 / HOUR;
    let bucket = seen.buckets[0];
    let expected = (10, 10 + 10 * periods, 10 * periods - 3);
    assert_eq!((bucket.available, bucket.credited, bucket.expired), expected);
}

#[test]
fn the_totals_have_room_for_every_refill_to_come() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let hour = Cycle::fixed(Period::Hour, 0);
    let most = (i64::MAX - 10) / hour.begun(Time(0), Time(script.now), Time::LAST);
    assert_eq!(script.refused(&Op::bucket("b", "a", hourly(most + 1))), Code::Overflow);
    script.done(&Op::bucket("b", "a", hourly(most)));
    let left = i64::MAX - 10 - most * hour.begun(Time(0), Time(script.now), Time::LAST);
    assert_eq!(script.refused(&Op::topup("t", "a", left + 1)), Code::Overflow);
    script.done(&Op::topup("t", "a", left));
    script.now = 3 * HOUR;
    assert_eq!(script.refused(&Op::topup("u", "a", 1)), Code::Overflow);
    script.done(&Op::debit("d", "u", 5));
    assert_eq!(script.refused(&Op::refund("r", "d", Some(1))), Code::Overflow);
}

#[test]
fn an_allowance_of_a_limited_validity_may_be_greater() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let until = |hours: i64| BucketAttributes {
        valid_to: Some(Some(Time(hours * HOUR))),
        ..hourly(i64::MAX / 4)
    };
    assert_eq!(script.refused(&Op::bucket("b", "a", until(6))), Code::Overflow);
    script.done(&Op::bucket("b", "a", until(4)));
    script.now = 4 * HOUR;
    assert!(script.tick());
    let bucket = script.bucket("a");
    assert_eq!((bucket.available, bucket.credited), (0, 10 + 3 * (i64::MAX / 4)));
}

#[test]
fn a_period_before_a_change_of_the_validity_brings_nothing() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let to = |hours: i64| Some(Some(Time(hours * HOUR)));
    script.done(&Op::bucket("b", "a", BucketAttributes { valid_to: to(1), ..hourly(10) }));
    script.now = 4 * HOUR;
    let longer = BucketAttributes { valid_to: to(9), ..Default::default() };
    script.done(&Op::bucket("c", "a", longer));
    assert_eq!((script.funds("a"), script.bucket("a").credited), ((0, 0), 10));
    script.now = 5 * HOUR;
    script.done(&Op::status(Status::Active));
    assert_eq!((script.funds("a"), script.bucket("a").credited), ((10, 0), 20));
}

#[test]
fn a_closed_account_is_not_refilled() {
    let mut script = script();
    script.done(&Op::status(Status::Closed));
    script.now = HOUR;
    assert_eq!(script.refused(&Op::bucket("b", "a", hourly(5))), Code::NotApplicable);
    script.done(&Op::adjust("v", "a", -10));
    script.now = 2 * HOUR;
    script.done(&Op::delete(true));
}

#[test]
fn daily_credits_never_meet_the_bound_on_buckets() {
    let day = 24 * HOUR;
    let mut script =
        ScriptedPair::with(Limits { buckets_max: 4, ..Limits::default() }, &[("own", "u", 1)]);
    script.now = 0;
    for number in 0..40 {
        let (txn, bucket) = (format!("t{number}"), name(&format!("day-{number}")));
        let with = BucketAttributes {
            valid_to: Some(Some(Time((number + 1) * day))),
            ..Default::default()
        };
        let unit = Some(name("u"));
        script.done(&Op::TopUp { txn, bucket, amount: 10, unit, with, keys: vec![] });
        script.now += day / 2;
        script.done(&Op::debit(&format!("d{number}"), "u", 3));
        script.now += day / 2;
    }
    let buckets = &script.pair.account.as_ref().expect("an account").buckets;
    assert_eq!(buckets.len(), 4);
    assert_eq!(buckets[0].id, name("own"));
}

#[test]
fn a_bucket_stays_while_a_debit_from_it_is_remembered() {
    let limits = Limits { buckets_max: 1, transaction_ms: 500, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 10)]);
    let to = BucketAttributes { valid_to: Some(Some(Time(1_100))), ..Default::default() };
    script.done(&Op::bucket("b", "a", to));
    script.now = 1_099;
    script.done(&Op::debit("d", "u", 6));
    let unit = Some(name("u"));
    let with = BucketAttributes::default();
    let other =
        Op::TopUp { txn: "t".to_string(), bucket: name("c"), amount: 1, unit, with, keys: vec![] };
    script.now = 1_598;
    assert_eq!(script.refused(&other), Code::Busy);
    script.done(&Op::refund("r", "d", None));
    script.now = 1_599;
    assert_eq!(script.refused(&other), Code::Busy);
    script.now = 1_600;
    assert!(matches!(script.run(&other), StepResult::Commit(_)));
}

#[test]
fn what_comes_back_makes_good_the_debt_that_it_left_and_no_other() {
    let credit = |amount| BucketAttributes { floor: Some(-100), ..hourly(amount) };
    let limits = Limits { transaction_ms: 9 * HOUR, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 10)]);
    script.done(&Op::bucket("set", "a", credit(10)));
    let hold = |id: &str, amount| {
        let tcc_ms = Some(9 * HOUR);
        let options = SessionOptions { tcc_ms, ..SessionOptions::default() };
        Request { options, ..Request::new(id, 0).ask(1, "u", amount) }.reserve()
    };
    // Of 60, 50 are credit: a debt that is there only because of the hold.
    script.done(&hold("s", 60));
    script.now = 2 * HOUR;
    script.done(&Op::status(Status::Active));
    assert_eq!(script.funds("a"), (-30, 60));
    script.done(&Op::release("s"));
    // The second refill met a debt of 40. The 10 of the first hour and those of the second have expired.
    assert_eq!(script.funds("a"), (10, 0));

    // The units of the third hour, held without a debt, pay nothing of the debt that the fourth leaves.
    script.done(&hold("t", 10));
    script.now = 3 * HOUR;
    script.done(&Op::debit("d", "u", 30));
    script.now = 4 * HOUR;
    script.done(&Op::release("t"));
    assert_eq!(script.funds("a"), (-10, 0));
    // What the debit took pays it.
    assert_eq!(script.amount(&Op::refund("r", "d", None)), (Code::Ok, 30));
    assert_eq!(script.funds("a"), (10, 0));
}

#[test]
fn a_debt_that_grows_in_each_period_is_kept_eight_times() {
    // One account is touched in each hour, the other not in the last ones: both must have the same.
    for last_hours in [vec![10, 11, 12], vec![12]] {
        let mut script = ScriptedPair::new(&[("a", "u", 10)]);
        script.done(&Op::bucket("set", "a", BucketAttributes { floor: Some(-1_000), ..hourly(1) }));
        for hour in (0..10).chain(last_hours) {
            script.now = hour * HOUR + 1_000;
            let id = format!("s{hour}");
            let hold = Request::new(&id, 0).ask(1, "u", 20);
            let options = SessionOptions { tcc_ms: Some(100 * HOUR), ..hold.options };
            script.done(&Request { options, ..hold }.reserve());
        }
        for hour in 0..10 {
            script.done(&Op::release(&format!("s{hour}")));
        }
    }
}

/// Returns an hourly allowance of 10 with credit down to -100, a debt rule and a rollover.
fn with_terms(debt: DebtRule, rollover: i64) -> ScriptedPair {
    let limits = Limits { transaction_ms: 99 * HOUR, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 10)]);
    let (floor, debt, rollover) = (Some(-100), Some(debt), Some(rollover));
    script.done(&Op::bucket("set", "a", BucketAttributes { floor, debt, rollover, ..hourly(10) }));
    script
}

fn long_hold(id: &str, amount: i64) -> Op {
    let options = SessionOptions { tcc_ms: Some(9 * HOUR), ..SessionOptions::default() };
    Request { options, ..Request::new(id, 0).ask(1, "u", amount) }.reserve()
}

#[test]
fn an_allowance_never_gives_more_than_its_amount_and_its_rollover() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let rollover = random.pick(&[0, 1, 7, 25]);
        let mut script = with_terms(random.pick(&DebtRule::ALL), rollover);
        let (mut hour, mut taken) = (0, 0);
        for step in 0..40 {
            let next = hour + random.pick(&[0, 0, 1, 1, 2, 5]);
            if next > hour {
                (hour, taken) = (next, 0);
                script.now = hour * HOUR;
            }
            let amount = random.between(1, 12);
            if script.amount(&Op::debit(&format!("d{step}"), "u", amount)).0 == Code::Ok {
                taken += amount;
            }
            let (available, _) = script.funds("a");
            assert!(available + taken <= 10 + rollover, "seed {seed}, step {step}");
        }
    }
}

#[test]
fn a_carried_debt_is_paid_by_other_credit_alone() {
    let mut script = with_terms(DebtRule::Carry, 4);
    script.done(&Op::debit("d", "u", 16));
    for hour in 1..9 {
        script.now = hour * HOUR;
        script.done(&Op::status(Status::Active));
        // 6 are owed, so of the next hours' 10 and of the 4 that roll over so much is missing.
        assert_eq!(script.funds("a"), (if hour == 1 { 4 } else { 8 }, 0));
    }
    script.done(&Op::adjust("p", "a", 5));
    assert_eq!(script.funds("a"), (13, 0));
    script.now = 9 * HOUR;
    script.done(&Op::status(Status::Active));
    assert_eq!(script.funds("a"), (13, 0));
}

#[test]
fn a_carried_debt_ends_with_the_hold_that_left_it() {
    let mut script = with_terms(DebtRule::Carry, 0);
    script.done(&long_hold("s", 30));
    for hour in [1, 2] {
        script.now = hour * HOUR;
        script.done(&Op::status(Status::Active));
        assert_eq!(script.funds("a"), (-10, 30));
    }
    script.done(&Op::release("s"));
    assert_eq!(script.funds("a"), (10, 0));
    script.now = 3 * HOUR;
    script.done(&Op::status(Status::Active));
    assert_eq!(script.funds("a"), (10, 0));
}

#[test]
fn a_forgiven_debt_gives_nothing_back() {
    let mut script = with_terms(DebtRule::Forgive, 0);
    script.done(&long_hold("s", 30));
    script.now = HOUR;
    script.done(&Op::status(Status::Active));
    assert_eq!(script.funds("a"), (10, 30));
    script.done(&Op::release("s"));
    assert_eq!(script.funds("a"), (10, 0));
    let bucket = script.bucket("a");
    assert_eq!((bucket.credited, bucket.expired), (40, 30));
}

#[test]
fn a_debt_is_forgiven_as_far_as_the_totals_have_room() {
    let (most, hours) = (i64::MAX, 3);
    let end = Some(Some(Time(hours * HOUR + 1)));
    let mut script = ScriptedPair::new(&[("a", "u", most - 45)]);
    let terms = BucketAttributes { floor: Some(-100), valid_to: end, ..hourly(10) };
    let terms = BucketAttributes { debt: Some(DebtRule::Forgive), ..terms };
    script.done(&Op::bucket("set", "a", terms));
    script.done(&Op::debit("d", "u", most - 45 + 40));
    script.now = HOUR;
    script.done(&Op::status(Status::Active));
    // 30 are to come, so 15 of the debt of 40 have room.
    assert_eq!(script.funds("a"), (-15, 0));
}
