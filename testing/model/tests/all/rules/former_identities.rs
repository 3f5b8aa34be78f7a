//! Section 11: identities that an account gave up while it knew a session.

use scurry_ledger::{
    Code, Decision, HolderStanding, Limits, SessionOptions, Status, Time, decide, view,
};
use scurry_model::{Op, Request, ScriptedPair, StepResult, name};

const TOMBSTONE_MS: i64 = 40;
const TRANSACTION_MS: i64 = 100;

fn limits() -> Limits {
    Limits {
        tombstone_ms: TOMBSTONE_MS,
        transaction_ms: TRANSACTION_MS,
        tcc_ms_max: 10_000,
        ..Limits::default()
    }
}

fn identify(kind: &str, value: &str) -> Op {
    let identities = vec![(name(kind), value.as_bytes().to_vec())];
    Op::Status { txn: None, status: Status::Active, identities }
}

fn reserve(session: &str, tcc_ms: i64) -> Op {
    let options = SessionOptions { tcc_ms: Some(tcc_ms), ..SessionOptions::default() };
    Request { options, ..Request::new(session, 0) }.ask(1, "u", 10).reserve()
}

/// Creates an account with the number 1, whose session `s` ends after `tcc_ms` unless it is updated.
fn with_session(limits: Limits, tcc_ms: i64) -> ScriptedPair {
    let mut script = ScriptedPair::with(limits, &[("a", "u", 100)]);
    script.done(&identify("msisdn", "1"));
    script.done(&reserve("s", tcc_ms));
    script
}

/// Returns the former identities as they are read now, with the time until which each is kept.
fn former(script: &ScriptedPair) -> Vec<(String, i64)> {
    let account = script.pair.account.as_ref().expect("an account");
    let seen = view(account, Time(script.now), &script.pair.limits);
    let former = seen.former_identities.iter();
    former
        .map(|one| {
            let value = String::from_utf8_lossy(one.identity.value.as_bytes()).into_owned();
            (value, one.forget_at.0 - script.now)
        })
        .collect()
}

/// Returns what the account is to the number 1 and a session.
fn standing(script: &ScriptedPair, session: &str) -> Option<HolderStanding> {
    let account = script.pair.account.as_ref().expect("an account");
    let seen = view(account, Time(script.now), &script.pair.limits);
    seen.holder_of(name("msisdn"), b"1", session.as_bytes()).map(|holder| holder.standing)
}

#[test]
fn an_identity_is_kept_if_a_session_is_known_when_it_is_given_up() {
    let mut script = ScriptedPair::with(limits(), &[("a", "u", 100)]);
    script.done(&identify("msisdn", "1"));
    script.done(&identify("msisdn", "2"));
    assert_eq!(former(&script), [], "no session is known");
    script.done(&reserve("s", 1_000));
    script.done(&identify("msisdn", "3"));
    assert_eq!(former(&script), [("2".to_string(), TRANSACTION_MS)], "one is open");
    script.done(&Op::release("s"));
    script.done(&identify("msisdn", ""));
    let kept = ["2", "3"].map(|value| (value.to_string(), TRANSACTION_MS));
    assert_eq!(former(&script), kept, "one has a tombstone");
    script.now += TOMBSTONE_MS;
    script.done(&identify("msisdn", "4"));
    script.done(&identify("msisdn", "5"));
    let kept = kept.map(|(value, left)| (value, left - TOMBSTONE_MS));
    assert_eq!(former(&script), kept, "it is forgotten");
}

#[test]
fn a_value_that_is_passed_over_in_one_command_was_never_had() {
    let mut script = with_session(limits(), 1_000);
    let values = [&b"2"[..], b"1"].map(|value| (name("msisdn"), value.to_vec()));
    let status = Status::Suspended;
    script.done(&Op::Status { txn: None, status, identities: values.to_vec() });
    assert_eq!(former(&script), []);
}

#[test]
fn an_identity_that_comes_back_is_former_no_more() {
    let mut script = with_session(limits(), 1_000);
    script.done(&identify("msisdn", "2"));
    assert_eq!(standing(&script, "other"), Some(HolderStanding::Former));
    script.done(&identify("msisdn", "1"));
    assert_eq!(former(&script), [("2".to_string(), TRANSACTION_MS)]);
    assert_eq!(standing(&script, "other"), Some(HolderStanding::Present));
}

