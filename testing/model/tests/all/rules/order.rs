//! Burn order, floors, and how grants and debits spread over buckets.

use scurry_ledger::{BucketAttributes, Code, Time};
use scurry_model::{Op, Request, ScriptedPair, name};

fn new(txn: &str, bucket: &str, amount: i64, with: BucketAttributes) -> Op {
    let (txn, bucket, unit) = (txn.to_string(), name(bucket), Some(name("u")));
    Op::TopUp { txn, bucket, amount, unit, with, keys: vec![] }
}

fn any() -> BucketAttributes {
    BucketAttributes::default()
}

/// Returns which of two buckets with 10 each pays a debit of 4 and a grant of 1.
fn burns_first(first: BucketAttributes, between: i64, second: BucketAttributes) -> &'static str {
    let mut script = ScriptedPair::new(&[]);
    script.done(&new("x", "b", 10, first));
    script.now += between;
    script.done(&new("y", "a", 10, second));
    script.done(&Op::debit("d", "u", 4));
    script.done(&Request::new("s", 0).ask(1, "u", 1).reserve());
    match (script.funds("a"), script.funds("b")) {
        ((5, 1), (10, 0)) => "a",
        ((10, 0), (5, 1)) => "b",
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_lowest_priority_burns_first() {
    let late = BucketAttributes { priority: Some(1), ..any() };
    let soon = BucketAttributes { valid_to: Some(Some(Time(9_000))), ..late };
    assert_eq!(burns_first(soon, 5, any()), "a");
    assert_eq!(burns_first(any(), 5, soon), "b");
}

#[test]
fn the_bucket_that_ends_first_burns_first() {
    let until = |end| BucketAttributes { valid_to: Some(Some(Time(end))), ..any() };
    assert_eq!(burns_first(until(9_000), 5, until(8_000)), "a");
    assert_eq!(burns_first(any(), 5, until(8_000)), "a");
    assert_eq!(burns_first(until(9_000), 5, any()), "b");
}

#[test]
fn the_older_bucket_burns_first() {
    assert_eq!(burns_first(any(), 1, any()), "b");
}

#[test]
fn ids_break_ties() {
    assert_eq!(burns_first(any(), 0, any()), "a");
}

#[test]
fn a_grant_goes_down_to_the_floor() {
    let mut script = ScriptedPair::new(&[]);
    script.done(&new("x", "a", 10, BucketAttributes { floor: Some(-5), ..any() }));
    let reserve = Request::new("s", 0).ask(1, "u", 20).reserve();
    assert_eq!(script.grants(&reserve), (Code::Ok, vec![15]));
    assert_eq!(script.funds("a"), (-5, 15));
}

#[test]
fn a_grant_uses_a_floor_before_the_next_bucket_and_a_debit_after() {
    let mut script = ScriptedPair::new(&[]);
    script.done(&new("x", "a", 10, BucketAttributes { floor: Some(-5), ..any() }));
    script.done(&new("y", "b", 10, any()));
    script.done(&Request::new("s", 0).ask(1, "u", 12).reserve());
    assert_eq!((script.funds("a"), script.funds("b")), ((-2, 12), (10, 0)));
    script.done(&Op::release("s"));
    script.done(&Op::debit("d", "u", 12));
    assert_eq!((script.funds("a"), script.funds("b")), ((0, 0), (8, 0)));
    script.done(&Op::debit("e", "u", 10));
    assert_eq!((script.funds("a"), script.funds("b")), ((-2, 0), (0, 0)));
}

#[test]
fn an_expired_bucket_gives_no_grant() {
    let mut script = ScriptedPair::new(&[]);
    let with = BucketAttributes { floor: Some(-5), valid_to: Some(Some(Time(2_000))), ..any() };
    script.done(&new("x", "a", 10, with));
    script.now = 2_000;
    let reserve = Request::new("s", 0).ask(1, "u", 1).reserve();
    assert_eq!(script.grants(&reserve), (Code::CreditLimitReached, vec![0]));
}
