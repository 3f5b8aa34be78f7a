//! Doors of Nchf over HTTP/2 before a group, on local ports: doors and a leader are killed under load, and connections cut.

use anyhow::Result;
use scurry_cluster_test::group::{DoorReport, DoorSettings, nchf_faults};
use scurry_crash::Binary;
use std::time::Duration;
use tempfile::TempDir;

fn run(seconds: u64, lies: bool) -> Result<DoorReport> {
    let directory = TempDir::new().expect("a directory");
    let settings = DoorSettings {
        seed: 1,
        time: Duration::from_secs(seconds),
        rate: 200,
        no_network: Some("the gate has no rights to make networks".to_owned()),
        lies,
        directory: directory.path().to_owned(),
        interrupted: Default::default(),
    };
    nchf_faults(&Binary::find().expect("a scurry binary"), &settings)
}

#[test]
fn doors_and_leaders_are_killed_and_connections_cut_and_each_request_is_charged_once() {
    let report = run(12, false).unwrap_or_else(|error| panic!("{error:?}"));
    println!("{report}");
    // A run without requests would find no loss either.
    for (kind, least) in [("I", 50), ("U", 100), ("T", 30), ("debit", 10), ("settle", 5)] {
        assert!(report.answered_of(kind) > least, "{report}");
    }
    assert!(report.answered_again() > 10 && report.cut_off() > 10, "{report}");
    assert!(["kill-door", "kill-leader"].iter().all(|fault| report.faults.contains_key(fault)));
}

#[test]
fn use_that_was_not_reported_as_the_books_say_is_found() {
    let error = run(1, true).expect_err("the books have one unit more");
    assert!(format!("{error:#}").contains("debited is not what was answered"), "{error:?}");
}
