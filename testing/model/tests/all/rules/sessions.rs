//! Sections 5 to 10: RESERVE, UPDATE, TERMINATE, RELEASE.

use scurry_ledger::{
    BucketAttributes, Cause, Code, Final, Limits, Overrun, SessionOptions, Status, Time,
};
use scurry_model::{Op, Request, ScriptedPair, key};

fn s(number: u32) -> Request {
    Request::new("s", number)
}

#[test]
fn a_denial_tells_a_unit_without_a_bucket_from_one_with_too_little() {
    let mut script = ScriptedPair::new(&[("a", "u", 5)]);
    let reserve = s(0).ask(1, "u", 10).min(6).ask(2, "U", 1).ask(3, "u", 5).reserve();
    let (_, items) = script.items(&reserve);
    let causes: Vec<Cause> = items.iter().map(|item| item.cause).collect();
    assert_eq!(causes, [Cause::Balance, Cause::NoBucket, Cause::None]);
    script.done(&Op::status(Status::Suspended));
    let (_, items) = script.items(&s(1).both(1, "u", 0, 1).update());
    assert_eq!(items[0].cause, Cause::Status);
}

#[test]
fn a_closed_session_remembers_the_cause_of_its_denial() {
    let mut script = ScriptedPair::new(&[("a", "u", 5)]);
    script.replayed_after(&s(0).ask(1, "v", 1).reserve(), 1);
    script.replayed_after(&Request::new("s2", 0).ask(1, "v", 2).min(2).reserve(), 1);
}

#[test]
fn one_key_in_two_units_is_two_items() {
    let mut script = ScriptedPair::new(&[("a", "u", 100), ("b", "v", 10)]);
    let reserve = s(0).ask(1, "u", 30).ask(1, "v", 5).reserve();
    assert_eq!(script.grants(&reserve), (Code::Ok, vec![30, 5]));
    assert_eq!(script.grants(&s(1).both(1, "v", 2, 4).update()), (Code::Ok, vec![4]));
    assert_eq!((script.funds("a"), script.funds("b")), ((70, 30), (4, 4)));
    // Each item is late relative to its own last grant.
    script.done(&s(5).both(1, "v", 0, 3).update());
    let update = s(4).both(1, "v", 1, 3).both(1, "u", 1, 7).update();
    assert_eq!(script.grants(&update), (Code::Ok, vec![0, 7]));
    assert_eq!(script.refused(&s(6).used(1, "u", 1).used(1, "u", 1).update()), Code::Invalid);
    script.done(&s(6).used(1, "u", 7).terminate());
    assert_eq!((script.funds("a"), script.funds("b")), ((92, 0), (7, 0)));
}

#[test]
fn an_item_key_is_a_number_or_any_text() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    let reserve = s(0).ask(7, "u", 1).ask(key("07"), "u", 2).ask(key("10.4711"), "u", 4).reserve();
    assert_eq!(script.grants(&reserve), (Code::Ok, vec![1, 2, 4]));
    script.done(&s(1).both(key("7"), "u", 1, 0).both(key("07"), "u", 0, 8).update());
    assert_eq!(script.funds("a"), (87, 12));
    let keys: Vec<String> = script
        .session("s")
        .expect("it is open")
        .items
        .iter()
        .map(|item| item.key.to_string())
        .collect();
    assert_eq!(keys, ["7", "07", "10.4711"]);
}

#[test]
fn an_update_replaces_the_hold() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&s(0).ask(1, "u", 30).reserve());
    assert_eq!(script.funds("a"), (70, 30));
    script.done(&s(1).both(1, "u", 0, 20).update());
    assert_eq!(script.funds("a"), (80, 20));
}

#[test]
fn use_is_settled_before_the_next_grant() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 10).reserve());
    let update = s(1).both(1, "u", 4, 6).update();
    assert_eq!(script.grants(&update), (Code::Ok, vec![6]));
    assert_eq!(script.bucket("a").consumed, 4);
}

