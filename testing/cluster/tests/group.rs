//! Two faults of a group, on local ports: a leader that is killed, and one that is stopped and continues.

use scurry_cluster_test::group::{Fault, Report, Settings, run};
use scurry_crash::Binary;
use tempfile::TempDir;

#[test]
fn a_group_loses_its_leader_and_nothing_else() {
    let directory = TempDir::new().expect("a directory");
    let settings = Settings {
        seed: 1,
        rounds: 1,
        faults: Fault::SHORT.to_vec(),
        tls: false,
        no_network: None,
        directory: directory.path().to_owned(),
        groups_before: 0,
        interrupted: Default::default(),
    };
    let binary = Binary::find().expect("a scurry binary");
    let mut report = Report::default();
    let outcome = run(&binary, &settings, &mut report, &mut |row| println!("{row:?}"));
    outcome.unwrap_or_else(|error| panic!("{error:?}"));
    // A run without requests would find no loss either.
    let found = |row: &scurry_cluster_test::group::Row| {
        row.acknowledged > 100 && row.found > 50 && row.events > 50
    };
    assert!(report.rows.iter().all(found) && report.calls > 50, "{report}");
}
