//! Section 4: duplicates and remembered answers.

use scurry_ledger::{
    BucketAttributes, Code, Decision, Limits, NewBucket, Rejection, SessionOptions, Status, Time,
    decide,
};
use scurry_model::{Op, Request, ScriptedPair, StepResult, key, name};

fn s(number: u32) -> Request {
    Request::new("s", number)
}

#[test]
fn a_repeated_update_is_replayed() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 5).reserve());
    script.replayed_after(&s(1).both(1, "u", 2, 5).update(), 50);
    assert_eq!(script.bucket("a").consumed, 2);
}

#[test]
fn an_account_is_created_once_by_its_transaction() {
    let limits = Limits { transaction_ms: 1_000, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[]);
    script.done(&Op::status(Status::Closed));
    script.done(&Op::delete(false));
    let to = BucketAttributes { valid_to: Some(Some(Time(1_500))), ..Default::default() };
    let bucket = NewBucket { bucket: name("a"), unit: name("u"), amount: 5, attributes: to };
    let txn = Some("c".to_string());
    let status = Status::Active;
    let of = |txn: &Option<String>, amount| {
        let buckets = vec![NewBucket { amount, ..bucket }];
        Op::Create { txn: txn.clone(), status, identities: vec![], buckets, keys: vec![] }
    };
    let create = of(&txn, 5);
    script.replayed_after(&create, 999);
    // Its TO has passed, which is checked only where there is no account.
    assert_eq!(script.refused(&of(&txn, 6)), Code::RequestMismatch);
    assert_eq!(script.refused(&of(&None, 5)), Code::AccountExists);
    script.now += 1;
    assert_eq!(script.refused(&create), Code::AccountExists, "the id is forgotten");
    script.done(&Op::status(Status::Closed));
    script.done(&Op::delete(false));
    assert_eq!(script.refused(&create), Code::Invalid);
}

#[test]
fn a_late_status_does_not_set_it_again() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let txn = Some("s".to_string());
    let suspend = Op::Status { txn, status: Status::Suspended, identities: vec![] };
    let answer = script.done(&suspend);
    script.done(&Op::status(Status::Active));
    assert_eq!(script.run(&suspend), StepResult::Replay(answer));
    assert_eq!(script.amount(&Op::debit("d", "u", 1)), (Code::Ok, 1));
}

#[test]
fn a_repeated_reserve_is_replayed() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.replayed_after(&s(0).ask(1, "u", 5).reserve(), 50);
    assert_eq!(script.refused(&s(1).ask(1, "u", 5).reserve()), Code::SessionExists);
}

#[test]
fn another_body_is_a_mismatch() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 5).reserve());
    script.done(&s(1).both(1, "u", 2, 5).update());
    let bodies = [
        s(1).both(1, "u", 3, 5),
        s(1).both(1, "u", 2, 6),
        s(1).both(1, "u", 2, 5).min(2),
        s(1).both(2, "u", 2, 5),
        s(1).both(1, "v", 2, 5),
        s(1).both(1, "u", 2, 5).ask(2, "u", 1),
        Request {
            options: SessionOptions { validity_ms: Some(600_000), ..SessionOptions::default() },
            ..s(1).both(1, "u", 2, 5)
        },
        Request {
            options: SessionOptions { tcc_ms: Some(600_000), ..SessionOptions::default() },
            ..s(1).both(1, "u", 2, 5)
        },
        Request {
            options: SessionOptions { close_on_denial: true, ..SessionOptions::default() },
            ..s(1).both(1, "u", 2, 5)
        },
        Request { blob: Some(vec![]), ..s(1).both(1, "u", 2, 5) },
    ];
    for body in bodies {
        assert_eq!(script.refused(&body.update()), Code::RequestMismatch);
    }
}

