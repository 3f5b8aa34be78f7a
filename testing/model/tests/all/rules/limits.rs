//! Section 14: limits.

use scurry_ledger::{
    Change, Code, Decision, Final, Limit, LimitSubject, LimitTerms, Op as Fact, Period,
    PeriodClock, SessionOptions, Time, WindowTerms, decide,
};
use scurry_model::{Op, Request, ScriptedPair, name};

const HOUR: i64 = 3_600_000;
const DAY: Option<Period> = Some(Period::Day);

fn s(number: u32) -> Request {
    Request::new("s", number)
}

/// Returns the amounts used, held and overrun of a limit now.
fn shown(script: &ScriptedPair, id: &str) -> (i64, i64, i64) {
    let account = script.pair.account.as_ref().expect("an account");
    let limit = account.limit(name(id)).expect("a limit");
    let read = account.limit_at(limit, Time(script.now));
    (read.used, account.held_in(limit), read.overrun)
}

fn set(
    txn: &str,
    limit: &str,
    counted: LimitSubject,
    amount: i64,
    cycle: (Option<Period>, Option<i64>),
) -> Op {
    let (period, offset_minutes) = cycle;
    let clock = PeriodClock { offset_minutes, ..PeriodClock::NONE };
    let terms = LimitTerms::Set { counted, amount, window: WindowTerms::Period { period, clock } };
    Op::Limit { txn: txn.to_string(), limit: name(limit), terms }
}

fn of_item(key: u32) -> LimitSubject {
    LimitSubject::Units { unit: name("u"), item: Some(key.into()) }
}

fn remove(txn: &str, limit: &str) -> Op {
    Op::Limit { txn: txn.to_string(), limit: name(limit), terms: LimitTerms::Remove }
}

#[test]
fn holds_count_and_settling_moves_them_to_used() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    assert_eq!(script.amount(&Op::limit("1", "l", "u", 10, DAY)), (Code::Ok, 10));
    let first = script.items(&s(0).ask(1, "u", 8).reserve());
    assert_eq!((first.1[0].granted, first.1[0].last), (8, Final::No));
    assert_eq!(shown(&script, "l"), (0, 8, 0));
    // The request's own hold was given back first.
    let next = script.items(&s(1).both(1, "u", 5, 8).update());
    assert_eq!((next.1[0].granted, next.1[0].last), (5, Final::Last));
    assert_eq!(shown(&script, "l"), (5, 5, 0));
    script.done(&s(2).used(1, "u", 1).terminate());
    assert_eq!(shown(&script, "l"), (6, 0, 0));
}

#[test]
fn the_limit_that_leaves_the_least_decides_and_the_first_of_several() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&Op::limit("1", "x", "u", 10, None));
    script.done(&Op::limit("2", "y", "u", 7, None));
    script.done(&Op::limit("3", "z", "u", 7, None));
    assert_eq!(script.grants(&s(0).ask(1, "u", 50).reserve()).1, [7]);
    let t = |number| Request::new("t", number);
    assert_eq!(script.items(&t(0).ask(1, "u", 1).reserve()).0, Code::CreditLimitReached);
    assert_eq!(script.amount(&Op::debit("d", "u", 1)), (Code::CreditLimitReached, 0));
    script.done(&remove("4", "y"));
    script.done(&remove("5", "z"));
    assert_eq!(script.amount(&Op::debit("e", "u", 4)), (Code::CreditLimitReached, 0));
    assert_eq!(script.amount(&Op::debit("f", "u", 3)), (Code::Ok, 3));
    assert_eq!(shown(&script, "x"), (3, 7, 0));
}

#[test]
fn a_limit_of_an_item_counts_that_item_alone() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&set("1", "l", of_item(1), 5, (None, None)));
    assert_eq!(script.grants(&s(0).ask(1, "u", 9).ask(2, "u", 9).reserve()).1, [5, 9]);
    assert_eq!(script.amount(&Op::debit("d", "u", 20)), (Code::Ok, 20));
    assert_eq!(shown(&script, "l"), (0, 5, 0));
    script.done(&s(1).used(1, "u", 4).used(2, "u", 4).update());
    assert_eq!(shown(&script, "l"), (4, 0, 0));
}

#[test]
fn sessions_beyond_the_limit_are_denied_and_that_is_remembered() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    assert_eq!(script.amount(&Op::session_limit("1", "n", 1)), (Code::Ok, 1));
    script.done(&s(0).ask(1, "u", 1).reserve());
    let denied = Request::new("t", 0).ask(1, "u", 1).reserve();
    let (code, items) = script.items(&denied);
    assert_eq!((code, items[0].code, items[0].last), (Code::CreditLimitReached, code, Final::Held));
    script.done(&Op::release("s"));
    assert!(matches!(script.run(&denied), scurry_model::StepResult::Replay(_)));
    assert_eq!(script.grants(&Request::new("u", 0).ask(1, "u", 1).reserve()).1, [1]);
}

