//! The sub-commands that drive scurry itself, end to end and tiny. Only functions are tested,
//! never figures.

mod support;

use std::process::{Command, Output};

use serde_json::Value;
use support::scurry;

/// Runs the lab with these words. Gives its JSON, where it wrote one, and all that it said.
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

/// As [`lab`], for a run that must succeed.
fn sound(line: &str) -> (Value, String) {
    let (result, output) = lab(line);
    assert!(output.status.success(), "{line}: {}", said(&output));
    (result, said(&output))
}

#[test]
fn the_ladder_has_every_rung_on_the_one_below() {
    let (ladder, text) = sound("ladder --accounts 500 --seconds 0.2 --runs 2");
    let rungs = ladder["rungs"].as_array().unwrap();
    let names: Vec<&str> = rungs.iter().map(|rung| rung["rung"].as_str().unwrap()).collect();
    let expected = [
        "ledger",
        "engine",
        "in-process",
        "loopback 50x64",
        "echo 50x64",
        "loopback 600x1",
        "echo 600x1",
    ];
    assert_eq!(names, expected);
    for rung in rungs {
        let name = rung["rung"].as_str().unwrap();
        assert!(rung["operations_per_s"].as_f64().unwrap() > 0.0, "{rung}");
        assert_eq!(rung["runs"].as_array().unwrap().len(), 2, "{rung}");
        let stands = !(name == "ledger" || name.starts_with("echo"));
        assert_eq!(rung["percent_of_below"].is_number(), stands, "{rung}");
        assert_eq!(rung["percent_of_echo"].is_number(), name.starts_with("loopback"), "{rung}");
    }
    assert!(text.contains("of ledger") && text.contains("of in-process"), "{text}");
}

#[test]
fn each_neighbour_is_served_or_refused_and_the_healthy_client_is_audited() {
    let (report, text) = sound(
        "neighbours --seconds 0.3 --idle 300 --pipeline 5000 --storm 300 --accounts 500 --rate 500",
    );
    let rows = report["rows"].as_array().unwrap();
    let happened = |name: &str| {
        let row = rows.iter().find(|row| row["neighbour"] == name).unwrap();
        assert!(row["failed"].is_null(), "{row}");
        assert!(row["during"]["operations"].as_u64().unwrap() > 0, "{row}");
        assert!(row["memory"]["rss_peak"].as_u64() >= row["memory"]["rss_before"].as_u64());
        row["what_happened"].as_str().unwrap().to_owned()
    };
    for (name, expected) in [
        ("none", "nobody"),
        ("idle", "300 open, 0 closed, 0 reset at the end; 300 answered a PING"),
        ("slow-reader", "16 open"),
        ("no-reader", "read 0.000 MB; 16 open"),
        ("half-closed", "500 answered; 1000 ended, 0 not"),
        ("one-byte", "answered requests; 16 open"),
        ("pipeline", "pipelines of 5000 commands, all answered"),
        ("giant", "on 8 connections, all answered OK"),
        ("too-big", "a length beyond any: "),
        ("storm", "came and went, "),
    ] {
        let found = happened(name);
        assert!(found.contains(expected), "{name}: {found}");
        assert!(text.contains(&format!("{name}: {found}")), "{text}");
    }
    assert_eq!(rows.len(), 10);
    assert!(!happened("too-big").contains(" 0 refused"), "{}", happened("too-big"));
    assert!(happened("storm").contains(", 0 failed"), "{}", happened("storm"));
}

#[test]
fn what_falls_due_goes_and_not_before() {
    let (report, text) =
        sound("expiry --count 2000 --spread 50 --lead 2.5 --seconds 0.3 --accounts 500 --rate 500");
    let rows = report["rows"].as_array().unwrap();
    let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["keys", "entities", "sessions", "buckets"]);
    for row in rows {
        assert!(row["failed"].is_null(), "{row}");
        let old = matches!(row["kind"].as_str(), Some("sessions" | "buckets"));
        if row["not_measured"].is_null() {
            assert!(row["before"]["operations"].as_u64().unwrap() > 0, "{row}");
            assert!(row["after"]["operations"].as_u64().unwrap() > 0, "{row}");
            assert!(row["gone_after_ms"].as_i64().unwrap() > -50, "{row}");
        } else {
            assert!(!old, "every server knows {row}");
        }
    }
    assert!(text.contains("2000 of each kind, due within 50 ms"), "{text}");
}

