//! A short crash test for the gate.

use scurry_crash::{Binary, Settings, run};
use std::path::PathBuf;

#[test]
fn what_was_acknowledged_survives_being_killed() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("crash");
    if directory.exists() {
        std::fs::remove_dir_all(&directory).expect("what the last run left is removed");
    }
    let settings = Settings { seed: 5, rounds: 5, load_ms_max: 500, directory };
    let binary = Binary::find().expect("a scurry binary");
    let report = run(&binary, &settings, &mut |line| println!("{line}"));
    let report = report.unwrap_or_else(|error| panic!("{error:?}"));
    println!("{report}");
    // A run without requests would find no loss either.
    assert!(report.acknowledged > 1_000 && report.keys > 1_000, "{report:?}");
    assert!(report.in_doubt > 20 && report.replays > 100 && report.calls > 100, "{report:?}");
    assert!(report.divided > 0 && report.chains > 20, "{report:?}");
}
