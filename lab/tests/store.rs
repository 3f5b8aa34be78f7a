//! The sub-commands that drive scurry itself, end to end and tiny. Only functions are tested,
//! never figures.

mod support;

use std::process::{Command, Output};

use serde_json::Value;
use support::scurry;

/// Runs the lab with these arguments. Returns its JSON, if it wrote any, and its output.
fn lab(line: &str) -> (Value, Output) {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("result.json");
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(line.split(' '))
        .arg("--scurry-bin")
        .arg(scurry())
        .args(["--quiet", "--json"])
        .arg(&json)
        .output()
        .unwrap();
    let result = std::fs::read(json).ok();
    (result.map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap()), output)
}

fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(text).unwrap()
}

/// Runs it like [`lab`]; the run must succeed.
fn sound(line: &str) -> (Value, String) {
    let (result, output) = lab(line);
    assert!(output.status.success(), "{line}: {}", said(&output));
    (result, said(&output))
}

#[test]
fn two_stores_are_filled_weighed_and_compared() {
    let (report, text) = sound("fill --accounts 3000 --compare 2000 --buckets 3 --seconds 0.3");
    let stores = report["stores"].as_array().unwrap();
    let records: Vec<u64> =
        stores.iter().map(|store| store["filling"]["records"].as_u64().unwrap()).collect();
    assert_eq!(records, [3_000, 2_000]);
    for store in stores {
        assert!(store["bytes_per_account"].as_f64().unwrap() > 0.0, "{store}");
        assert!(store["load"]["business_ops_per_s"].as_f64().unwrap() > 0.0, "{store}");
        let info = store["filling"]["info"].as_array().unwrap();
        assert!(info.iter().any(|line| line.as_str().unwrap().starts_with("used_memory:")));
    }
    assert!(report["percent_of_second"].as_f64().unwrap() > 0.0);
    assert!(text.contains("memory with 3 000 accounts"), "{text}");
}

#[test]
fn a_store_writes_a_snapshot_under_load_and_comes_back_after_a_kill_with_every_unit() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let line = format!(
        "fill --recovery --accounts 3000 --seconds 0.3 --directory {}",
        place.path().display()
    );
    let (report, text) = sound(&line);
    let revival = &report["stores"][0]["revival"];
    let number = |name: &str| revival[name].as_f64().unwrap_or_else(|| panic!("{name}: {revival}"));
    for name in ["snapshot_seconds", "write_alone_seconds", "start_seconds", "read_alone_seconds"] {
        assert!(number(name) >= 0.0, "{name}: {revival}");
    }
    // Each account has an id of eleven bytes.
    assert!(number("snapshot_bytes") > 3_000.0 * 11.0, "{revival}");
    assert!(number("start_bytes") > number("snapshot_bytes"), "{revival}");
    assert!(revival["during"]["operations"].as_u64().unwrap() > 0, "{revival}");
    assert_eq!(revival["during"]["log"]["snapshots"], 1, "{revival}");
    assert!(text.contains("all units audited after it"), "{text}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "something is left");
}

#[test]
fn a_slow_disk_is_felt_on_one_machine_and_every_row_is_audited() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (report, text) = sound(&format!(
        "faults slow-disk --short --accounts 100 --directory {}",
        place.path().display()
    ));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{text}");
    for row in rows {
        let run = &row["runs"][0];
        assert!(run["syncs"]["all"].as_u64().unwrap() > 0, "{row}");
        let is_alone_and_slow = row["step"] == "slow" && row["target"] == "scurry:fsync";
        let longest = row["latency_us"]["max"].as_f64().unwrap();
        assert!(!is_alone_and_slow || longest >= 10_000.0, "{row}");
    }
    assert!(text.contains("late by 10 ms"), "{text}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "something is left");
}

#[test]
fn rounds_go_on_until_the_time_is_over_and_faults_have_a_command_of_their_own() {
    let words = "kv --target scurry --sessions 8 --accounts 100 --seconds 0.2 --warmup 0";
    let (_, text) = sound(&format!("soak --minutes 0.001 {words}"));
    assert!(text.contains("round 1 ended"), "{text}");
    for (line, expected) in [
        ("run slow-disk", "say `scurry-lab faults slow-disk`"),
        ("faults kv", "say `scurry-lab run kv`"),
        ("soak --minutes 0 kv", "--minutes must be"),
    ] {
        let (_, output) = lab(line);
        assert!(said(&output).contains(expected), "{line}: {}", said(&output));
    }
}

