//! Sections 11 and 12: accounts and balance commands.

use scurry_ledger::{BucketAttributes, Code, Decision, Limits, Status, Time, apply, decide};
use scurry_model::{Op, Request, ScriptedPair, name};

fn any() -> BucketAttributes {
    BucketAttributes::default()
}

#[test]
fn a_debit_is_all_or_nothing() {
    let mut script = ScriptedPair::new(&[("a", "u", 10), ("b", "u", 5)]);
    assert_eq!(script.amount(&Op::debit("d", "u", 16)), (Code::CreditLimitReached, 0));
    assert_eq!((script.funds("a").0, script.funds("b").0), (10, 5));
    assert_eq!(script.amount(&Op::debit("e", "u", 15)), (Code::Ok, 15));
}

#[test]
fn a_debit_of_items_is_all_or_nothing() {
    let mut script = ScriptedPair::new(&[("a", "u", 10), ("b", "v", 5)]);
    let items = [(1, "u", 6), (1, "v", 6)];
    assert_eq!(script.amount(&Op::debit_items("d", &items)), (Code::CreditLimitReached, 0));
    assert_eq!((script.funds("a").0, script.funds("b").0), (10, 5));
    let items = [(1, "u", 6), (1, "v", 5), (2, "u", 4)];
    assert_eq!(script.amount(&Op::debit_items("e", &items)), (Code::Ok, 15));
    assert_eq!((script.funds("a").0, script.funds("b").0), (0, 0));
}

#[test]
fn items_of_a_debit_are_refunded_by_key_and_unit() {
    let mut script = ScriptedPair::new(&[("a", "u", 10), ("b", "v", 10)]);
    script.done(&Op::debit_items("d", &[(1, "u", 6), (1, "v", 5), (2, "u", 4)]));
    let refused = [[(2, "v", 1)], [(3, "u", 1)], [(2, "u", 5)]];
    for items in refused {
        assert_eq!(script.refused(&Op::refund_items("r", "d", &items)), Code::NotApplicable);
    }
    assert_eq!(script.refused(&Op::refund("r", "d", Some(1))), Code::NotApplicable);
    let items = [(1, "v", 2), (2, "u", 3)];
    assert_eq!(script.amount(&Op::refund_items("r", "d", &items)), (Code::Ok, 5));
    assert_eq!((script.funds("a").0, script.funds("b").0), (3, 7));
    assert_eq!(script.refused(&Op::refund_items("q", "d", &[(2, "u", 2)])), Code::NotApplicable);
    assert_eq!(script.amount(&Op::refund("q", "d", None)), (Code::Ok, 10));
    assert_eq!((script.funds("a").0, script.funds("b").0), (10, 10));
}

#[test]
fn a_refund_is_no_more_than_the_debit() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&Op::debit("d", "u", 6));
    assert_eq!(script.refused(&Op::refund("r", "d", Some(7))), Code::NotApplicable);
    assert_eq!(script.amount(&Op::refund("r", "d", Some(4))), (Code::Ok, 4));
    assert_eq!(script.refused(&Op::refund("q", "d", Some(3))), Code::NotApplicable);
    assert_eq!(script.amount(&Op::refund("q", "d", None)), (Code::Ok, 2));
    assert_eq!(script.refused(&Op::refund("p", "d", None)), Code::NotApplicable);
    assert_eq!(script.funds("a"), (10, 0));
}

#[test]
fn a_refund_goes_back_in_reverse_order() {
    let mut script = ScriptedPair::new(&[("a", "u", 10), ("b", "u", 10)]);
    script.done(&Op::debit("d", "u", 14));
    script.done(&Op::refund("r", "d", Some(5)));
    assert_eq!((script.funds("a").0, script.funds("b").0), (1, 10));
}

#[test]
fn a_refund_to_an_expired_bucket_expires() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&Op::debit("d", "u", 6));
    script.done(&Op::bucket(
        "b",
        "a",
        BucketAttributes { valid_to: Some(Some(Time(1_100))), ..any() },
    ));
    script.now = 1_100;
    script.done(&Op::refund("r", "d", None));
    let bucket = script.bucket("a");
    assert_eq!((script.funds("a"), bucket.refunded, bucket.expired), ((0, 0), 6, 10));
}

#[test]
fn a_refund_needs_a_successful_debit() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&Op::debit("d", "u", 11));
    script.done(&Op::topup("t", "a", 1));
    for debit in ["d", "t", "unknown"] {
        assert_eq!(script.refused(&Op::refund("r", debit, None)), Code::UnknownTransaction);
    }
}

#[test]
fn a_sum_beyond_64_bits_is_refused() {
    let mut script = ScriptedPair::new(&[("a", "u", i64::MAX)]);
    assert_eq!(script.refused(&Op::topup("t", "a", 1)), Code::Overflow);
    script.done(&Op::debit("d", "u", 5));
    assert_eq!(script.refused(&Op::refund("r", "d", None)), Code::Overflow);
    script.done(&Op::counter("c", "n", i64::MAX, None));
    assert_eq!(script.refused(&Op::counter("e", "n", 1, None)), Code::Overflow);
}