#[test]
fn a_terminate_with_the_number_of_the_last_update_is_another_request() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 5).reserve());
    let update = s(0).both(1, "u", 2, 5).update();
    let answer = script.done(&update);
    assert_eq!(script.run(&update), StepResult::Replay(answer));
    let terminate = s(0).used(1, "u", 3).terminate();
    let answer = script.done(&terminate);
    assert_eq!(script.run(&terminate), StepResult::Replay(answer));
    assert_eq!(script.refused(&s(0).used(1, "u", 4).terminate()), Code::RequestMismatch);
    assert_eq!(script.refused(&update), Code::UnknownSession);
    assert_eq!(script.funds("a"), (5, 0));
}

#[test]
fn a_default_that_is_given_is_the_same_body() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 5).reserve());
    let answer = script.done(&s(1).ask(1, "u", 5).update());
    let same = [
        s(1).both(1, "u", 0, 5),
        s(1).ask(1, "u", 5).min(1),
        s(1).ask(1, "u", 5).min(0),
        Request {
            options: SessionOptions { if_version: Some(77), ..SessionOptions::default() },
            ..s(1).ask(1, "u", 5)
        },
    ];
    for body in same {
        assert_eq!(script.run(&body.update()), StepResult::Replay(answer.clone()));
    }
}

#[test]
fn a_denied_reserve_is_remembered() {
    let mut script = ScriptedPair::new(&[("a", "u", 0)]);
    let reserve = s(3).ask(1, "u", 5).reserve();
    let answer = script.done(&reserve);
    script.done(&Op::topup("t", "a", 100));
    assert_eq!(script.run(&reserve), StepResult::Replay(answer));
    assert_eq!(script.refused(&s(4).ask(1, "u", 5).reserve()), Code::SessionExists);
    assert_eq!(script.refused(&s(4).update()), Code::UnknownSession);
    assert_eq!(script.refused(&s(3).update()), Code::UnknownSession);
}

#[test]
fn a_terminate_is_remembered_until_its_time() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 5).reserve());
    let terminate = s(1).used(1, "u", 2).terminate();
    script.replayed_after(&terminate, 239_999);
    assert_eq!(script.refused(&s(0).ask(1, "u", 5).reserve()), Code::SessionExists);
    script.now += 1;
    assert_eq!(script.refused(&terminate), Code::UnknownSession);
    script.done(&s(0).ask(1, "u", 5).reserve());
}

#[test]
fn the_window_keeps_the_highest_numbers() {
    let limits = Limits { answers_max: 3, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 10)]);
    script.done(&s(0).ask(1, "u", 1).reserve());
    let mut answers = vec![];
    for number in [4, 2, 6] {
        answers.push(script.done(&s(number).both(1, "u", 0, 1).update()));
    }
    for (number, answer) in [4, 2, 6].into_iter().zip(answers) {
        assert_eq!(script.run(&s(number).both(1, "u", 0, 1).update()), StepResult::Replay(answer));
    }
    assert_eq!(script.refused(&s(0).update()), Code::OutOfWindow);
    script.done(&s(3).update());
    assert_eq!(script.refused(&s(2).both(1, "u", 0, 1).update()), Code::OutOfWindow);
}

/// RFC 8506 5.1.2: reports may arrive in any order; none is lost because newer ones arrived first.
#[test]
fn a_report_below_the_window_is_settled_once() {
    let limits = Limits { answers_max: 2, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 100)]);
    script.done(&s(0).ask(1, "u", 10).reserve());
    for number in [2, 4, 6] {
        script.done(&s(number).both(1, "u", 5, 10).update());
    }
    assert_eq!(script.funds("a"), (75, 10));
    // Item 2 was never granted anything: it is late because the number is below the window.
    let missed = s(1).both(1, "u", 7, 50).both(2, "u", 0, 50).update();
    assert_eq!(script.grants(&missed), (Code::Ok, vec![0, 0]));
    assert_eq!(script.funds("a"), (68, 10));
    for number in 0..=2 {
        let again = s(number).both(1, "u", 7, 50).update();
        assert_eq!(script.refused(&again), Code::OutOfWindow);
    }
    // This number is not below the window, so it may be granted.
    assert_eq!(script.grants(&s(5).both(2, "u", 1, 3).update()), (Code::Ok, vec![3]));
    script.done(&s(3).used(1, "u", 1).terminate());
    assert_eq!(script.funds("a"), (76, 0));
}

