//! Section 14: limits of a rolling span and rates.

use scurry_ledger::{
    Answer, Code, LimitSubject, LimitTerms, Limits, Op as Fact, Period, Time, WindowTerms,
};
use scurry_model::{Op, Request, ScriptedPair, name};

fn s(number: u32) -> Request {
    Request::new("s", number)
}

fn limit(txn: &str, amount: i64, window: WindowTerms) -> Op {
    let counted = LimitSubject::Units { unit: name("u"), item: None };
    let terms = LimitTerms::Set { counted, amount, window };
    Op::Limit { txn: txn.to_string(), limit: name("l"), terms }
}

fn rolling(txn: &str, amount: i64, span_ms: i64) -> Op {
    limit(txn, amount, WindowTerms::Rolling { span_ms })
}

fn rate(txn: &str, amount: i64, span_ms: i64, burst: Option<i64>) -> Op {
    limit(txn, amount, WindowTerms::Rate { span_ms, burst })
}

/// Returns the amounts used, held and overrun of the limit now.
fn shown(script: &ScriptedPair) -> (i64, i64, i64) {
    let account = script.pair.account.as_ref().expect("an account");
    let limit = account.limit(name("l")).expect("a limit");
    let read = account.limit_at(limit, Time(script.now));
    (read.used, account.held_in(limit), read.overrun)
}

fn new() -> ScriptedPair {
    let mut script = ScriptedPair::new(&[("a", "u", 1_000_000)]);
    script.now = 1_700_000_040_000;
    script
}

fn debit(script: &mut ScriptedPair, txn: &str, amount: i64) -> Code {
    script.amount(&Op::debit(txn, "u", amount)).0
}

#[test]
fn a_use_counts_for_the_span_and_at_most_a_thirtieth_longer() {
    let mut script = new();
    script.done(&rolling("1", 10, 60_000));
    assert_eq!(debit(&mut script, "a", 6), Code::Ok);
    script.now += 1_999; // the last ms of the part
    assert_eq!(debit(&mut script, "b", 4), Code::Ok);
    let (first, last) = (script.now - 1_999, script.now);
    script.now = first + 60_000;
    assert_eq!(debit(&mut script, "c", 1), Code::CreditLimitReached);
    script.now = last + 59_999;
    assert_eq!(
        (debit(&mut script, "d", 1), shown(&script)),
        (Code::CreditLimitReached, (10, 0, 0))
    );
    script.now += 1;
    assert_eq!((debit(&mut script, "e", 10), shown(&script)), (Code::Ok, (10, 0, 0)));
}

#[test]
fn a_refund_is_taken_out_of_the_part_of_its_debit() {
    let mut script = new();
    script.done(&rolling("1", 10, 60_000));
    assert_eq!(debit(&mut script, "a", 6), Code::Ok);
    script.now += 30_000;
    assert_eq!(debit(&mut script, "b", 4), Code::Ok);
    script.done(&Op::refund("r1", "a", Some(2)));
    assert_eq!(shown(&script), (8, 0, 0));
    script.now += 32_000;
    assert_eq!(shown(&script), (4, 0, 0), "the first part counts no more");
    script.done(&Op::refund("r2", "a", None));
    assert_eq!(shown(&script), (4, 0, 0));
    script.done(&Op::refund("r3", "b", None));
    assert_eq!(shown(&script), (0, 0, 0));
}

#[test]
fn a_rate_drains_evenly_and_exactly() {
    let mut script = new();
    // Seven units in ten seconds: a unit in 1428.57 ms.
    script.done(&rate("1", 7, 10_000, Some(3)));
    assert_eq!(debit(&mut script, "a", 4), Code::CreditLimitReached);
    assert_eq!((debit(&mut script, "b", 3), shown(&script)), (Code::Ok, (3, 0, 0)));
    script.now += 1_428;
    assert_eq!(debit(&mut script, "c", 1), Code::CreditLimitReached);
    script.now += 1;
    assert_eq!(debit(&mut script, "d", 1), Code::Ok);
    // The fraction is not lost: the second unit has drained after 2857.14 ms.
    script.now += 1_428;
    assert_eq!(debit(&mut script, "e", 1), Code::CreditLimitReached);
    script.now += 1;
    assert_eq!((debit(&mut script, "f", 1), shown(&script)), (Code::Ok, (3, 0, 0)));
    script.now += 100_000;
    assert_eq!(shown(&script), (0, 0, 0), "never below 0");
}

#[test]
fn what_is_held_does_not_drain() {
    let mut script = new();
    script.done(&rate("1", 60, 60_000, Some(10)));
    assert_eq!(script.grants(&s(0).ask(1, "u", 8).reserve()).1, [8]);
    script.now += 30_000;
    assert_eq!((debit(&mut script, "a", 3), shown(&script)), (Code::CreditLimitReached, (0, 8, 0)));
    script.done(&s(1).used(1, "u", 5).terminate());
    assert_eq!(shown(&script), (5, 0, 0));
    script.now += 2_000;
    assert_eq!((debit(&mut script, "b", 7), shown(&script)), (Code::Ok, (10, 0, 0)));
}