#[test]
fn an_item_that_is_not_listed_keeps_its_hold() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&s(0).ask(1, "u", 30).ask(2, "u", 5).reserve());
    script.done(&s(1).both(1, "u", 0, 10).update());
    assert_eq!(script.funds("a"), (85, 15));
}

#[test]
fn a_late_update_leaves_the_newer_hold() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    script.done(&s(0).ask(1, "u", 10).reserve());
    script.done(&s(2).both(1, "u", 0, 40).update());
    assert_eq!(script.grants(&s(1).both(1, "u", 7, 9).update()), (Code::Ok, vec![0]));
    assert_eq!(script.funds("a"), (53, 40));
}

#[test]
fn a_terminate_is_never_late() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(5).ask(1, "u", 10).reserve());
    script.done(&s(1).used(1, "u", 4).terminate());
    assert_eq!(script.funds("a"), (6, 0));
    assert_eq!(script.bucket("a").overdrawn, 0);
}

#[test]
fn less_than_min_is_denied_and_takes_nothing() {
    let mut script = ScriptedPair::new(&[("a", "u", 5), ("b", "v", 1)]);
    let reserve = s(0).ask(1, "u", 10).min(6).ask(2, "v", 1).reserve();
    let (code, items) = script.items(&reserve);
    assert_eq!((code, items[0].code), (Code::Ok, Code::CreditLimitReached));
    assert_eq!((items[0].granted, items[0].last, items[1].granted), (0, Final::Last, 1));
    assert_eq!(script.funds("a"), (5, 0));
}

#[test]
fn a_grant_says_whether_others_hold_the_rest() {
    let mut script = ScriptedPair::new(&[("a", "u", 10), ("b", "v", 5)]);
    let other = |number| Request::new("t", number);
    script.done(&other(0).ask(1, "u", 6).ask(2, "v", 5).reserve());
    let (_, items) = script.items(&s(0).ask(1, "u", 7).ask(3, "v", 1).reserve());
    assert_eq!((items[0].granted, items[0].last), (4, Final::Held));
    assert_eq!((items[1].granted, items[1].last), (0, Final::Held));
    script.done(&other(1).used(1, "u", 6).used(2, "v", 5).terminate());
    let (_, items) = script.items(&s(1).both(1, "u", 0, 7).ask(3, "v", 1).update());
    assert_eq!((items[0].granted, items[0].last), (4, Final::Last));
    assert_eq!((items[1].granted, items[1].last), (0, Final::Last));
}

#[test]
fn less_than_requested_is_final() {
    let mut script = ScriptedPair::new(&[("a", "u", 5)]);
    let (_, items) = script.items(&s(0).ask(1, "u", 10).reserve());
    assert_eq!((items[0].granted, items[0].last), (5, Final::Last));
    let (_, items) = script.items(&s(1).both(1, "u", 0, 5).update());
    assert_eq!((items[0].granted, items[0].last), (5, Final::No));
}

#[test]
fn a_denied_update_settles_and_stays_open() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 10).reserve());
    let update = s(1).both(1, "u", 10, 5).update();
    assert_eq!(script.grants(&update), (Code::CreditLimitReached, vec![0]));
    assert_eq!(script.bucket("a").consumed, 10);
    assert_eq!(script.session("s").map(|session| session.version), Some(2));
}

#[test]
fn a_denied_item_among_granted_ones_is_no_denial() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 5).ask(2, "none", 5).reserve());
    let update = s(1).both(1, "u", 0, 5).ask(2, "none", 1).update();
    assert_eq!(script.grants(&update), (Code::Ok, vec![5, 0]));
}