#[test]
fn a_former_identity_is_kept_for_as_long_again_while_a_session_is_known() {
    // Open until 350; the tombstone is kept until 390.
    let mut script = with_session(limits(), 350);
    script.done(&identify("msisdn", ""));
    for (after, kept) in [(99, 1), (1, 100), (100, 200), (100, 100), (50, 50), (49, 1)] {
        script.now += after;
        assert_eq!(former(&script), [("1".to_string(), kept)], "after {after} ms more");
    }
    assert_eq!(standing(&script, "s"), Some(HolderStanding::Former));
    script.now += 1;
    assert_eq!(former(&script), []);
    assert_eq!(standing(&script, "s"), None);
}

#[test]
fn a_session_that_a_late_tick_ends_counts_as_of_its_own_time() {
    for tombstone_ms in [0, 49, 50, 51] {
        // Open until 350, known until 400 if tombstones are kept for 50 ms.
        let limits = Limits { tombstone_ms, ..limits() };
        let mut ends = vec![];
        for ticks in [&[][..], &[399], &[400], &[100, 200, 300, 350, 400], &[470]] {
            let mut script = with_session(limits.clone(), 350);
            let start = script.now;
            script.done(&identify("msisdn", ""));
            for tick in ticks {
                script.now = start + tick;
                script.tick();
            }
            script.now = start + 480;
            ends.push(former(&script));
        }
        let kept = if tombstone_ms > 50 { vec![("1".to_string(), 320)] } else { vec![] };
        assert!(ends.iter().all(|end| *end == kept), "{tombstone_ms}: {ends:?}");
    }
}

#[test]
fn what_is_kept_knows_the_session_by_the_number_that_it_was_opened_with() {
    let mut script = with_session(limits(), 1_000);
    script.done(&identify("msisdn", ""));
    assert_eq!(standing(&script, "s"), Some(HolderStanding::Open));
    script.done(&Op::release("s"));
    assert_eq!(standing(&script, "s"), Some(HolderStanding::Ended));
    script.now += TOMBSTONE_MS;
    assert_eq!(standing(&script, "s"), Some(HolderStanding::Former));
    script.now += TRANSACTION_MS - TOMBSTONE_MS;
    assert_eq!(standing(&script, "s"), None);
}

#[test]
fn without_a_time_for_transactions_it_is_that_of_tombstones_or_a_second() {
    for (tombstone_ms, kept) in [(70, 70), (0, 1_000)] {
        let limits = Limits { tombstone_ms, transaction_ms: 0, ..limits() };
        let mut script = with_session(limits, 5_000);
        script.done(&identify("msisdn", ""));
        assert_eq!(former(&script), [("1".to_string(), kept)]);
    }
}

#[test]
fn the_seventeenth_is_refused_with_the_time_of_the_first() {
    let mut script = with_session(limits(), 100);
    for number in 2..=17 {
        script.done(&identify("msisdn", &number.to_string()));
        script.now += i64::from(number == 2);
    }
    assert_eq!(former(&script).len(), 16);
    let more = identify("msisdn", "18");
    let account = script.pair.account.as_ref();
    let decided = more.with(|c| decide(account, c, Time(script.now), &script.pair.limits));
    let Decision::Reject(rejection) = decided else { panic!("{decided:?}") };
    let bound = rejection.bound.expect("a bound");
    assert_eq!((rejection.code, bound.name, bound.max), (Code::Busy, "former_identities_max", 16));
    assert_eq!(bound.wait_ms, Some(TRANSACTION_MS - 1));
    assert_eq!(script.refused(&more), Code::Busy);
    // One that comes back makes room.
    script.done(&identify("msisdn", "1"));
    script.done(&Op::status(Status::Active));
}

#[test]
fn a_deleted_account_has_no_former_identities() {
    let mut script = with_session(limits(), 1_000);
    script.done(&identify("msisdn", ""));
    script.done(&Op::release("s"));
    script.done(&Op::adjust("t", "a", -100));
    script.done(&Op::status(Status::Closed));
    assert_eq!(former(&script).len(), 1);
    script.done(&Op::Delete { force: true, if_txn: None });
    script.done(&Op::create(&[("a", "u", 100)]));
    assert_eq!(former(&script), []);
    assert!(matches!(script.run(&reserve("s", 10)), StepResult::Commit(_)));
}