#[test]
fn a_debit_that_has_drained_gives_nothing_back() {
    let mut script = new();
    script.done(&rate("1", 60, 60_000, Some(10)));
    assert_eq!(debit(&mut script, "a", 5), Code::Ok);
    script.now += 4_500; // half a unit is left
    assert_eq!(debit(&mut script, "b", 5), Code::Ok);
    script.done(&Op::refund("r1", "a", None));
    assert_eq!(shown(&script), (6, 0, 0));
    script.done(&Op::refund("r2", "b", Some(4)));
    assert_eq!(shown(&script), (2, 0, 0));
    script.now += 1_000;
    script.done(&Op::refund("r3", "b", None));
    assert_eq!(shown(&script), (1, 0, 0), "less than a unit is left");
}

#[test]
fn overrun_falls_as_use_goes() {
    for op in [rate("1", 10, 10_000, None), rolling("1", 10, 30_000)] {
        let mut script = new();
        script.done(&op);
        script.done(&s(0).ask(1, "u", 4).reserve());
        script.done(&s(1).used(1, "u", 25).terminate());
        assert_eq!(shown(&script), (25, 0, 15));
        script.now += 60_000;
        assert_eq!(shown(&script), (0, 0, 0));
        assert_eq!((debit(&mut script, "a", 10), shown(&script)), (Code::Ok, (10, 0, 0)));
    }
}

#[test]
fn a_threshold_is_reported_again_after_use_was_below_it() {
    let mut script = new();
    script.done(&rate("1", 10, 10_000, None));
    let told = |script: &mut ScriptedPair, txn: &str, amount| {
        let before = script.pair.account.as_ref().map_or(0, |account| account.limits[0].told);
        let code = debit(script, txn, amount);
        assert_eq!(code, Code::Ok, "{txn}");
        (before, script.pair.account.as_ref().map_or(0, |account| account.limits[0].told))
    };
    assert_eq!(told(&mut script, "a", 8), (0, 80));
    script.now += 1_000;
    // 7, then 8 again.
    assert_eq!(told(&mut script, "b", 1), (80, 80));
    let thresholds = |script: &mut ScriptedPair, txn: &str| {
        let decision = Op::debit(txn, "u", 1).with(|command| {
            scurry_ledger::decide(
                script.pair.account.as_ref(),
                command,
                Time(script.now),
                &Limits::default(),
            )
        });
        let scurry_ledger::Decision::Commit(change, Answer::Amount { .. }) = decision else {
            panic!("it is done");
        };
        change.ops.iter().filter(|op| matches!(op, Fact::ReachThreshold { .. })).count()
    };
    assert_eq!(thresholds(&mut script, "c"), 0, "9 of 10: 80 % is reported already");
    script.now += 1_000;
    assert_eq!(thresholds(&mut script, "c"), 1, "7 became 8");
}

#[test]
fn another_window_keeps_what_is_used() {
    let mut script = new();
    script.done(&rolling("1", 10, 60_000));
    assert_eq!(debit(&mut script, "a", 6), Code::Ok);
    script.now += 50_000;
    // It counts as used now.
    script.done(&rolling("2", 10, 120_000));
    assert_eq!(shown(&script), (6, 0, 0));
    script.now += 100_000;
    assert_eq!(shown(&script), (6, 0, 0));
    script.done(&Op::refund("r1", "a", Some(1)));
    script.done(&rate("3", 10, 10_000, Some(4)));
    assert_eq!(shown(&script), (5, 0, 1));
    script.now += 1_500;
    // A level of 3.5 units is kept with its span, and becomes whole units with another.
    script.done(&rate("4", 10, 10_000, None));
    script.now += 500;
    assert_eq!(shown(&script), (3, 0, 0));
    script.now += 500;
    script.done(&limit("5", 10, WindowTerms::period(Period::Day)));
    assert_eq!(shown(&script), (3, 0, 0));
    script.done(&Op::refund("r2", "a", Some(1)));
    assert_eq!(shown(&script), (2, 0, 0));
    script.now += 86_400_000;
    assert_eq!(shown(&script), (0, 0, 0));
}

#[test]
fn fields_of_spans_are_checked() {
    let mut script = new();
    for (txn, op) in [
        ("1", rolling("1", 10, 999)),
        ("2", rate("2", 10, 9_999 * 86_400_000 + 1, None)),
        ("3", rate("3", 10, 1_000, Some(0))),
        ("4", rate("4", -1, 1_000, None)),
    ] {
        assert_eq!(script.refused(&op), Code::Invalid, "{txn}");
    }
    let terms = LimitTerms::Set {
        counted: LimitSubject::Sessions,
        amount: 1,
        window: WindowTerms::Rolling { span_ms: 1_000 },
    };
    let of_sessions = Op::Limit { txn: "5".to_string(), limit: name("n"), terms };
    assert_eq!(script.refused(&of_sessions), Code::Invalid);
    let t = Request::new("t", 0);
    script.done(&rate("6", i64::MAX, 1_000, None));
    assert_eq!(script.grants(&t.ask(1, "u", 9).reserve()).1, [9]);
}