#[test]
fn overrun_alone_brings_a_limit_above_its_amount() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&Op::limit("1", "l", "u", 10, DAY));
    script.done(&s(0).ask(1, "u", 6).reserve());
    script.done(&Request::new("t", 0).ask(1, "u", 3).reserve());
    // 6 from the hold, 1 is left, 5 are over.
    script.done(&s(1).used(1, "u", 12).update());
    assert_eq!(shown(&script, "l"), (12, 3, 5));
    assert_eq!(script.items(&s(2).ask(1, "u", 1).update()).0, Code::CreditLimitReached);
}

#[test]
fn uncollected_use_counts() {
    let mut script = ScriptedPair::new(&[("a", "u", 3)]);
    script.done(&Op::limit("1", "l", "u", 10, DAY));
    let clamp = Request {
        options: SessionOptions {
            overrun: Some(scurry_ledger::Overrun::Clamp),
            ..SessionOptions::default()
        },
        ..s(0).ask(1, "u", 3)
    };
    script.done(&clamp.reserve());
    script.done(&s(1).used(1, "u", 9).update());
    assert_eq!(shown(&script, "l"), (9, 0, 0));
}

#[test]
fn late_use_counts() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&Op::limit("1", "l", "u", 10, DAY));
    script.done(&s(2).ask(1, "u", 4).reserve());
    script.done(&s(1).used(1, "u", 3).update());
    assert_eq!(shown(&script, "l"), (3, 4, 0));
}

#[test]
fn a_new_period_begins_at_nothing_and_keeps_what_is_held() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&Op::limit("1", "l", "u", 10, Some(Period::Hour)));
    script.done(&Op::debit("d", "u", 3));
    let long = Request {
        options: SessionOptions { tcc_ms: Some(HOUR), ..SessionOptions::default() },
        ..s(0).ask(1, "u", 7)
    };
    script.done(&long.reserve());
    script.now = HOUR - 1;
    assert_eq!(shown(&script, "l"), (3, 7, 0));
    assert!(!script.tick());
    script.now = HOUR;
    assert!(!script.tick());
    assert_eq!(shown(&script, "l"), (0, 7, 0));
    // Reported in the new period, so it counts there.
    script.done(&s(1).both(1, "u", 2, 20).update());
    assert_eq!(shown(&script, "l"), (2, 8, 0));
}

#[test]
fn what_is_held_may_be_above_the_amount_of_a_new_period() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&Op::limit("1", "l", "u", 10, Some(Period::Hour)));
    let long = Request {
        options: SessionOptions { tcc_ms: Some(HOUR), ..SessionOptions::default() },
        ..s(0).ask(1, "u", 8)
    };
    script.done(&long.reserve());
    assert_eq!(script.amount(&Op::limit("2", "l", "u", 5, None)), (Code::Ok, 0));
    assert_eq!(shown(&script, "l"), (0, 8, 3));
    script.now = HOUR;
    script.done(&s(1).used(1, "u", 8).update());
    assert_eq!(shown(&script, "l"), (8, 0, 3));
}

#[test]
fn periods_follow_the_clocks_of_the_zone() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    // A quarter past an hour here is a full hour there.
    let unit = LimitSubject::Units { unit: name("u"), item: None };
    script.done(&set("1", "l", unit, 10, (Some(Period::Hour), Some(-75))));
    script.done(&Op::debit("d", "u", 3));
    script.now = HOUR / 4 - 1;
    assert_eq!(shown(&script, "l").0, 3);
    script.now = HOUR / 4;
    assert_eq!(shown(&script, "l").0, 0);
}

#[test]
fn a_refund_gives_back_what_was_debited_in_this_period() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&Op::debit("before", "u", 1));
    script.done(&Op::limit("1", "l", "u", 10, Some(Period::Hour)));
    script.done(&Op::debit("old", "u", 3));
    script.done(&Op::refund("r1", "before", None));
    assert_eq!(shown(&script, "l").0, 3);
    script.now = HOUR;
    script.done(&Op::debit("new", "u", 4));
    script.done(&Op::refund("r2", "old", None));
    assert_eq!(shown(&script, "l").0, 4);
    script.done(&Op::refund("r3", "new", Some(3)));
    assert_eq!(shown(&script, "l").0, 1);
    script.done(&Op::refund("r4", "new", None));
    assert_eq!(shown(&script, "l").0, 0);
}

#[test]
fn a_limit_that_is_set_on_open_sessions_begins_with_what_they_hold() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&s(0).ask(1, "u", 8).ask(2, "u", 4).reserve());
    assert_eq!(script.amount(&Op::limit("1", "l", "u", 20, DAY)), (Code::Ok, 8));
    script.done(&set("2", "i", of_item(2), 3, (None, None)));
    assert_eq!((shown(&script, "l"), shown(&script, "i")), ((0, 12, 0), (0, 4, 1)));
    script.done(&Op::session_limit("3", "n", 0));
    assert_eq!(shown(&script, "n"), (0, 1, 1));
    script.done(&Op::release("s"));
    assert_eq!((shown(&script, "l").1, shown(&script, "i").1), (0, 0));
}

