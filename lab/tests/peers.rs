//! The lab against a real peer, end to end: start, probe, fill, load, audit, report, stop. Only
//! functions are tested, never figures.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Runs the lab with these words and gives its row of the JSON report.
fn run(words: &[&str]) -> (Value, String) {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("rows.json");
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .arg("run")
        .args(words)
        .args(["--quiet", "--seconds", "1", "--warmup", "0.2", "--json"])
        .arg(&json)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    (report["rows"][0].clone(), stdout)
}

fn need_redis() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found: Option<PathBuf> = std::env::split_paths(&path)
        .map(|dir| dir.join("redis-server"))
        .find(|path| path.is_file());
    assert!(found.is_some(), "redis-server is not installed: run scripts/install-tools.sh");
}

fn assert_measured(row: &Value) {
    assert_eq!(row["audit"], "ok", "{row}");
    for figure in ["business_ops_per_s", "cpu_us_per_op", "memory_bytes", "tx_packets_per_s"] {
        assert!(row[figure].as_f64().is_some_and(|value| value > 0.0), "{figure}: {row}");
    }
    assert!(row["latency_us"]["p50"].as_f64() <= row["latency_us"]["max"].as_f64());
    assert_eq!(row["runs"].as_array().unwrap().len(), 1);
    assert_eq!((&row["durability"], &row["replicas"]), (&"none".into(), &0.into()));
}

#[test]
fn charging_on_redis_is_audited_to_the_unit() {
    need_redis();
    let (row, table) = run(&[
        "moaf-scur",
        "--target",
        "redis+lua",
        "--accounts",
        "1000",
        "--sessions",
        "64",
        "--connections",
        "8",
        "--depth",
        "4",
    ]);
    assert_measured(&row);
    assert_eq!((&row["ops_per_session"], &row["accounts"]), (&8.into(), &1000.into()));
    let names: Vec<&str> = row["runs"][0]["by_operation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["operation"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["GET", "RESERVE", "SESSION", "UPDATE", "TERMINATE"]);
    assert!(table.contains("published, other hardware, never in a ratio"), "{table}");
}

#[test]
fn a_peer_that_keeps_its_data_says_so_itself() {
    need_redis();
    let words = "kv --keys 100 --sessions 8 --directory";
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for word in ["everysec", "always"] {
        let target = format!("redis:{word}");
        let mut words: Vec<&str> = words.split(' ').collect();
        words.extend([place.path().to_str().unwrap(), "--target", &target]);
        let (row, table) = run(&words);
        assert_eq!((&row["audit"], &row["durability"]), (&"ok".into(), &word.into()), "{row}");
        assert_eq!(row["target"], target.as_str());
        assert!(row["filesystem"].as_str().is_some_and(|kind| !kind.is_empty()), "{row}");
        assert!(table.contains("keeps its data on"), "{table}");
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn the_shorter_loop_is_named_in_the_row() {
    need_redis();
    let (row, _) = run(&[
        "moaf-scur",
        "--target",
        "redis+lua",
        "--accounts",
        "1000",
        "--sessions",
        "8",
        "--last-session",
        "no",
    ]);
    assert_measured(&row);
    assert_eq!(row["ops_per_session"], 7);
}

/// The built-in opponent with one known bug each: the lab must give none of them a number.
#[test]
fn mutants_of_the_opponent_get_no_number() {
    need_redis();
    let library = include_str!("../peers/scur.lua");
    let mutants = [
        // The probe finds rules that are broken for everyone.
        ("if s[at + 1] == item then", "if false then", "an update replaces the hold"),
        ("if text ~= body then return mismatch() end", "", "another body is refused"),
        // The audit finds what only some operations lose: those of the load that use 700, which the
        // probe never does.
        (
            "rest = rest - taken",
            "rest = rest - taken; if taken == 700 then a[b + 11] = a[b + 11] - 1; a[b + 8] = a[b + 8] + 1 end",
            "was acknowledged",
        ),
    ];
    for (rule, broken, expected) in mutants {
        let text = library.replacen(rule, broken, 1);
        assert_ne!(text, library, "{rule}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mutant.lua");
        std::fs::write(&path, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
            .args([
                "run",
                "moaf-scur",
                "--target",
                "redis+lua",
                "--accounts",
                "100",
                "--sessions",
                "8",
            ])
            .args(["--quiet", "--seconds", "0.5", "--warmup", "0", "--lua-library"])
            .arg(&path)
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{stdout}");
        assert!(
            stdout.contains("failed audit: ") && stdout.contains(expected),
            "{expected}: {stdout}"
        );
    }
}

#[test]
fn key_values_on_redis_are_audited() {
    need_redis();
    let (row, _) = run(&[
        "kv",
        "--target",
        "redis",
        "--keys",
        "1000",
        "--sessions",
        "32",
        "--get-share",
        "40",
        "--set-share",
        "40",
        "--del-share",
        "20",
        "--value-size",
        "10",
    ]);
    assert_measured(&row);
}

#[test]
fn the_echo_server_has_nothing_to_audit() {
    let (row, _) =
        run(&["kv", "--target", "echo", "--keys", "1000", "--sessions", "32", "--depth", "4"]);
    assert_eq!(row["audit"], "n/a");
    assert!(row["business_ops_per_s"].as_f64().is_some_and(|value| value > 0.0));
}

#[test]
fn a_missing_target_is_a_row_with_its_reason_and_nothing_measured_is_a_failure() {
    let missing = Path::new("no/such/scurry");
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(["run", "kv", "--target", "scurry", "--quiet", "--scurry-bin"])
        .arg(missing)
        .output()
        .unwrap();
    assert!(!output.status.success());
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("not measured here: there is no program no/such/scurry"), "{stdout}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("no target could be measured here"), "{stderr}");
}

#[test]
fn a_server_that_does_not_start_fails_its_row_with_its_last_words() {
    let directory = tempfile::tempdir().unwrap();
    let server = directory.path().join("scurry");
    std::fs::write(&server, "#!/bin/sh\necho no room on this machine\nexit 3\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&server, mode).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(["run", "kv", "--target", "scurry", "--quiet", "--scurry-bin"])
        .arg(&server)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("no room on this machine"), "{stderr}");
}
