//! Section 18: marks of buckets, and each way to cross one.

use scurry_ledger::{
    BucketAttributes, Change, Code, Decision, Op as Fact, Period, SessionOptions, Time, decide,
    tick,
};
use scurry_model::{Op, Request, ScriptedPair, name};

const HOUR: i64 = 3_600_000;
/// A crossing: whether less is available than the mark, and the mark.
const BELOW_5: [(bool, i64); 1] = [(true, 5)];
const ABOVE_5: [(bool, i64); 1] = [(false, 5)];

fn s(number: u32) -> Request {
    Request::new("s", number)
}

fn marked(mark: Option<i64>) -> BucketAttributes {
    BucketAttributes { mark: Some(mark), ..BucketAttributes::default() }
}

/// Creates one bucket of 10 with a mark of 5.
fn script() -> ScriptedPair {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    assert_eq!(crossed(&mut script, &Op::bucket("mark", "a", marked(Some(5)))), []);
    script
}

fn crossings(change: &Change) -> Vec<(bool, i64)> {
    let each = change.ops.iter().filter_map(|fact| match fact {
        Fact::CrossMark { mark, is_below, .. } => Some((*is_below, *mark)),
        _ => None,
    });
    each.collect()
}

/// Returns the marks that a command crosses, in the order of the buckets.
fn crossed(script: &mut ScriptedPair, op: &Op) -> Vec<(bool, i64)> {
    let decided = op.with(|command| {
        decide(script.pair.account.as_ref(), command, Time(script.now), &script.pair.limits)
    });
    let Decision::Commit(change, _) = decided else { panic!("{decided:?}") };
    script.done(op);
    crossings(&change)
}

/// Returns the marks that a timer crosses.
fn crossed_by_timer(script: &mut ScriptedPair) -> Vec<(bool, i64)> {
    let account = script.pair.account.as_ref().expect("an account");
    let change = tick(account, Time(script.now), &script.pair.limits).expect("something is due");
    assert!(script.tick());
    crossings(&change)
}

#[test]
fn a_debit_crosses_a_mark_once() {
    let mut script = script();
    // What equals the mark is not below it.
    assert_eq!(crossed(&mut script, &Op::debit("a", "u", 5)), []);
    assert_eq!(crossed(&mut script, &Op::debit("b", "u", 1)), BELOW_5);
    assert_eq!(crossed(&mut script, &Op::debit("c", "u", 1)), []);
    assert_eq!(crossed(&mut script, &Op::debit("d", "u", 100)), [], "a denial moves nothing");
    assert_eq!(crossed(&mut script, &Op::refund("r", "c", None)), []);
    assert_eq!(crossed(&mut script, &Op::refund("q", "b", None)), ABOVE_5);
}

#[test]
fn a_topup_over_the_mark_makes_the_next_fall_a_crossing_again() {
    let mut script = script();
    assert_eq!(crossed(&mut script, &Op::adjust("a", "a", -6)), BELOW_5);
    assert_eq!(crossed(&mut script, &Op::topup("b", "a", 1)), ABOVE_5);
    assert_eq!(crossed(&mut script, &Op::topup("c", "a", 10)), []);
    assert_eq!(crossed(&mut script, &Op::adjust("d", "a", -11)), BELOW_5);
}

#[test]
fn a_grant_crosses_and_what_comes_back_crosses_again() {
    let mut script = script();
    assert_eq!(crossed(&mut script, &s(0).ask(1, "u", 6).reserve()), BELOW_5);
    // It releases 6 and holds 7: only what is available before and after the whole counts.
    assert_eq!(crossed(&mut script, &s(1).both(1, "u", 0, 7).update()), []);
    assert_eq!(crossed(&mut script, &s(2).used(1, "u", 2).terminate()), ABOVE_5);
}

#[test]
fn a_hold_that_ends_by_itself_crosses_with_the_timer_and_with_a_command() {
    for timer in [true, false] {
        let mut script = script();
        let options = SessionOptions { tcc_ms: Some(100), ..SessionOptions::default() };
        let reserve = Request { options, ..s(0).ask(1, "u", 8) }.reserve();
        assert_eq!(crossed(&mut script, &reserve), BELOW_5);
        script.now += 100;
        let came = match timer {
            true => crossed_by_timer(&mut script),
            false => crossed(&mut script, &Op::debit("d", "u", 2)),
        };
        assert_eq!(came, ABOVE_5);
    }
}