/// Seed 1543 of the property test: consumed and expired together exceed 64 bits.
#[test]
fn a_refund_to_an_expired_bucket_counts_as_what_goes_out_too() {
    let mut script = ScriptedPair::new(&[("a", "u", 5)]);
    let (floor, end) = (Some(-i64::MAX), Some(Some(Time(2_000))));
    script.done(&Op::bucket("f", "a", BucketAttributes { floor, valid_to: end, ..any() }));
    script.done(&Op::debit("d", "u", i64::MAX - 1));
    script.now = 2_000;
    assert_eq!(script.refused(&Op::refund("r", "d", None)), Code::Overflow);
    script.done(&Op::refund("r", "d", Some(1)));
    assert_eq!((script.bucket("a").refunded, script.bucket("a").expired), (1, 1));
}

#[test]
fn holds_count_as_what_may_go_out() {
    let mut script = ScriptedPair::new(&[("a", "u", i64::MAX)]);
    script.done(&Op::bucket("b", "a", BucketAttributes { floor: Some(-10), ..any() }));
    script.done(&Request::new("s", 0).ask(1, "u", i64::MAX).reserve());
    let more = Request::new("t", 0).ask(1, "u", 1).reserve();
    assert_eq!(script.refused(&more), Code::Overflow);
}

#[test]
fn an_adjustment_stops_at_the_floor() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    assert_eq!(script.amount(&Op::adjust("x", "a", -11)), (Code::CreditLimitReached, 10));
    assert_eq!(script.amount(&Op::adjust("y", "a", -10)), (Code::Ok, 0));
    assert_eq!(script.bucket("a").voided, 10);
}

#[test]
fn a_floor_above_what_is_available_is_denied() {
    let mut script = ScriptedPair::new(&[("a", "u", 0)]);
    script.done(&Op::bucket("b", "a", BucketAttributes { floor: Some(-10), ..any() }));
    script.done(&Op::debit("d", "u", 4));
    let raise = |floor| BucketAttributes { floor: Some(floor), priority: Some(3), ..any() };
    assert_eq!(script.amount(&Op::bucket("c", "a", raise(-3))), (Code::CreditLimitReached, -4));
    assert_eq!(script.bucket("a").priority, 0);
    assert_eq!(script.amount(&Op::bucket("e", "a", raise(-4))), (Code::Ok, -4));
}

#[test]
fn only_an_empty_bucket_is_removed() {
    let mut script = ScriptedPair::new(&[("a", "u", 3)]);
    let remove = |txn: &str| Op::Bucket {
        txn: txn.to_string(),
        bucket: name("a"),
        with: any(),
        keys: None,
        remove: true,
    };
    script.done(&Request::new("s", 0).ask(1, "u", 3).reserve());
    assert_eq!(script.refused(&remove("x")), Code::NotEmpty);
    script.done(&Request::new("s", 1).used(1, "u", 3).terminate());
    script.done(&remove("x"));
    assert_eq!(script.refused(&Op::topup("t", "a", 1)), Code::UnknownBucket);
}

#[test]
fn a_closed_account_stays_closed_and_takes_no_topup() {
    let mut script = ScriptedPair::new(&[("a", "u", 3)]);
    script.done(&Op::status(Status::Closed));
    assert_eq!(script.refused(&Op::status(Status::Active)), Code::NotApplicable);
    assert_eq!(script.amount(&Op::topup("t", "a", 1)), (Code::ServiceDenied, 3));
    assert_eq!(script.amount(&Op::debit("d", "u", 1)), (Code::ServiceDenied, 0));
    assert_eq!(script.refused(&Op::delete(true)), Code::NotEmpty);
    script.done(&Op::adjust("v", "a", -3));
    assert_eq!(script.refused(&Op::delete(false)), Code::NotEmpty);
    script.done(&Op::delete(true));
    assert!(script.pair.account.is_none());
}

/// The serial numbers of buckets are u16 and never used twice.
#[test]
fn an_account_that_used_up_its_bucket_numbers_gets_no_more() {
    let limits = Limits { transaction_ms: 1, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[("first", "u", 0)]);
    let topup = |txn: &str| {
        let (txn, unit, with) = (txn.to_string(), Some(name("u")), any());
        Op::TopUp { txn, bucket: name("a"), amount: 1, unit, with, keys: vec![] }
    };
    let remove = Op::Bucket {
        txn: "w".to_string(),
        bucket: name("a"),
        with: any(),
        keys: None,
        remove: true,
    };
    script.done(&topup("t"));
    script.done(&Op::adjust("v", "a", -1));
    script.now += 1;
    script.done(&remove);
    // Use up the rest of the numbers without the model, which keeps everything that it ever saw.
    let mut account = script.pair.account.take();
    let mut now = script.now;
    let mut step = |op: &Op| {
        now += 1;
        match op.with(|command| decide(account.as_ref(), command, Time(now), &script.pair.limits)) {
            Decision::Commit(change, _) => apply(&mut account, &change),
            other => return Some(other),
        }
        None
    };
    for _ in 2..u16::MAX {
        for op in [&topup("t"), &Op::adjust("v", "a", -1), &remove] {
            assert_eq!(step(op), None);
        }
    }
    let beyond = step(&topup("t"));
    // Not BUSY, which asks for a retry: no retry can succeed.
    let code = match beyond {
        Some(Decision::Reject(why)) => why.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code, Code::NotApplicable);
}