#[test]
fn close_on_denial_gives_everything_back() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 3).ask(9, "u", 2).reserve());
    let update = s(1).both(1, "u", 1, 4).ask(2, "none", 5);
    let update =
        Request { options: SessionOptions { close_on_denial: true, ..update.options }, ..update }
            .update();
    assert_eq!(script.grants(&update), (Code::CreditLimitReached, vec![0, 0]));
    assert_eq!(script.funds("a"), (9, 0));
    assert!(script.session("s").is_none());
}

/// Items are granted one after the other: an OVERFLOW is answered although a later item would be denied.
#[test]
fn an_overflow_comes_before_a_later_denial() {
    let mut script = ScriptedPair::new(&[("a", "u", i64::MAX)]);
    let floor = BucketAttributes { floor: Some(-10), ..BucketAttributes::default() };
    script.done(&Op::bucket("b", "a", floor));
    script.done(&Op::debit("d", "u", i64::MAX));
    let reserve = s(0).ask(1, "u", 5).ask(2, "none", 5);
    let reserve =
        Request { options: SessionOptions { close_on_denial: true, ..reserve.options }, ..reserve }
            .reserve();
    assert_eq!(script.refused(&reserve), Code::Overflow);
}

#[test]
fn close_on_denial_reserves_nothing() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let reserve = s(0).ask(1, "u", 3).ask(2, "none", 5);
    let reserve =
        Request { options: SessionOptions { close_on_denial: true, ..reserve.options }, ..reserve }
            .reserve();
    assert_eq!(script.grants(&reserve), (Code::CreditLimitReached, vec![0, 0]));
    assert_eq!(script.funds("a"), (10, 0));
}

#[test]
fn a_session_without_items_opens_and_asks_later() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let reserve = Request {
        options: SessionOptions { close_on_denial: true, ..SessionOptions::default() },
        ..s(0)
    }
    .reserve();
    assert_eq!(script.grants(&reserve), (Code::Ok, vec![]));
    assert_eq!(script.session("s").map(|session| session.version), Some(1));
    assert_eq!(script.grants(&s(1).ask(1, "u", 4).update()), (Code::Ok, vec![4]));
}

#[test]
fn a_session_that_is_kept_open_says_that_all_was_denied() {
    let mut script = ScriptedPair::new(&[("a", "u", 3)]);
    let reserve = s(0).ask(1, "u", 5).min(5).ask(2, "none", 1);
    let reserve =
        Request { options: SessionOptions { keep_open: true, ..reserve.options }, ..reserve }
            .reserve();
    assert_eq!(script.grants(&reserve), (Code::CreditLimitReached, vec![0, 0]));
    assert_eq!(script.session("s").map(|session| session.version), Some(1));
    script.done(&Op::topup("t", "a", 2));
    assert_eq!(script.grants(&s(1).ask(1, "u", 5).min(5).update()), (Code::Ok, vec![5]));
    let partly = Request {
        options: SessionOptions { keep_open: true, ..SessionOptions::default() },
        ..Request::new("p", 0)
    };
    script.done(&Op::topup("w", "a", 1));
    let partly = partly.ask(1, "u", 1).ask(2, "none", 1).reserve();
    assert_eq!(script.grants(&partly), (Code::Ok, vec![1, 0]));
}

#[test]
fn a_suspended_account_grants_nothing() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 10).reserve());
    script.done(&Op::status(Status::Suspended));
    let other = Request::new("t", 0).ask(1, "u", 1).reserve();
    assert_eq!(script.grants(&other), (Code::ServiceDenied, vec![0]));
    let update = s(1).both(1, "u", 4, 5).update();
    assert_eq!(script.grants(&update), (Code::ServiceDenied, vec![0]));
    assert_eq!(script.funds("a"), (6, 0));
    assert!(script.session("s").is_none());
}