#[test]
fn a_lead_that_is_too_short_fails_its_row_and_says_so() {
    let (report, output) =
        lab("expiry --kind buckets --count 1000 --lead 0.2 --seconds 1 --accounts 100");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let why = report["rows"][0]["failed"].as_str().unwrap();
    assert!(why.contains("give more --lead"), "{why}");
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
    // Each account has a name of eleven bytes.
    assert!(number("snapshot_bytes") > 3_000.0 * 11.0, "{revival}");
    assert!(number("start_bytes") > number("snapshot_bytes"), "{revival}");
    assert!(revival["during"]["operations"].as_u64().unwrap() > 0, "{revival}");
    assert_eq!(revival["during"]["log"]["snapshots"], 1, "{revival}");
    assert!(text.contains("all units audited after it"), "{text}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "something is left");
}

#[test]
fn a_slow_disk_is_felt_on_one_machine_and_every_set_up_is_audited() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (report, text) = sound(&format!(
        "slow-disk --seconds 0.5 --runs 1 --delay 30 --every 5 --accounts 100 --rate 100 --directory {}",
        place.path().display()
    ));
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["setup"].as_str().unwrap()).collect();
    let expected = [
        "one machine",
        "one machine, a slow disk",
        "three machines",
        "three machines, a follower with a slow disk",
    ];
    assert_eq!(names, expected);
    for row in rows {
        let run = &row["runs"][0];
        assert!(run["operations"].as_u64().unwrap() > 0, "{row}");
        assert!(run["syncs_per_s"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(run["latency_us"]["p99"], row["latency_us"]["p99"], "{row}");
    }
    assert!(rows[1]["latency_us"]["max"].as_f64().unwrap() >= 30_000.0, "{report}");
    assert!(text.contains("one sync of 5 is late by 30 ms"), "{text}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "something is left");
}

#[test]
fn commands_are_compared_and_every_one_is_carried_out() {
    let (report, text) = sound("costs --accounts 200 --open 300 --remembered 400 --runs 2");
    let rows = report["rows"].as_array().unwrap();
    let sides: Vec<&str> = rows.iter().map(|row| row["beside"].as_str().unwrap()).collect();
    let beside = ["one of three in a chain", "one limit", "three limits", "a busy account"];
    assert_eq!(sides, beside.map(|side| [side; 2]).concat());
    for row in rows {
        for side in row["cpu_us"].as_array().unwrap() {
            assert_eq!(side.as_array().unwrap().len(), 2, "{row}");
        }
    }
    assert!(text.contains("300 open sessions") && text.contains("400 remembered"), "{text}");
}

#[test]
fn a_busy_account_is_shown_copied_and_deleted_beside_a_healthy_client() {
    let (report, text) = sound(
        "busy-account --target scurry --open 50 --remembered 60 --runs 2 --accounts 500 --rate 500",
    );
    let rows = report["rows"].as_array().unwrap();
    let deeds: Vec<&str> = rows.iter().map(|row| row["deed"].as_str().unwrap()).collect();
    let common = ["nothing", "SCUR.DEBIT", "SCUR.GET", "SCUR.DUMP"];
    let of_valkey = ["BGSAVE", "DUMP", "RESTORE", "UNLINK", "DEL"];
    assert_eq!(deeds, [&common[..], &of_valkey].concat());
    for row in rows {
        assert_eq!(row["longest_ms"].as_array().unwrap().len(), 2, "{row}");
        assert!(row["longest_ms"][0].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(
            row["refused"].is_null(),
            common.contains(&row["deed"].as_str().unwrap()),
            "{row}"
        );
    }
    assert!(text.contains("50 open sessions and 60 remembered transactions"), "{text}");
}

#[test]
fn the_server_gets_the_arguments_of_the_command_line() {
    let words = "--sessions 8 --keys 100 --seconds 0.2 --warmup 0 --server-arg --max-clients";
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
        "run kv --target scurry --keys 100 --sessions 20 --connections 2 --depth 8 --rate 400 \
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
    for scenario in ["moaf-scur --accounts 300", "kv --keys 300"] {
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