#[test]
fn the_server_gets_the_arguments_of_the_command_line() {
    let words = "--sessions 8 --accounts 100 --seconds 0.2 --warmup 0 --server-arg --max-clients";
    let (report, _) = sound(&format!("run kv --target scurry {words} --server-arg 50"));
    let row = &report["rows"][0];
    assert_eq!((&row["audit"], &row["door"]), (&"ok".into(), &"main".into()));
    assert!(row["notes"].to_string().contains("started with --max-clients 50"), "{row}");
    let (_, output) = lab(&format!("run kv --target scurry {words} --server-arg 0"));
    assert_eq!(output.status.code(), Some(1));
    let cure = "invalid value '0' for '--max-clients <N>'";
    assert!(said(&output).contains(cure), "{}", said(&output));
}

#[test]
fn each_durability_of_scurry_is_audited_and_its_log_is_counted() {
    let words = "--accounts 300 --sessions 16 --connections 4 --depth 4 --seconds 0.3 --warmup 0";
    let (report, text) = sound(&format!(
        "run moaf-scur --target scurry --target scurry:write --target scurry:fsync {words}"
    ));
    let rows = report["rows"].as_array().unwrap();
    for (row, durability) in rows.iter().zip(["none", "write", "fsync"]) {
        assert_eq!((&row["audit"], &row["durability"]), (&"ok".into(), &durability.into()));
        assert_eq!(row["filesystem"].is_null(), durability == "none", "{row}");
        let bytes = row["log"]["bytes_per_change"].as_f64();
        assert_eq!(bytes.is_some_and(|bytes| bytes > 20.0), durability != "none", "{row}");
        assert!(row["rate"].is_null(), "{row}");
    }
    assert!(text.contains("bytes per change"), "{text}");
}

#[test]
fn an_open_loop_sends_by_the_clock() {
    let (report, text) = sound(
        "run kv --target scurry --accounts 100 --sessions 20 --connections 2 --depth 8 --rate 400 \
         --seconds 1 --warmup 0.2",
    );
    let row = &report["rows"][0];
    assert_eq!((&row["audit"], &row["rate"]), (&"ok".into(), &400.0.into()), "{row}");
    let rate = row["business_ops_per_s"].as_f64().unwrap();
    assert!((300.0..=500.0).contains(&rate), "{rate}");
    assert!(text.contains("400 requests/s by the clock"), "{text}");
}

#[test]
fn both_doors_of_a_server_with_two_threads_are_audited() {
    for scenario in ["moaf-scur --accounts 300", "kv --accounts 300"] {
        let (report, text) = sound(&format!(
            "run {scenario} --target scurry --threads 2 --door main --door cores --sessions 16 \
             --connections 4 --depth 4 --seconds 0.3 --warmup 0"
        ));
        let rows = report["rows"].as_array().unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row["target"].as_str().unwrap()).collect();
        assert_eq!(names, ["scurry", "scurry cores"], "{text}");
        for (row, door) in rows.iter().zip(["main", "cores"]) {
            assert_eq!(row["audit"], "ok", "{row}");
            assert_eq!((&row["threads"], &row["door"]), (&2.into(), &door.into()));
            assert!(row["cpu_us_per_op"].as_f64().is_some(), "{row}");
        }
    }
}

#[test]
fn a_shipper_is_measured_while_a_store_charges_and_on_a_log_that_is_there() {
    let (report, text) =
        sound("ship --runs 1 --seconds 0.2 --log-seconds 0.2 --accounts 100 --sessions 20");
    let charging = report["charging"].as_array().unwrap();
    assert_eq!(charging.len(), 2, "{report}");
    for row in charging {
        assert!(row["shipped_per_s"]["median"].as_f64().unwrap() > 0.0, "{row}");
    }
    let delivery = report["delivery"].as_array().unwrap();
    let events: Vec<u64> = delivery.iter().map(|row| row["events"].as_u64().unwrap()).collect();
    // The client that drops events, three forms from the server and from its files, and the disk alone.
    assert_eq!(events.len(), 8, "{report}");
    // All read the same log to its end.
    assert!(events[0] > 400 && events.iter().all(|&count| count == events[0]), "{events:?}");
    assert!(report["lag"]["events"].as_u64().unwrap() > 0, "{report}");
    assert!(text.contains("| parquet, from files of the store |"), "{text}");
}
