//! Section 9: use of sessions that are not open.

use scurry_ledger::{Code, Decision, Limits, Overrun, SessionOptions, Status, Time, decide};
use scurry_model::{Op, Request, ScriptedPair, StepResult};

fn s(number: u32) -> Request {
    Request::new("s", number)
}

fn limits() -> Limits {
    Limits { tombstone_ms: 40, transaction_ms: 100, tcc_ms_max: 1_000, ..Limits::default() }
}

/// Creates a session of 10 units that has expired, with numbers 0 and 1 answered.
fn expired() -> ScriptedPair {
    let mut script = ScriptedPair::with(limits(), &[("a", "u", 100)]);
    script.done(
        &Request {
            options: SessionOptions { tcc_ms: Some(20), ..SessionOptions::default() },
            ..s(0).ask(1, "u", 10)
        }
        .reserve(),
    );
    script.done(&s(1).both(1, "u", 5, 10).update());
    script.now += 20;
    script
}

/// Returns the text of a rejection.
fn said(script: &ScriptedPair, op: &Op) -> String {
    let account = script.pair.account.as_ref();
    match op.with(|command| decide(account, command, Time(script.now), &script.pair.limits)) {
        Decision::Reject(rejection) => rejection.to_string(),
        other => panic!("{op:?}: {other:?}"),
    }
}

#[test]
fn whoever_comes_too_late_is_told_how_late_and_the_way_on() {
    let mut script = ScriptedPair::with(
        Limits { tombstone_ms: 100_000, transaction_ms: 50_000, ..Limits::default() },
        &[("a", "u", 100)],
    );
    script.done(
        &Request {
            options: SessionOptions { tcc_ms: Some(20), ..SessionOptions::default() },
            ..s(0).ask(1, "u", 10)
        }
        .reserve(),
    );
    let update = s(1).used(1, "u", 7).update();
    let cure = "report what it used with LATEUSE, and open another one under a new id";
    script.now += 270;
    assert_eq!(said(&script, &update), format!("the session expired 0.2 s ago: {cure}"));
    assert_eq!(said(&script, &s(1).used(1, "u", 7).terminate()), said(&script, &update));
    let exists = "the session expired 0.2 s ago: its id is used up: open another one under a new id, and report what \
                  this one used with LATEUSE";
    assert_eq!(said(&script, &s(1).ask(1, "u", 5).reserve()), exists);
    script.now += 12_000;
    assert_eq!(said(&script, &update), format!("the session expired 12.2 s ago: {cure}"));
    // Late use extends how long it is remembered, here for 30 s, so the time of its end is no longer known.
    script.now += 67_730;
    script.done(&s(1).used(1, "u", 7).late().update());
    assert_eq!(
        said(&script, &s(2).used(1, "u", 1).update()),
        format!("the session has ended: {cure}")
    );
    let unknown = "no open session has this id: SCUR.RESERVE opens one";
    assert_eq!(said(&script, &Request::new("t", 1).used(1, "u", 1).update()), unknown);
    // When the bound has changed since the session ended, the time cannot be computed.
    script.done(
        &Request {
            options: SessionOptions { tcc_ms: Some(20), ..SessionOptions::default() },
            ..Request::new("v", 0).ask(1, "u", 1)
        }
        .reserve(),
    );
    script.now += 20;
    assert!(script.tick());
    script.pair.limits.tombstone_ms = 10;
    let after = Request::new("v", 1).used(1, "u", 1).update();
    assert_eq!(said(&script, &after), format!("the session has ended: {cure}"));
}

#[test]
fn use_after_tcc_is_debited_once() {
    let mut script = expired();
    assert_eq!(script.refused(&s(2).used(1, "u", 7).update()), Code::UnknownSession);
    let update = s(2).both(1, "u", 7, 50).late().update();
    assert_eq!(script.grants(&update), (Code::Ok, vec![0]));
    assert_eq!(script.funds("a"), (88, 0));
    // Long after the session's own tombstone would have been forgotten.
    script.now += 99;
    assert!(matches!(script.run(&update), StepResult::Replay(_)));
    assert_eq!(script.refused(&s(2).used(1, "u", 8).late().update()), Code::RequestMismatch);
    // LATEUSE is not part of the body.
    assert!(matches!(script.run(&s(2).both(1, "u", 7, 50).update()), StepResult::Replay(_)));
    assert_eq!(script.funds("a"), (88, 0));
}

#[test]
fn what_the_session_answered_is_not_late_use() {
    let mut script = expired();
    for number in [0, 1] {
        let again = s(number).used(1, "u", 5).late().update();
        assert_eq!(script.refused(&again), Code::OutOfWindow);
    }
    assert!(script.tick());
    assert_eq!(script.funds("a"), (95, 0));
}

#[test]
fn several_reports_of_one_session_come_in_any_order() {
    let mut script = expired();
    for number in [4, 2, 3] {
        script.done(&s(number).used(1, "u", 1).late().update());
    }
    script.done(&s(5).used(1, "u", 1).late().terminate());
    assert_eq!(script.funds("a"), (91, 0));
    for number in [4, 2, 3] {
        assert!(matches!(
            script.run(&s(number).used(1, "u", 1).late().update()),
            StepResult::Replay(_)
        ));
    }
}

