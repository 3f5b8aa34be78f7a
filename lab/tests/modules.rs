//! The lab on other servers than the project's, end to end and in small: every scenario of charging on Valkey and Redis
//! with the module, replicas, and a cluster. Only functions are tested, never figures.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const LAB: &str = env!("CARGO_BIN_EXE_scurry-lab");

/// Puts the lab into this directory with libscurry.so beside it. The module is built alone with its own profile, or is
/// given by `SCURRY_MODULE`.
fn lab_with_module(directory: &Path) -> PathBuf {
    let lab = Path::new(LAB);
    let target = lab.ancestors().nth(2).unwrap();
    let module = std::env::var_os("SCURRY_MODULE").map(PathBuf::from).unwrap_or_else(|| {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["build", "--quiet", "--package", "scurry-valkey-module", "--lib"]);
        cargo.args(["--profile", "module", "--target-dir"]).arg(target);
        cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
        assert!(cargo.status().unwrap().success(), "libscurry.so does not build");
        target.join("module/libscurry.so")
    });
    std::fs::copy(module, directory.join("libscurry.so")).unwrap();
    // A hard link, because a program file that is written here cannot be started while a child forked by another test
    // still holds it open for writing.
    let link = directory.join("scurry-lab");
    std::fs::hard_link(lab, &link).unwrap();
    link
}

/// Creates a directory on the file system of the lab, because hard links cannot cross file systems.
fn beside_the_lab() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Runs the lab's short form with these arguments on both servers, and returns their rows.
fn measured(lab: &Path, line: &str) -> Vec<Value> {
    let json = lab.with_file_name("rows.json");
    let output = Command::new(lab)
        .arg("run")
        .args(line.split_whitespace())
        .args(["--target", "valkey+module", "--target", "redis+module"])
        .args(["--short", "--quiet", "--json"])
        .arg(&json)
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{line}: {said}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let rows = report["rows"].as_array().unwrap().clone();
    for row in &rows {
        assert_eq!(row["audit"], "ok", "{line}: {row}");
        assert!(row["operations"].as_u64().is_some_and(|count| count > 0), "{line}: {row}");
    }
    rows
}

#[test]
fn the_module_is_audited_under_every_charging_scenario() {
    let directory = beside_the_lab();
    let lab = lab_with_module(directory.path());
    let ndb = "ndb-30-records --accounts 300 --sessions 20 --connections 20 --seconds 0.5";
    assert_eq!(measured(&lab, ndb).len(), 2);

    let live = measured(&lab, "charging-live --accounts 300 --sessions 500");
    assert_eq!(live.len(), 6);
    for row in &live {
        let live = &row["runs"][0]["live"];
        assert!(live["denials"].as_u64().unwrap() > 0, "{row}");
        assert!(live["duplicates"].as_u64().unwrap() > 0, "{row}");
    }

    let path = directory.path().join("small.toml");
    let small = "base = \"charglt\"\naccounts = 8000\nsessions = 64\nconnections = 4\nseconds = 0.5\n\
                 warmup_seconds = 0.1\n[search]\np99_ms = 2000\nfrom = 400\ntrials_max = 3\ntries = 1\n[usage]\n\
                 totals_seconds = 0.2\n";
    std::fs::write(&path, small).unwrap();
    for row in measured(&lab, path.to_str().unwrap()) {
        assert!(row["runs"][0]["totals"]["reads"].as_u64().unwrap() > 0, "{row}");
    }
}

/// Runs moaf-scur in small and returns its row of the JSON report, and the table.
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
fn a_cluster_whose_primary_is_killed_goes_on_and_keeps_what_was_on_two_copies() {
    let directory = beside_the_lab();
    let lab = lab_with_module(directory.path());
    let json = directory.path().join("rows.json");
    let output = Command::new(lab)
        .args(["faults", "charging-failover", "--short", "--seconds", "2", "--quiet"])
        .args(["--target", "valkey-cluster+module", "--json"])
        .arg(&json)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let row = &report["rows"][0];
    assert_eq!((&row["lost"], &row["done_twice"]), (&0.into(), &0.into()), "{row}");
    assert_eq!((&row["replicas"], &row["acknowledged_copies"]), (&1.into(), &2.into()));
    assert!(row["runs"][0]["loss"]["resent"].as_u64().unwrap() > 0, "a primary was killed: {row}");
}

#[test]
fn a_cluster_is_loaded_by_slots_and_audited_with_its_replicas() {
    let directory = beside_the_lab();
    let lab = lab_with_module(directory.path());
    let words = ["--target", "valkey-cluster+module", "--replicas", "1"];
    let (row, _) = run(&lab, &[&words[..], &["--acknowledged-copies", "2"]].concat());
    assert_eq!((&row["replicas"], &row["acknowledged_copies"]), (&1.into(), &2.into()));
    assert_eq!(row["not_enough_copies"], 0, "{row}");
}