#[test]
fn a_changed_amount_or_period_keeps_what_is_used() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&Op::limit("1", "l", "u", 10, DAY));
    script.done(&Op::debit("d", "u", 6));
    assert_eq!(script.amount(&Op::limit("2", "l", "u", 20, None)), (Code::Ok, 14));
    assert_eq!(script.amount(&Op::limit("3", "l", "u", 20, DAY)), (Code::Ok, 14));
    assert_eq!(script.amount(&Op::limit("4", "l", "u", 20, Some(Period::Month))), (Code::Ok, 14));
    // A limit that is removed and made again begins at 0.
    script.done(&remove("4a", "l"));
    assert_eq!(script.amount(&Op::limit("4b", "l", "u", 20, DAY)), (Code::Ok, 20));
    assert_eq!(script.refused(&Op::limit("5", "l", "v", 20, None)), Code::Invalid);
    assert_eq!(script.refused(&Op::session_limit("5", "l", 20)), Code::Invalid);
    assert_eq!(script.refused(&remove("5", "m")), Code::UnknownLimit);
}

#[test]
fn holds_that_do_not_fit_one_limit_together_are_no_limit() {
    let mut script = ScriptedPair::new(&[("a", "u", i64::MAX), ("b", "u", i64::MAX)]);
    script.done(&s(0).ask(1, "u", i64::MAX).ask(2, "u", 1).reserve());
    assert_eq!(script.refused(&Op::limit("1", "l", "u", 1, None)), Code::Overflow);
    assert_eq!(script.amount(&set("2", "i", of_item(1), 1, (None, None))), (Code::Ok, 0));
}

/// Returns the thresholds that a command reports.
fn told(script: &mut ScriptedPair, op: &Op) -> Vec<(u8, i64)> {
    let decided = op.with(|command| {
        decide(script.pair.account.as_ref(), command, Time(script.now), &script.pair.limits)
    });
    let Decision::Commit(Change { ops, .. }, _) = decided else { panic!("{decided:?}") };
    script.done(op);
    let told = ops.iter().filter_map(|fact| match fact {
        Fact::ReachThreshold { percent, used, .. } => Some((*percent, *used)),
        _ => None,
    });
    told.collect()
}

#[test]
fn each_threshold_is_told_once_in_a_period() {
    let mut script = ScriptedPair::new(&[("a", "u", 1_000)]);
    script.done(&Op::limit("1", "l", "u", 10, Some(Period::Hour)));
    assert_eq!(told(&mut script, &Op::debit("a", "u", 7)), []);
    assert_eq!(told(&mut script, &Op::debit("b", "u", 1)), [(80, 8)]);
    assert_eq!(told(&mut script, &Op::debit("c", "u", 1)), []);
    script.done(&Op::refund("r", "c", None));
    script.done(&Op::refund("q", "b", None));
    assert_eq!(told(&mut script, &Op::debit("d", "u", 3)), [(100, 10)]);
    script.now = HOUR;
    assert_eq!(told(&mut script, &Op::debit("e", "u", 10)), [(100, 10)]);
    // Under a greater amount a threshold may be reported again; a threshold that is already reached when the amount is
    // set is not.
    assert_eq!(told(&mut script, &Op::limit("2", "l", "u", 12, None)), []);
    assert_eq!(told(&mut script, &Op::debit("f", "u", 1)), []);
    assert_eq!(told(&mut script, &Op::debit("g", "u", 1)), [(100, 12)]);
    assert_eq!(Limit::THRESHOLDS, [80, 100]);
}

#[test]
fn a_commit_tells_one_threshold_of_a_limit_and_what_is_used_after_it() {
    let mut script = ScriptedPair::new(&[("a", "u", 1_000)]);
    let debit = |txn: &str, amounts: &[i64]| {
        let items =
            (1..).zip(amounts).map(|(item, &amount)| (item, "u", amount)).collect::<Vec<_>>();
        Op::debit_items(txn, &items)
    };
    script.done(&Op::limit("1", "l", "u", 100, None));
    script.done(&Op::limit("2", "m", "u", 200, None));
    assert_eq!(told(&mut script, &debit("a", &[80, 15, 4])), [(80, 99)]);
    // A denied command reports nothing, whatever its first items would have reached.
    assert_eq!(told(&mut script, &debit("b", &[1, 1_000])), []);
    script.done(&Op::limit("3", "l", "u", 200, None));
    script.done(&s(0).ask(1, "u", 40).ask(2, "u", 41).reserve());
    // Two limits, one threshold of each: 80 % by the first item, 100 % by the second.
    let update = s(1).used(1, "u", 61).used(2, "u", 41).used(3, "u", 4);
    assert_eq!(told(&mut script, &update.update()), [(100, 205), (100, 205)]);
    assert_eq!(told(&mut script, &s(2).used(1, "u", 1).used(2, "u", 1).terminate()), []);
}
