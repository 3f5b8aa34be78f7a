//! Diameter doors before a group, on local ports: doors and a leader are killed under load.

use scurry_cluster_test::group::{DoorSettings, diameter_faults};
use scurry_crash::Binary;
use std::time::Duration;
use tempfile::TempDir;

#[test]
fn doors_and_leaders_are_killed_and_each_request_is_charged_once() {
    let directory = TempDir::new().expect("a directory");
    let settings = DoorSettings {
        seed: 1,
        time: Duration::from_secs(12),
        rate: 200,
        no_network: Some("the gate has no rights to make networks".to_owned()),
        lies: false,
        directory: directory.path().to_owned(),
        interrupted: Default::default(),
    };
    let binary = Binary::find().expect("a scurry binary");
    let report = diameter_faults(&binary, &settings).unwrap_or_else(|error| panic!("{error:?}"));
    println!("{report}");
    // A run without requests would find no loss either.
    for (kind, least) in
        [("I", 50), ("U", 100), ("T", 30), ("debit", 10), ("settle", 5), ("check", 5)]
    {
        assert!(report.answered_of(kind) > least, "{report}");
    }
    assert!(report.answered_of("refund") > 0 && report.answered_again() > 10, "{report}");
    assert!(["kill-door", "kill-leader"].iter().all(|fault| report.faults.contains_key(fault)));
}
