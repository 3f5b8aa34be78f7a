//! The lab against servers with replicas and against a cluster, end to end: only functions are
//! tested, never figures.

mod module;

use std::path::Path;
use std::process::Command;

use module::lab_with_module;
use serde_json::Value;

const LAB: &str = env!("CARGO_BIN_EXE_scurry-lab");

/// Runs moaf-scur in small and gives its row of the JSON report, and the table.
fn run(lab: &Path, words: &[&str]) -> (Value, String) {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("rows.json");
    let output = Command::new(lab)
        .args(["run", "moaf-scur", "--accounts", "1000", "--sessions", "60", "--connections", "6"])
        .args(["--depth", "4", "--quiet", "--seconds", "1", "--warmup", "0.2"])
        .args(words)
        .arg("--json")
        .arg(&json)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let row = report["rows"][0].clone();
    assert_eq!(row["audit"], "ok", "{row}");
    assert!(row["operations"].as_u64().is_some_and(|count| count > 0), "{row}");
    (row, stdout)
}

#[test]
fn the_cpu_of_a_replica_is_told_apart() {
    let (row, table) = run(Path::new(LAB), &["--target", "valkey+hset", "--replicas", "1"]);
    assert_eq!((&row["replicas"], &row["not_enough_copies"]), (&1.into(), &Value::Null));
    assert!(row["replica_cpu_us_per_op"].as_f64().is_some_and(|cpu| cpu > 0.0), "{row}");
    assert!(table.contains("its replicas take"), "{table}");
}

#[test]
fn without_a_replica_no_operation_is_on_two_copies() {
    let words = ["--target", "valkey+hset", "--acknowledged-copies", "2"];
    let (row, table) = run(Path::new(LAB), &words);
    assert_eq!(row["not_enough_copies"], row["operations"], "{row}");
    assert!(table.contains("not enough replicas for"), "{table}");
}

#[test]
fn a_cluster_is_loaded_by_slots_and_audited_with_its_replicas() {
    let directory = tempfile::tempdir().unwrap();
    let lab = lab_with_module(directory.path());
    let words = ["--target", "valkey-cluster+module", "--replicas", "1"];
    let (row, _) = run(&lab, &[&words[..], &["--acknowledged-copies", "2"]].concat());
    assert_eq!((&row["replicas"], &row["acknowledged_copies"]), (&1.into(), &2.into()));
    assert_eq!(row["not_enough_copies"], 0, "{row}");
}
