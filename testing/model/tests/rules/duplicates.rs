//! Section 4: duplicates and what is remembered.

use scurry_ledger::{BucketAttributes, Code, Limits, Time};
use scurry_model::{Came, Desk, Op, Request, name};

fn s(number: u32) -> Request {
    Request::new("s", number)
}

#[test]
fn a_repeated_update_is_replayed() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.done(&s(0).ask(1, "u", 5).reserve());
    desk.replayed_after(&s(1).both(1, "u", 2, 5).update(), 50);
    assert_eq!(desk.bucket("a").consumed, 2);
}

#[test]
fn a_repeated_reserve_is_replayed() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.replayed_after(&s(0).ask(1, "u", 5).reserve(), 50);
    assert_eq!(desk.refused(&s(1).ask(1, "u", 5).reserve()), Code::SessionExists);
}

#[test]
fn another_body_is_a_mismatch() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.done(&s(0).ask(1, "u", 5).reserve());
    desk.done(&s(1).both(1, "u", 2, 5).update());
    let bodies = [
        s(1).both(1, "u", 3, 5),
        s(1).both(1, "u", 2, 6),
        s(1).both(1, "u", 2, 5).min(2),
        s(1).both(2, "u", 2, 5),
        s(1).both(1, "v", 2, 5),
        s(1).both(1, "u", 2, 5).ask(2, "u", 1),
        Request { validity_ms: Some(600_000), ..s(1).both(1, "u", 2, 5) },
        Request { tcc_ms: Some(600_000), ..s(1).both(1, "u", 2, 5) },
        Request { close_on_denial: true, ..s(1).both(1, "u", 2, 5) },
        Request { blob: Some(vec![]), ..s(1).both(1, "u", 2, 5) },
    ];
    for body in bodies {
        assert_eq!(desk.refused(&body.update()), Code::RequestMismatch);
    }
    assert_eq!(desk.refused(&s(1).used(1, "u", 2).terminate()), Code::RequestMismatch);
}

#[test]
fn a_default_that_is_given_is_the_same_body() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.done(&s(0).ask(1, "u", 5).reserve());
    let answer = desk.done(&s(1).ask(1, "u", 5).update());
    let same = [
        s(1).both(1, "u", 0, 5),
        s(1).ask(1, "u", 5).min(1),
        s(1).ask(1, "u", 5).min(0),
        Request { if_version: Some(77), ..s(1).ask(1, "u", 5) },
    ];
    for body in same {
        assert_eq!(desk.run(&body.update()), Came::Replay(answer.clone()));
    }
}

#[test]
fn a_denied_reserve_is_remembered() {
    let mut desk = Desk::new(&[("a", "u", 0)]);
    let reserve = s(3).ask(1, "u", 5).reserve();
    let answer = desk.done(&reserve);
    desk.done(&Op::topup("t", "a", 100));
    assert_eq!(desk.run(&reserve), Came::Replay(answer));
    assert_eq!(desk.refused(&s(4).ask(1, "u", 5).reserve()), Code::SessionExists);
    assert_eq!(desk.refused(&s(4).update()), Code::UnknownSession);
    assert_eq!(desk.refused(&s(3).update()), Code::RequestMismatch);
}

#[test]
fn a_terminate_is_remembered_until_its_time() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.done(&s(0).ask(1, "u", 5).reserve());
    let terminate = s(1).used(1, "u", 2).terminate();
    desk.replayed_after(&terminate, 239_999);
    assert_eq!(desk.refused(&s(0).ask(1, "u", 5).reserve()), Code::SessionExists);
    desk.now += 1;
    assert_eq!(desk.refused(&terminate), Code::UnknownSession);
    desk.done(&s(0).ask(1, "u", 5).reserve());
}

#[test]
fn the_window_keeps_the_highest_numbers() {
    let limits = Limits { answers_max: 3, ..Limits::default() };
    let mut desk = Desk::with(limits, &[("a", "u", 10)]);
    desk.done(&s(0).ask(1, "u", 1).reserve());
    let mut answers = vec![];
    for number in [4, 2, 6] {
        answers.push(desk.done(&s(number).both(1, "u", 0, 1).update()));
    }
    for (number, answer) in [4, 2, 6].into_iter().zip(answers) {
        assert_eq!(desk.run(&s(number).both(1, "u", 0, 1).update()), Came::Replay(answer));
    }
    assert_eq!(desk.refused(&s(1).update()), Code::OutOfWindow);
    desk.done(&s(3).update());
    assert_eq!(desk.refused(&s(2).both(1, "u", 0, 1).update()), Code::OutOfWindow);
}

#[test]
fn a_transaction_is_remembered_until_its_time() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    desk.replayed_after(&Op::debit("d", "u", 3), 3_599_999);
    assert_eq!(desk.refused(&Op::debit("d", "u", 4)), Code::RequestMismatch);
    assert_eq!(desk.refused(&Op::topup("d", "a", 3)), Code::RequestMismatch);
    desk.now += 1;
    desk.done(&Op::debit("d", "u", 4));
    assert_eq!(desk.funds("a"), (3, 0));
}

/// I7 holds at any delay, although the same command would be refused as new by then.
#[test]
fn a_change_of_validity_is_replayed_after_its_to_has_passed() {
    let to = |end| BucketAttributes { valid_to: Some(Some(Time(end))), ..Default::default() };
    let mut desk = Desk::new(&[]);
    let (txn, bucket, unit) = ("t".to_string(), name("a"), Some(name("u")));
    desk.replayed_after(&Op::TopUp { txn, bucket, amount: 5, unit, with: to(1_050) }, 50);
    desk.replayed_after(&Op::bucket("b", "a", to(1_060)), 100);
    assert_eq!(desk.refused(&Op::bucket("c", "a", to(1_060))), Code::Invalid);
    let topup = Op::topup("t", "a", 5);
    assert_eq!(desk.refused(&topup), Code::RequestMismatch);
}

#[test]
fn a_denied_debit_is_remembered() {
    let mut desk = Desk::new(&[("a", "u", 10)]);
    let debit = Op::debit("d", "u", 11);
    let answer = desk.done(&debit);
    desk.done(&Op::topup("t", "a", 100));
    assert_eq!(desk.run(&debit), Came::Replay(answer));
}

#[test]
fn at_a_bound_a_new_id_is_busy() {
    let limits =
        Limits { sessions_max: 2, session_ids_max: 3, transactions_max: 1, ..Limits::default() };
    let mut desk = Desk::with(limits, &[("a", "u", 10)]);
    let reserve = |id| Request::new(id, 0).ask(1, "u", 1).reserve();
    desk.done(&reserve("s"));
    desk.done(&reserve("t"));
    assert_eq!(desk.refused(&reserve("u")), Code::Busy);
    desk.done(&Op::release("s"));
    desk.done(&reserve("u"));
    desk.done(&Op::release("t"));
    assert_eq!(desk.refused(&reserve("v")), Code::Busy);
    desk.done(&Op::debit("d", "u", 1));
    assert_eq!(desk.refused(&Op::debit("e", "u", 1)), Code::Busy);
}

/// Clocks that no calendar knows: the time is held within its range, so what is remembered is
/// neither forgotten at once nor kept for ever.
#[test]
fn a_clock_out_of_range_remembers_as_long_as_any() {
    for clock in [i64::MIN, -1, i64::MAX] {
        let mut desk = Desk::new(&[]);
        desk.now = clock;
        let count = Op::counter("t", "c", 1, None);
        let answer = desk.done(&count);
        assert_eq!(desk.run(&count), Came::Replay(answer), "{clock}");
    }
}
