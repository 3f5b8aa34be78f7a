//! Section 3: due expiries are processed first.

use scurry_ledger::{
    BucketAttributes, Code, Limits, Period, SessionOptions, Status, Time, tick_in_place,
};
use scurry_model::{Op, Request, ScriptedPair, StepResult, name};

fn s(number: u32) -> Request {
    Request::new("s", number)
}

/// Returns the end of a bucket's validity as attributes.
fn to(end: i64) -> BucketAttributes {
    BucketAttributes { valid_to: Some(Some(Time(end))), ..BucketAttributes::default() }
}

#[test]
fn tcc_releases_the_hold() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(
        &Request {
            options: SessionOptions { tcc_ms: Some(100), ..SessionOptions::default() },
            ..s(0).ask(1, "u", 5)
        }
        .reserve(),
    );
    script.now = 1_099;
    assert!(!script.tick());
    script.now = 1_100;
    assert!(script.tick());
    assert_eq!(script.funds("a"), (10, 0));
    assert!(script.session("s").is_none());
}

#[test]
fn a_tick_without_an_account_does_nothing() {
    assert_eq!(tick_in_place(&mut None, Time(1_000), &Limits::default()), None);
}

#[test]
fn a_session_past_its_deadline_is_expired_without_a_timer() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let reserve = Request {
        options: SessionOptions { tcc_ms: Some(100), ..SessionOptions::default() },
        ..s(0).ask(1, "u", 10)
    }
    .reserve();
    script.done(&reserve);
    script.now = 1_100;
    assert_eq!(script.refused(&s(1).used(1, "u", 3).update()), Code::UnknownSession);
    assert_eq!(script.amount(&Op::debit("d", "u", 10)), (Code::Ok, 10));
    assert_eq!(script.refused(&reserve), Code::SessionExists);
}

#[test]
fn an_expired_session_is_forgotten_after_its_deadline() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let reserve = Request {
        options: SessionOptions { tcc_ms: Some(100), ..SessionOptions::default() },
        ..s(0).ask(1, "u", 10)
    }
    .reserve();
    script.done(&reserve);
    script.now = 1_100 + 239_999;
    assert_eq!(script.refused(&reserve), Code::SessionExists);
    script.now += 1;
    script.done(&reserve);
}

#[test]
fn a_bucket_expires_at_its_end() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&Op::bucket("b", "a", to(1_100)));
    script.now = 1_099;
    assert!(!script.tick());
    script.now = 1_100;
    assert!(script.tick());
    assert_eq!((script.funds("a"), script.bucket("a").expired), ((0, 0), 10));
    assert_eq!(script.refused(&Op::topup("t", "a", 1)), Code::BucketExpired);
}

#[test]
fn a_bucket_gives_nothing_before_its_start() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let with = BucketAttributes { valid_from: Some(Time(1_100)), ..BucketAttributes::default() };
    script.done(&Op::bucket("b", "a", with));
    script.now = 1_099;
    assert_eq!(script.amount(&Op::debit("d", "u", 1)), (Code::CreditLimitReached, 0));
    script.now = 1_100;
    assert_eq!(script.amount(&Op::debit("e", "u", 1)), (Code::Ok, 1));
}

#[test]
fn what_is_left_on_an_expired_bucket_expires() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 10).reserve());
    script.done(&Op::bucket("b", "a", to(1_100)));
    script.now = 1_100;
    script.done(&s(1).used(1, "u", 4).update());
    let bucket = script.bucket("a");
    assert_eq!((script.funds("a"), bucket.consumed, bucket.expired), ((0, 0), 4, 6));
}

#[test]
fn a_hold_of_an_expired_session_on_an_expired_bucket_expires() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(
        &Request {
            options: SessionOptions { tcc_ms: Some(50), ..SessionOptions::default() },
            ..s(0).ask(1, "u", 10)
        }
        .reserve(),
    );
    script.done(&Op::bucket("b", "a", to(1_100)));
    script.now = 1_200;
    assert!(script.tick());
    assert_eq!((script.funds("a"), script.bucket("a").expired), ((0, 0), 10));
}

/// Creates 20 on credit, held until 1,050, and a debit of 16 from a bucket that ends at 1,100.
fn in_debt() -> ScriptedPair {
    let mut script = ScriptedPair::new(&[]);
    let with = BucketAttributes { floor: Some(-50), ..to(1_100) };
    let (txn, bucket, unit) = ("t".to_string(), name("b"), Some(name("w")));
    script.done(&Op::TopUp { txn, bucket, amount: 20, unit, with, keys: vec![] });
    script.done(
        &Request {
            options: SessionOptions { tcc_ms: Some(50), ..SessionOptions::default() },
            ..s(0).ask(1, "w", 20)
        }
        .reserve(),
    );
    assert_eq!(script.amount(&Op::debit("d", "w", 16)), (Code::Ok, 16));
    script
}

#[test]
fn a_session_gives_back_as_of_its_deadline() {
    let after = |script: &ScriptedPair| (script.funds("b"), script.bucket("b").expired);
    let mut in_time = in_debt();
    for due in [1_050, 1_100] {
        in_time.now = due;
        assert!(in_time.tick());
    }
    let mut late = in_debt();
    late.now = 1_150;
    assert!(late.tick());
    let mut by_command = in_debt();
    by_command.now = 1_150;
    by_command.done(&Op::counter("c", "n", 1, None));
    for script in [in_time, late, by_command] {
        assert_eq!(after(&script), ((0, 0), 4));
    }
}

#[test]
fn a_deadline_at_the_end_of_a_bucket_comes_too_late_for_its_debt() {
    let mut script = in_debt();
    script.done(&Op::bucket("e", "b", to(1_050)));
    script.now = 1_150;
    assert!(script.tick());
    assert_eq!((script.funds("b"), script.bucket("b").expired), ((-16, 0), 20));
}

#[test]
fn a_counter_falls_back_when_a_period_begins() {
    let mut script = ScriptedPair::new(&[]);
    script.now = 1_709_251_199_999; // the last moment of February 2024
    let month = Some(Period::Month);
    assert_eq!(script.amount(&Op::counter("c", "n", 5, month)), (Code::Ok, 5));
    assert_eq!(script.amount(&Op::counter("d", "n", 2, month)), (Code::Ok, 7));
    script.now += 1;
    assert_eq!(script.amount(&Op::counter("e", "n", 1, month)), (Code::Ok, 1));
}

#[test]
fn a_clock_that_goes_back_does_not_count() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.now = 5_000;
    script.done(&Op::debit("d", "u", 1));
    script.now = 2_000;
    script.done(
        &Request {
            options: SessionOptions { tcc_ms: Some(100), ..SessionOptions::default() },
            ..s(0).ask(1, "u", 5)
        }
        .reserve(),
    );
    assert_eq!(script.session("s").map(|session| session.deadline.0), Some(5_100));
    assert!(matches!(script.run(&Op::debit("d", "u", 1)), StepResult::Replay(_)));
}

/// What is remembered beyond the end of the clock is forgotten by no time, and is no receipt of a transfer for that.
#[test]
fn an_account_with_ids_remembered_beyond_the_end_of_the_clock_is_deleted() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.now = Time::LAST.0 - 1;
    script.done(&Op::debit("d", "u", 10));
    script.done(&Op::status(Status::Closed));
    assert_eq!(script.refused(&Op::delete(false)), Code::NotEmpty);
    script.done(&Op::delete(true));
}