#[test]
fn overrun_falls_on_the_last_bucket() {
    let mut script = ScriptedPair::new(&[("a", "u", 10), ("b", "u", 1)]);
    script.done(&s(0).ask(1, "u", 5).reserve());
    let (code, items) = script.items(&s(1).used(1, "u", 18).update());
    assert_eq!((code, items[0].uncollected), (Code::Ok, 0));
    assert_eq!((script.funds("a").0, script.funds("b").0), (0, -7));
    assert_eq!((script.bucket("b").overdrawn, script.bucket("b").consumed), (7, 8));
}

#[test]
fn clamped_overrun_is_uncollected() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let reserve = Request {
        options: SessionOptions { overrun: Some(Overrun::Clamp), ..SessionOptions::default() },
        ..s(0).ask(1, "u", 5)
    };
    script.done(&reserve.reserve());
    let (_, items) = script.items(&s(1).used(1, "u", 18).update());
    assert_eq!((items[0].uncollected, script.funds("a")), (8, (0, 0)));
    let account = script.pair.account.as_ref();
    let uncollected: Vec<i64> =
        account.iter().flat_map(|a| &a.uncollected).map(|total| total.amount).collect();
    assert_eq!(uncollected, [8]);
}

#[test]
fn if_version_must_be_the_sessions_version() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 5).reserve());
    let stale = Request {
        options: SessionOptions { if_version: Some(2), ..SessionOptions::default() },
        ..s(1).both(1, "u", 1, 5)
    };
    assert_eq!(script.refused(&stale.clone().update()), Code::VersionConflict);
    script.done(
        &Request { options: SessionOptions { if_version: Some(1), ..stale.options }, ..stale }
            .update(),
    );
}

#[test]
fn an_update_restarts_tcc() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(
        &Request {
            options: SessionOptions { tcc_ms: Some(100), ..SessionOptions::default() },
            ..s(0).ask(1, "u", 5)
        }
        .reserve(),
    );
    script.now += 60;
    script.done(&s(1).update());
    assert_eq!(script.session("s").map(|session| session.deadline.0), Some(1_160));
    script.done(
        &Request {
            options: SessionOptions { validity_ms: Some(70), ..SessionOptions::default() },
            ..s(2)
        }
        .update(),
    );
    assert_eq!(script.session("s").map(|session| session.deadline.0), Some(1_200));
}

#[test]
fn terminate_releases_unlisted_items() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 3).ask(2, "u", 4).reserve());
    script.done(&s(1).used(1, "u", 2).terminate());
    assert_eq!(script.funds("a"), (8, 0));
}

#[test]
fn terminate_settles_an_item_that_the_session_does_not_have() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 3).reserve());
    script.done(&s(1).used(7, "u", 2).terminate());
    assert_eq!(script.bucket("a").consumed, 2);
}

#[test]
fn release_gives_the_hold_back() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 3).reserve());
    script.replayed_after(&Op::release("s"), 10);
    assert_eq!(script.funds("a"), (10, 0));
    assert_eq!(script.refused(&s(1).terminate()), Code::UnknownSession);
}

/// Seed 287 of the property test.
#[test]
fn a_transaction_at_the_end_of_the_clock_is_no_receipt() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.now = Time::LAST.0;
    script.done(&Op::debit("t", "u", 10));
    script.done(&Op::status(Status::Closed));
    script.done(&Op::Delete { force: true, if_txn: None });
}

#[test]
fn a_session_has_no_more_items_than_allowed() {
    let limits = Limits { session_items_max: 2, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 1).ask(2, "u", 1).reserve());
    // The use of a third one is debited, and its grant is denied.
    let (_, items) = script.items(&s(1).both(3, "u", 4, 1).ask(2, "u", 2).update());
    assert_eq!((items[0].code, items[0].cause), (Code::CreditLimitReached, Cause::Items));
    assert_eq!((items[1].code, items[1].granted), (Code::Ok, 2));
    assert_eq!(script.funds("a"), (3, 3));
    script.done(&s(2).used(3, "u", 1).used(2, "u", 2).terminate());
    assert_eq!(script.funds("a"), (3, 0));
}