#[test]
fn beyond_the_window_of_late_answers_no_lower_number_is_taken() {
    let limits = Limits { answers_max: 2, ..limits() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 100)]);
    for number in [5, 7, 9] {
        script.done(&s(number).used(1, "u", 1).late().update());
    }
    assert_eq!(script.refused(&s(5).used(1, "u", 1).late().update()), Code::OutOfWindow);
    assert_eq!(script.refused(&s(4).used(1, "u", 1).late().update()), Code::OutOfWindow);
    assert_eq!(script.refused(&s(6).used(1, "u", 1).late().update()), Code::OutOfWindow);
    script.done(&s(8).used(1, "u", 1).late().update());
    assert_eq!(script.funds("a"), (96, 0));
}

#[test]
fn a_session_that_nobody_knows_takes_an_id() {
    let limits = Limits { session_ids_max: 1, ..limits() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 100)]);
    script.done(&s(3).used(1, "u", 4).late().terminate());
    assert_eq!(script.funds("a"), (96, 0));
    script.done(&s(2).used(1, "u", 1).late().update());
    let other = Request::new("t", 0).used(1, "u", 1).late().update();
    assert_eq!(script.refused(&other), Code::Busy);
    assert_eq!(script.refused(&s(9).ask(1, "u", 1).reserve()), Code::SessionExists);
    script.now += 100;
    script.done(&other);
}

#[test]
fn a_closing_answer_stays_beside_late_use() {
    let mut script = ScriptedPair::with(limits(), &[("a", "u", 100)]);
    script.done(&s(0).ask(1, "u", 10).reserve());
    script.done(&s(7).update());
    let terminate = s(2).used(1, "u", 3).terminate();
    script.done(&terminate);
    // 7 was answered, so 5 may have been.
    assert_eq!(script.refused(&s(5).used(1, "u", 1).late().update()), Code::OutOfWindow);
    script.done(&s(8).used(1, "u", 1).late().update());
    assert!(matches!(script.run(&terminate), StepResult::Replay(_)));
    assert_eq!(script.funds("a"), (96, 0));
    script.done(&Request::new("r", 0).ask(1, "u", 10).reserve());
    script.done(&Op::release("r"));
    script.done(&Request::new("r", 1).used(1, "u", 1).late().update());
    assert!(matches!(script.run(&Op::release("r")), StepResult::Replay(_)));
}

#[test]
fn a_closing_request_with_late_use_is_remembered_as_long_as_a_transaction() {
    let mut script = ScriptedPair::with(limits(), &[("a", "u", 100)]);
    script.done(&s(0).ask(1, "u", 10).reserve());
    let terminate = s(1).used(1, "u", 3).late().terminate();
    script.replayed_after(&terminate, 99);
    assert_eq!(script.funds("a"), (97, 0));
}

#[test]
fn an_account_of_any_status_pays_and_overrun_is_as_the_request_says() {
    for (overrun, status) in
        [(Overrun::Overdraw, Status::Suspended), (Overrun::Clamp, Status::Closed)]
    {
        let mut script = ScriptedPair::new(&[("a", "u", 5)]);
        script.done(&Op::status(status));
        let update = Request {
            options: SessionOptions { overrun: Some(overrun), ..SessionOptions::default() },
            ..s(1).used(1, "u", 8).used(2, "none", 2)
        };
        let (code, items) = script.items(&update.late().update());
        let clamped = if overrun == Overrun::Clamp { 3 } else { 0 };
        assert_eq!((code, items[0].uncollected, items[1].uncollected), (Code::Ok, clamped, 2));
        assert_eq!(script.funds("a"), (clamped - 3, 0));
    }
}

#[test]
fn late_use_without_use_is_an_unknown_session() {
    let mut script = expired();
    let nothing = s(2).both(1, "u", 0, 5).late().update();
    assert_eq!(script.refused(&nothing), Code::UnknownSession);
    assert_eq!(script.refused(&s(2).late().terminate()), Code::UnknownSession);
    // IFVERSION is ignored, because there is no version.
    let seen = Request {
        options: SessionOptions { if_version: Some(77), ..SessionOptions::default() },
        ..s(2).used(1, "u", 1)
    };
    script.done(&seen.late().update());
}

#[test]
fn an_open_session_does_not_look_at_it() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(
        &Request {
            options: SessionOptions { overrun: Some(Overrun::Clamp), ..SessionOptions::default() },
            ..s(0).ask(1, "u", 10)
        }
        .reserve(),
    );
    let update = Request {
        options: SessionOptions { overrun: Some(Overrun::Overdraw), ..SessionOptions::default() },
        ..s(1).both(1, "u", 13, 1)
    };
    let (code, items) = script.items(&update.late().update());
    assert_eq!((code, items[0].uncollected), (Code::CreditLimitReached, 3));
    assert_eq!(script.funds("a"), (0, 0));
}