#[test]
fn of_nine_gaps_the_lowest_is_given_up() {
    let limits = Limits { answers_max: 1, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 100)]);
    script.done(&s(0).ask(1, "u", 1).reserve());
    for number in 1..=9 {
        script.done(&s(number * 4).update());
    }
    for number in [1, 2, 3] {
        assert_eq!(script.refused(&s(number).update()), Code::OutOfWindow);
    }
    // Its number splits a gap in two, and the lowest of nine gaps is given up.
    script.done(&s(10).update());
    assert_eq!(script.refused(&s(5).update()), Code::OutOfWindow);
    for number in [9, 11, 13, 14, 35] {
        script.done(&s(number).update());
    }
}

#[test]
fn a_transaction_is_remembered_until_its_time() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    script.replayed_after(&Op::debit("d", "u", 3), 3_599_999);
    assert_eq!(script.refused(&Op::debit("d", "u", 4)), Code::RequestMismatch);
    assert_eq!(script.refused(&Op::topup("d", "a", 3)), Code::RequestMismatch);
    script.now += 1;
    script.done(&Op::debit("d", "u", 4));
    assert_eq!(script.funds("a"), (3, 0));
}

/// I7 holds at any delay, although the same command would be refused as new by then.
#[test]
fn a_change_of_validity_is_replayed_after_its_to_has_passed() {
    let to = |end| BucketAttributes { valid_to: Some(Some(Time(end))), ..Default::default() };
    let mut script = ScriptedPair::new(&[]);
    let (txn, bucket, unit) = ("t".to_string(), name("a"), Some(name("u")));
    script.replayed_after(
        &Op::TopUp { txn, bucket, amount: 5, unit, with: to(1_050), keys: vec![] },
        50,
    );
    script.replayed_after(&Op::bucket("b", "a", to(1_060)), 100);
    assert_eq!(script.refused(&Op::bucket("c", "a", to(1_060))), Code::Invalid);
    let topup = Op::topup("t", "a", 5);
    assert_eq!(script.refused(&topup), Code::RequestMismatch);
}

#[test]
fn another_item_key_is_another_body() {
    let mut script = ScriptedPair::new(&[("a", "u", 100)]);
    let reserve = |of: &str| Request::new("s", 0).ask(key(of), "u", 1).reserve();
    script.replayed_after(&reserve("gpt-x"), 1);
    for other in ["gpt-y", "gpt-", "gpt-xy", "5"] {
        assert_eq!(script.refused(&reserve(other)), Code::RequestMismatch, "{other}");
    }
}

#[test]
fn a_denied_debit_is_remembered() {
    let mut script = ScriptedPair::new(&[("a", "u", 10)]);
    let debit = Op::debit("d", "u", 11);
    let answer = script.done(&debit);
    script.done(&Op::topup("t", "a", 100));
    assert_eq!(script.run(&debit), StepResult::Replay(answer));
}

#[test]
fn at_a_bound_a_new_id_is_busy() {
    let limits =
        Limits { sessions_max: 2, session_ids_max: 3, transactions_max: 1, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 10)]);
    let reserve = |id| Request::new(id, 0).ask(1, "u", 1).reserve();
    script.done(&reserve("s"));
    script.done(&reserve("t"));
    assert_eq!(script.refused(&reserve("u")), Code::Busy);
    script.done(&Op::release("s"));
    script.done(&reserve("u"));
    script.done(&Op::release("t"));
    assert_eq!(script.refused(&reserve("v")), Code::Busy);
    script.done(&Op::debit("d", "u", 1));
    assert_eq!(script.refused(&Op::debit("e", "u", 1)), Code::Busy);
}

fn rejection(script: &ScriptedPair, op: &Op) -> Rejection {
    let account = script.pair.account.as_ref();
    match op.with(|command| decide(account, command, Time(script.now), &script.pair.limits)) {
        Decision::Reject(rejection) => rejection,
        other => panic!("{op:?}: {other:?}"),
    }
}