#[test]
fn what_is_due_counts_as_a_part_of_the_commit() {
    let mut script = script();
    let options = SessionOptions { tcc_ms: Some(100), ..SessionOptions::default() };
    script.done(&Request { options, ..s(0).ask(1, "u", 8) }.reserve());
    script.now += 100;
    // The deadline gives 8 back, and the debit takes 7 of it: below before and after.
    assert_eq!(crossed(&mut script, &Op::debit("d", "u", 7)), []);
}

#[test]
fn the_end_of_a_bucket_crosses() {
    let mut script = script();
    let end = BucketAttributes { valid_to: Some(Some(Time(2_000))), ..Default::default() };
    assert_eq!(crossed(&mut script, &Op::bucket("end", "a", end)), []);
    script.now = 2_000;
    assert_eq!(crossed_by_timer(&mut script), BELOW_5);
}

#[test]
fn a_refill_crosses_both_ways() {
    let mut script = script();
    let hourly = |amount| BucketAttributes {
        period: Some(Period::Hour),
        refill: Some(amount),
        ..BucketAttributes::default()
    };
    assert_eq!(crossed(&mut script, &Op::bucket("less", "a", hourly(3))), []);
    script.now = HOUR;
    // The rest expires above 3.
    let counter = Op::counter("c", "c", 1, None);
    assert_eq!(crossed(&mut script, &counter), BELOW_5);
    assert_eq!(crossed(&mut script, &Op::bucket("more", "a", hourly(8))), []);
    script.now = 2 * HOUR;
    assert_eq!(crossed(&mut script, &Op::counter("d", "c", 1, None)), ABOVE_5);
}

#[test]
fn a_mark_above_what_is_available_is_told_when_it_is_set() {
    let mut script = script();
    let set = |txn: &str, mark| Op::bucket(txn, "a", marked(mark));
    assert_eq!(crossed(&mut script, &set("a", Some(11))), [(true, 11)]);
    // The same mark again, and another attribute, tell nothing.
    assert_eq!(crossed(&mut script, &set("b", Some(11))), []);
    let floor = BucketAttributes { floor: Some(-5), ..BucketAttributes::default() };
    assert_eq!(crossed(&mut script, &Op::bucket("c", "a", floor)), []);
    assert_eq!(crossed(&mut script, &set("d", Some(12))), [(true, 12)]);
    assert_eq!(crossed(&mut script, &set("e", Some(10))), [(false, 10)]);
    assert_eq!(crossed(&mut script, &set("f", Some(20))), [(true, 20)]);
    assert_eq!(crossed(&mut script, &set("g", None)), []);
    assert_eq!(crossed(&mut script, &Op::debit("h", "u", 10)), []);
    // A mark may be below 0, for a bucket with a credit limit.
    assert_eq!(crossed(&mut script, &set("i", Some(-4))), []);
    assert_eq!(crossed(&mut script, &Op::debit("j", "u", 5)), [(true, -4)]);
}

#[test]
fn a_new_bucket_counts_as_not_below_before() {
    let mut script = ScriptedPair::new(&[]);
    let new = |txn: &str, id: &str, amount| Op::TopUp {
        txn: txn.to_string(),
        bucket: name(id),
        amount,
        unit: Some(name("u")),
        with: marked(Some(5)),
        keys: vec![],
    };
    assert_eq!(crossed(&mut script, &new("a", "a", 4)), BELOW_5);
    assert_eq!(crossed(&mut script, &new("b", "b", 5)), []);
    assert_eq!(crossed(&mut script, &Op::debit("d", "u", 9)), BELOW_5);
    assert_eq!(script.refused(&new("c", "b", 1)), Code::Invalid);
}

#[test]
fn every_bucket_has_its_own_mark() {
    let mut script = ScriptedPair::new(&[("a", "u", 10), ("b", "u", 10), ("c", "u", 10)]);
    script.done(&Op::bucket("a", "a", marked(Some(5))));
    script.done(&Op::bucket("c", "c", marked(Some(4))));
    assert_eq!(crossed(&mut script, &Op::debit("d", "u", 27)), [(true, 5), (true, 4)]);
    let topup = crossed(&mut script, &Op::topup("t", "c", 2));
    assert_eq!(topup, [(false, 4)]);
}
