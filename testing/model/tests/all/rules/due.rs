//! Section 3: due expiries are processed first.

use scurry_ledger::{BucketAttributes, Code, Limits, Period, Time, tick_in_place};
use scurry_model::{Came, Desk, Op, Request, name};

fn s(number: u32) -> Request {
    Request::new("s", number)
}

/// Returns the end of a bucket's validity as attributes.
fn to(end: i64) -> BucketAttributes {
    BucketAttributes { valid_to: Some(Some(Time(end))), ..BucketAttributes::default() }
}

#[test]
fn tcc_releases_the_hold() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.done(&Request { tcc_ms: Some(100), ..s(0).ask(1, "u", 5) }.reserve());
    desk.now = 1_099;
    assert!(!desk.tick());
    desk.now = 1_100;
    assert!(desk.tick());
    assert_eq!(desk.funds("a"), (10, 0));
    assert!(desk.session("s").is_none());
}

#[test]
fn a_tick_without_an_account_does_nothing() {
    assert_eq!(tick_in_place(&mut None, Time(1_000), &Limits::default()), None);
}

#[test]
fn a_session_past_its_deadline_is_expired_without_a_timer() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    let reserve = Request { tcc_ms: Some(100), ..s(0).ask(1, "u", 10) }.reserve();
    desk.done(&reserve);
    desk.now = 1_100;
    assert_eq!(desk.refused(&s(1).used(1, "u", 3).update()), Code::UnknownSession);
    assert_eq!(desk.amount(&Op::debit("d", "u", 10)), (Code::Ok, 10));
    assert_eq!(desk.refused(&reserve), Code::SessionExists);
}

#[test]
fn an_expired_session_is_forgotten_after_its_deadline() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    let reserve = Request { tcc_ms: Some(100), ..s(0).ask(1, "u", 10) }.reserve();
    desk.done(&reserve);
    desk.now = 1_100 + 239_999;
    assert_eq!(desk.refused(&reserve), Code::SessionExists);
    desk.now += 1;
    desk.done(&reserve);
}

#[test]
fn a_bucket_expires_at_its_end() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.done(&Op::bucket("b", "a", to(1_100)));
    desk.now = 1_099;
    assert!(!desk.tick());
    desk.now = 1_100;
    assert!(desk.tick());
    assert_eq!((desk.funds("a"), desk.bucket("a").expired), ((0, 0), 10));
    assert_eq!(desk.refused(&Op::topup("t", "a", 1)), Code::BucketExpired);
}

#[test]
fn a_bucket_gives_nothing_before_its_start() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    let with = BucketAttributes { valid_from: Some(Time(1_100)), ..BucketAttributes::default() };
    desk.done(&Op::bucket("b", "a", with));
    desk.now = 1_099;
    assert_eq!(desk.amount(&Op::debit("d", "u", 1)), (Code::CreditLimitReached, 0));
    desk.now = 1_100;
    assert_eq!(desk.amount(&Op::debit("e", "u", 1)), (Code::Ok, 1));
}

#[test]
fn what_is_left_on_an_expired_bucket_expires() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.done(&s(0).ask(1, "u", 10).reserve());
    desk.done(&Op::bucket("b", "a", to(1_100)));
    desk.now = 1_100;
    desk.done(&s(1).used(1, "u", 4).update());
    let bucket = desk.bucket("a");
    assert_eq!((desk.funds("a"), bucket.consumed, bucket.expired), ((0, 0), 4, 6));
}

#[test]
fn a_hold_of_an_expired_session_on_an_expired_bucket_expires() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.done(&Request { tcc_ms: Some(50), ..s(0).ask(1, "u", 10) }.reserve());
    desk.done(&Op::bucket("b", "a", to(1_100)));
    desk.now = 1_200;
    assert!(desk.tick());
    assert_eq!((desk.funds("a"), desk.bucket("a").expired), ((0, 0), 10));
}

/// Creates 20 on credit, held until 1,050, and a debit of 16 from a bucket that ends at 1,100.
fn in_debt() -> Desk {
    let mut desk = Desk::new(&[]);
    let with = BucketAttributes { floor: Some(-50), ..to(1_100) };
    let (txn, bucket, unit) = ("t".to_string(), name("b"), Some(name("w")));
    desk.done(&Op::TopUp { txn, bucket, amount: 20, unit, with });
    desk.done(&Request { tcc_ms: Some(50), ..s(0).ask(1, "w", 20) }.reserve());
    assert_eq!(desk.amount(&Op::debit("d", "w", 16)), (Code::Ok, 16));
    desk
}

#[test]
fn a_session_gives_back_as_of_its_deadline() {
    let after = |desk: &Desk| (desk.funds("b"), desk.bucket("b").expired);
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
    for desk in [in_time, late, by_command] {
        assert_eq!(after(&desk), ((0, 0), 4));
    }
}

#[test]
fn a_deadline_at_the_end_of_a_bucket_comes_too_late_for_its_debt() {
    let mut desk = in_debt();
    desk.done(&Op::bucket("e", "b", to(1_050)));
    desk.now = 1_150;
    assert!(desk.tick());
    assert_eq!((desk.funds("b"), desk.bucket("b").expired), ((-16, 0), 20));
}

#[test]
fn a_counter_falls_back_when_a_period_begins() {
    let mut desk = Desk::new(&[]);
    desk.now = 1_709_251_199_999; // the last moment of February 2024
    let month = Some(Period::Month);
    assert_eq!(desk.amount(&Op::counter("c", "n", 5, month)), (Code::Ok, 5));
    assert_eq!(desk.amount(&Op::counter("d", "n", 2, month)), (Code::Ok, 7));
    desk.now += 1;
    assert_eq!(desk.amount(&Op::counter("e", "n", 1, month)), (Code::Ok, 1));
}

#[test]
fn a_clock_that_goes_back_does_not_count() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.now = 5_000;
    desk.done(&Op::debit("d", "u", 1));
    desk.now = 2_000;
    desk.done(&Request { tcc_ms: Some(100), ..s(0).ask(1, "u", 5) }.reserve());
    assert_eq!(desk.session("s").map(|session| session.deadline.0), Some(5_100));
    assert!(matches!(desk.run(&Op::debit("d", "u", 1)), Came::Replay(_)));
}
