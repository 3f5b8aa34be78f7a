//! Every way writes what it was given, on every ground: the bench reads it back itself.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

const WAYS: [&str; 10] = [
    "write",
    "write-sync",
    "write-dsync",
    "direct-sync",
    "direct-dsync",
    "ring-sync",
    "ring-direct-sync",
    "ring-direct-dsync",
    "thread-sync",
    "thread-direct-sync",
];

#[test]
fn every_way_writes_on_every_ground() {
    let place = TempDir::new().expect("a place for files");
    let json = place.path().join("log-io.json");
    let status = Command::new(env!("CARGO_BIN_EXE_scurry-log-bench"))
        .args(["--writers", "2", "--rounds", "1", "--percent", "1", "--directory"])
        .arg(place.path())
        .arg("--json")
        .arg(&json)
        .status()
        .expect("it starts");
    assert!(status.success(), "{status}");
    let text = fs::read_to_string(&json).expect("results");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    for way in WAYS {
        // Five sizes; past the cache one ground less.
        let expected = if way.contains("direct") { 5 * 4 } else { 5 * 5 };
        assert_eq!(rows.iter().filter(|row| row["way"] == way).count(), expected, "{way}");
    }
    assert_eq!(report["preparing"].as_array().map(Vec::len), Some(3));
    let left: Vec<_> = fs::read_dir(place.path()).expect("listed").collect();
    assert_eq!(left.len(), 1, "only the results are left: {left:?}");
}