/// Checks that a command is refused for exactly `wait_ms`, and then executes it.
fn waits(script: &mut ScriptedPair, op: &Op, bound: &str, wait_ms: i64) {
    let said = rejection(script, op).to_string();
    assert!(said.starts_with(&format!("{bound}, the first goes in {wait_ms} ms: ")), "{said}");
    script.now += wait_ms - 1;
    assert_eq!(script.refused(op), Code::Busy);
    script.now += 1;
    script.done(op);
}

#[test]
fn busy_says_which_bound_it_is_and_when_there_is_room() {
    let limits = Limits {
        sessions_max: 2,
        session_ids_max: 4,
        transactions_max: 1,
        buckets_max: 1,
        counters_max: 0,
        identities_max: 0,
        tombstone_ms: 500,
        transaction_ms: 900,
        ..Limits::default()
    };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 10)]);
    let reserve = |id, tcc_ms| {
        Request {
            options: SessionOptions { tcc_ms: Some(tcc_ms), ..SessionOptions::default() },
            ..Request::new(id, 0)
        }
        .ask(1, "u", 1)
        .reserve()
    };
    script.done(&reserve("s", 100));
    script.done(&reserve("t", 300));
    waits(&mut script, &reserve("u", 1_000), "sessions_max 2", 100);
    // t (until 300) and u are open; s is remembered until 600.
    script.now += 50;
    script.done(&Op::release("t"));
    script.done(&reserve("v", 50));
    waits(&mut script, &reserve("w", 10), "sessions_max 2", 450);
    let (with, amount) = (BucketAttributes::default(), 1);
    let (txn, bucket, unit) = ("t".to_string(), name("b"), Some(name("u")));
    let more = Op::TopUp { txn, bucket, amount, unit, with, keys: vec![] };
    assert_eq!(
        rejection(&script, &more).to_string(),
        "buckets_max 1: the account has as many as allowed: remove one"
    );
    let said = rejection(&script, &Op::counter("c", "n", 1, None)).to_string();
    assert!(said.starts_with("counters_max 0: "), "{said}");
    let identities = vec![(name("imsi"), b"1".to_vec())];
    let said = rejection(&script, &Op::Status { txn: None, status: Status::Active, identities })
        .to_string();
    assert!(said.starts_with("identities_max 0: "), "{said}");
    script.done(&Op::debit("d", "u", 1));
    waits(&mut script, &Op::debit("e", "u", 1), "transactions_max 1", 900);
}

#[test]
fn an_id_that_is_remembered_has_room_when_it_is_forgotten() {
    let limits = Limits { session_ids_max: 2, tombstone_ms: 500, ..Limits::default() };
    let mut script = ScriptedPair::with(limits, &[("a", "u", 10)]);
    let reserve = |id, tcc_ms| {
        Request {
            options: SessionOptions { tcc_ms: Some(tcc_ms), ..SessionOptions::default() },
            ..Request::new(id, 0)
        }
        .ask(1, "u", 1)
        .reserve()
    };
    script.done(&reserve("s", 100));
    script.done(&reserve("t", 1_000));
    waits(&mut script, &reserve("u", 100), "session_ids_max 2", 600);
}

#[test]
fn the_least_adjustment_is_refused_for_what_it_is() {
    let script = ScriptedPair::new(&[("a", "u", 10)]);
    let least = rejection(&script, &Op::adjust("t", "a", i64::MIN));
    assert_eq!(least.why, "amount must be at least -9223372036854775807");
    assert_eq!(rejection(&script, &Op::adjust("t", "a", 0)).why, "amount must not be 0");
}

/// Clocks outside of any calendar: the time is clamped to its range, so remembered answers are neither forgotten at
/// once nor kept forever.
#[test]
fn a_clock_out_of_range_remembers_as_long_as_any() {
    for clock in [i64::MIN, -1, i64::MAX] {
        let mut script = ScriptedPair::new(&[]);
        script.now = clock;
        let count = Op::counter("t", "c", 1, None);
        let answer = script.done(&count);
        assert_eq!(script.run(&count), StepResult::Replay(answer), "{clock}");
    }
}
