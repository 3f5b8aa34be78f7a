//! The scenarios of charging on Valkey and Redis with the module, in small: each is audited as on the
//! server of the project. Only functions are tested, never figures.

mod module;

use std::path::Path;
use std::process::Command;

use module::lab_with_module;
use serde_json::Value;

/// Runs the lab's short form with these words on both servers, and gives their rows.
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
    let directory = tempfile::tempdir().unwrap();
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
                 warmup_seconds = 0.1\n[search]\np99_ms = 2000\nfrom = 400\ntrials_max = 3\n[usage]\n\
                 totals_seconds = 0.2\n";
    std::fs::write(&path, small).unwrap();
    for row in measured(&lab, path.to_str().unwrap()) {
        assert!(row["runs"][0]["totals"]["reads"].as_u64().unwrap() > 0, "{row}");
    }
}
