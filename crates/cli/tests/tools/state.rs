//! `scurry state`: accounts as of a point of the log, and open holds of all accounts by age.

use crate::data::{Data, START};
use crate::support::scurry;
use serde_json::Value;

/// Two accounts on two threads. Each step is a commit and a frame, a millisecond after the one before.
fn data() -> Data {
    let mut data = Data::new(2);
    for (core, account) in ["alice", "bob"].into_iter().enumerate() {
        let core = &mut data.cores[core];
        core.create(account, 100);
        core.commit();
        for (session, amount) in [("s2", 40), ("s1", 30)] {
            core.reserve(account, session, amount);
            core.commit();
        }
        core.mark();
    }
    data
}

fn lines(data: &Data, options: &[&str]) -> Vec<Value> {
    let path = data.path();
    let words = [&["state", path.to_str().expect("text"), "--json"], options].concat();
    let said = scurry(&words).well();
    said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn sessions(holds: &[Value]) -> Vec<[&str; 2]> {
    holds
        .iter()
        .map(|hold| ["account", "session"].map(|name| hold[name].as_str().unwrap_or("-")))
        .collect()
}

#[test]
fn holds_of_all_accounts_come_by_the_time_of_the_last_request() {
    let data = data();
    let holds = lines(&data, &["--holds"]);
    let by_age = [["alice", "s2"], ["bob", "s2"], ["alice", "s1"], ["bob", "s1"]];
    assert_eq!(sessions(&holds), by_age);
    let first = &holds[0];
    assert_eq!([&first["bucket"], &first["item"], &first["unit"]], ["main", "1", "EUR"]);
    assert_eq!(first["amount"], 40);
    assert_eq!(first["opened_ms"], START.0 + 1);
    assert_eq!(first["deadline_ms"], START.0 + 1 + 1_200_000);
    assert_eq!(sessions(&lines(&data, &["--holds", "--count", "1"])), by_age[..1]);
    // As of a time: the second session of each came later.
    let until = (START.0 + 2).to_string();
    assert_eq!(sessions(&lines(&data, &["--holds", "--until", &until])), by_age[..2]);
    let path = data.path();
    let text = scurry(&["state", path.to_str().expect("text"), "--holds"]).well();
    let line = text.lines().next().expect("a line");
    assert!(line.starts_with("2023-11-14T22:13:20.001Z  alice  s2  1  main 40 EUR"), "{line}");
}

#[test]
fn an_account_is_shown_as_of_a_position_and_as_of_a_time() {
    let data = data();
    let at = |options: &[&str]| {
        let lines = lines(&data, &[&["--account", "bob"], options].concat());
        let held: i64 = lines[1..].iter().filter_map(|hold| hold["amount"].as_i64()).sum();
        assert_eq!(lines[0]["buckets"][0]["held"], held, "the holds add up: {lines:?}");
        (lines[0]["version"].as_i64().unwrap_or(0), held)
    };
    assert_eq!(at(&[]), (3, 70));
    for (sequence, expected) in [(1, (1, 0)), (2, (2, 40)), (3, (3, 70))] {
        assert_eq!(at(&["--position", &format!("1.1:{sequence}")]), expected);
        let until = START.0 + sequence;
        assert_eq!(at(&["--until", &until.to_string()]), expected);
    }
    let path = data.path();
    let refused = |options: &[&str], why: &str| {
        let words = [&["state", path.to_str().expect("text")], options].concat();
        scurry(&words).refused(&[why]);
    };
    refused(&["--account", "nobody"], "there was no account nobody then");
    refused(&["--account", "bob", "--until", "5"], "there was no account bob then");
    refused(&["--account", "bob", "--position", "1.0:1"], "there was no account bob then");
    refused(&["--account", "bob", "--position", "1.1:4"], "these files reach from 0 to 3");
    refused(&["--account", "bob", "--position", "2.1:1"], "is a position of another log");
    refused(&["--account", "bob", "--position", "1.2:1"], "is a position of another log");
    refused(&["--account", "bob", "--position", "3"], "is no position");
}
