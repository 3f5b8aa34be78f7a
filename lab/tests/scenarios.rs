//! Every scenario in small, end to end, against real servers: what each writes is audited, and a load that a target
//! does not support is a row that says so. Only functions are tested, never figures.

mod support;

use std::path::Path;
use std::process::{Command, Output};

use scurry_lab::scenario::Scenario;
use serde_json::Value;
use support::scurry;

/// Runs the lab's short form with these arguments. Returns the rows and the output.
fn lab(line: &str) -> (Vec<Value>, Output) {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("rows.json");
    let name = line.split_whitespace().next().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .arg(if Scenario::built_in(name).is_ok_and(|one| one.is_fault()) {
            "faults"
        } else {
            "run"
        })
        // Spaces within a name are written as ~.
        .args(line.split_whitespace().map(|word| word.replace('~', " ")))
        .arg("--scurry-bin")
        .arg(scurry())
        .args(["--short", "--quiet", "--json"])
        .arg(&json)
        .output()
        .unwrap();
    let report = std::fs::read(json).ok();
    let report: Value = report.map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap());
    (report["rows"].as_array().cloned().unwrap_or_default(), output)
}

fn said(output: &Output) -> String {
    String::from_utf8([output.stdout.as_slice(), output.stderr.as_slice()].concat()).unwrap()
}

/// Runs it like [`lab`]; the run must succeed.
fn sound(line: &str) -> (Vec<Value>, String) {
    let (rows, output) = lab(line);
    assert!(output.status.success(), "{line}: {}", said(&output));
    (rows, said(&output))
}

/// Runs it like [`sound`]; every row must have figures.
fn measured(line: &str) -> (Vec<Value>, String) {
    let (rows, text) = sound(line);
    for row in &rows {
        assert_eq!(row["audit"], "ok", "{line}: {row}");
        assert!(row["business_ops_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{row}");
    }
    (rows, text)
}

/// Runs the lab with a library that breaks a rule: it must give no figure, and say why.
fn no_number(line: &str, library: &str, expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mutant.lua");
    std::fs::write(&path, library).unwrap();
    let (rows, output) = lab(&format!("{line} --lua-library {}", path.display()));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let audit = rows[0]["audit"].as_str().unwrap();
    assert!(audit.starts_with("failed audit") && audit.contains(expected), "{audit}");
    assert!(rows[0]["business_ops_per_s"].is_null(), "{}", rows[0]);
}

fn steps(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["step"].as_str().unwrap()).collect()
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !found {
        eprintln!("skipped: {program} is not installed: run `make lab-peers`");
    }
    found
}

#[test]
fn kts_persistence_writes_reads_and_deletes_under_each_durability() {
    let (rows, text) =
        measured("kts-persistence --target scurry --target scurry:fsync --target valkey:always");
    assert_eq!(steps(&rows).join(" "), "set set set get get get del del del");
    let durability: Vec<&str> =
        rows.iter().map(|row| row["durability"].as_str().unwrap()).collect();
    assert_eq!(durability[..3], ["none", "fsync", "always"]);
    for (row, kind) in rows.iter().step_by(3).zip(["SET", "GET", "DEL"]) {
        let kinds = row["runs"][0]["by_operation"].as_array().unwrap();
        let counted: Vec<&str> = kinds
            .iter()
            .filter(|one| one["count"].as_u64().unwrap() > 0)
            .map(|one| one["operation"].as_str().unwrap())
            .collect();
        assert_eq!(counted, [kind], "{row}");
        assert_eq!((&row["sessions"], &row["connections"]), (&100.into(), &100.into()));
    }
    assert!(text.contains("published, other hardware, never in a ratio: KTS"), "{text}");
    assert!(text.contains("set, scurry / scurry:fsync"), "{text}");
}

#[test]
fn kts_index_finds_each_record_by_its_value_and_none_by_an_old_one() {
    let mut line = "kts-index --target scurry --target valkey+lua --target redis+lua".to_owned();
    if has("tarantool") {
        line.push_str(" --target tarantool+lua");
    }
    let (rows, _) = measured(&line);
    assert_eq!(rows.iter().filter(|row| row["step"] == "get").count(), rows.len() / 2);
}

#[test]
fn an_index_that_forgets_to_take_a_record_away_gets_no_number() {
    let library = include_str!("../peers/index.lua");
    let broken = library.replacen("if before then", "if false then", 1);
    assert_ne!(broken, library);
    no_number("kts-index --step set --target valkey+lua --accounts 200", &broken, "still finds");
}

#[test]
fn what_a_target_lacks_for_a_scenario_is_a_row() {
    let (rows, _) =
        sound("kts-index --step get --target scurry --target valkey --target redis+module");
    for (row, why) in rows[1..].iter().zip(["has no index", "libscurry.so keeps no index"]) {
        assert!(row["not_measured"].as_str().unwrap().contains(why), "{row}");
    }
    let (rows, _) = sound("kts-replication --step set --target valkey --target scurry");
    assert_eq!((&rows[0]["audit"], &rows[0]["replicas"]), (&"ok".into(), &1.into()));
    assert!(rows[0]["replica_cpu_us_per_op"].as_f64().is_some(), "{}", rows[0]);
    assert!(rows[1]["not_measured"].as_str().unwrap().contains("no replicas"), "{}", rows[1]);
}

#[test]
fn a_group_of_three_is_charged_and_its_nodes_have_the_same() {
    let (rows, text) = measured("charging-live --step uniform --target scurry+replicas");
    let row = &rows[0];
    assert_eq!((&row["replicas"], &row["acknowledged_copies"]), (&2.into(), &2.into()), "{row}");
    assert_eq!(row["durability"], "fsync");
    assert!(row["replica_cpu_us_per_op"].as_f64().is_some_and(|cpu| cpu > 0.0), "{row}");
    assert!(text.contains("2 of 3 nodes have it on their device"), "{text}");
    let (_, output) = lab("moaf-scur --target scurry+replicas --threads 4");
    assert!(said(&output).contains("use fewer --threads"), "{}", said(&output));
}

#[test]
fn a_group_whose_leader_is_killed_loses_nothing_and_does_nothing_twice() {
    let (rows, text) = sound(
        "charging-failover --runs 2 --seconds 2 --target scurry+replicas --target scurry \
         --target valkey+lua --target tarantool+lua:fsync",
    );
    let row = &rows[0];
    assert_eq!(row["audit"], "ok", "{row}");
    assert_eq!((&row["lost"], &row["done_twice"]), (&0.into(), &0.into()), "{row}");
    assert_eq!(row["door"], "cores", "clients find the next leader by the map");
    let gaps = ["gap_ms_median", "gap_ms_max"].map(|name| row[name].as_f64().unwrap());
    assert!(0.0 < gaps[0] && gaps[0] <= gaps[1], "{row}");
    for run in row["runs"].as_array().unwrap() {
        assert!(run["loss"]["resent"].as_u64().unwrap() > 0, "the leader was killed: {run}");
    }
    assert!(text.contains("0 acknowledged requests lost, 0 done twice"), "{text}");
    let nobody = "no other server would take over";
    for (row, why) in rows[1..].iter().zip([nobody, nobody, "elects no leader by itself"]) {
        assert!(row["not_measured"].as_str().unwrap().contains(why), "{row}");
    }
}

/// A request at the leader's main port gets its answer, although a transfer ends connections of that port.
#[test]
fn a_group_that_hands_over_loses_nothing_and_says_that_it_does() {
    let (rows, text) = sound("charging-transfer --runs 3 --seconds 2 --target scurry+replicas");
    let row = &rows[0];
    assert_eq!(row["audit"], "ok", "{row}");
    assert_eq!((&row["lost"], &row["done_twice"]), (&0.into(), &0.into()), "{row}");
    assert!(text.contains("0 acknowledged requests lost, 0 done twice"), "{text}");
}

#[test]
fn a_replica_of_tarantool_has_what_its_primary_has() {
    if !has("tarantool") {
        return;
    }
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = place.path().to_str().unwrap();
    let line = "kts-replication --step set --target tarantool+lua:write --directory";
    let (rows, _) = measured(&format!("{line} {directory}"));
    assert_eq!((&rows[0]["replicas"], &rows[0]["durability"]), (&1.into(), &"write".into()));
    assert!(rows[0]["replica_cpu_us_per_op"].as_f64().is_some_and(|cpu| cpu > 0.0), "{}", rows[0]);
    let (rows, _) = sound("kts-replication --step set --target valkey --target tarantool+lua");
    assert!(rows[1]["not_measured"].as_str().unwrap().contains("no log"), "{}", rows[1]);
}

#[test]
fn a_run_in_which_nothing_was_acknowledged_has_failed() {
    // Each write takes longer than the whole run and is answered after its end.
    let library = include_str!("../peers/index.lua");
    let slow = "local begun = os.clock() while os.clock() - begun < 1.5 do end local before";
    let text = library.replacen("local before", slow, 1);
    assert_ne!(text, library);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("slow.lua");
    std::fs::write(&path, text).unwrap();
    let line = "kts-index --step set --target valkey+lua --accounts 1 --sessions 1 --lua-library";
    let (rows, output) = lab(&format!("{line} {}", path.display()));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(rows[0]["audit"], "failed: nothing was done", "{}", rows[0]);
    assert!(rows[0]["business_ops_per_s"].is_null(), "{}", rows[0]);
}

#[test]
fn a_batch_is_one_operation_of_many_changes() {
    // On a busy machine one batch of 10,000 takes longer than the short form.
    let mut line =
        "kts-batches --step 10 --step 10000 --seconds 2 --target scurry --target valkey".to_owned();
    if has("tarantool") {
        line.push_str(" --target tarantool+lua --target tarantool+lua:fsync");
    }
    let (rows, text) = measured(&line);
    let batches: Vec<u64> = rows.iter().map(|row| row["batch"].as_u64().unwrap()).collect();
    let half = rows.len() / 2;
    assert_eq!(batches[..half], vec![10; half]);
    assert_eq!(batches[half..], vec![10_000; half]);
    assert!(text.contains("10000 changes an operation"), "{text}");
}

/// Writes a small charglt, with a limit that any machine meets at some rate or that none can meet.
fn small_charglt(directory: &Path, p99_ms: f64) -> String {
    let path = directory.join("small.toml");
    let text = format!(
        "base = \"charglt\"\naccounts = 8000\nsessions = 64\nconnections = 4\nseconds = 0.5\n\
         warmup_seconds = 0.1\n[search]\np99_ms = {p99_ms}\nfrom = 400\ntrials_max = 4\ntries = 1\n[usage]\n\
         totals_seconds = 0.2\n"
    );
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn charglt_seeks_the_highest_rate_and_knows_every_balance() {
    let directory = tempfile::tempdir().unwrap();
    let path = small_charglt(directory.path(), 2_000.0);
    let mut line = format!("{path} --target scurry --target valkey+client --target valkey+lua");
    if has("tarantool") {
        line.push_str(" --target tarantool+lua");
    }
    let (rows, text) = measured(&line);
    for row in &rows {
        let run = &row["runs"][0];
        let trials = run["search"]["trials"].as_array().unwrap();
        let best = run["search"]["rate"].as_f64().unwrap();
        let kept = trials.iter().filter(|trial| trial["kept"] == true);
        let highest = kept.map(|trial| trial["rate"].as_f64().unwrap()).fold(0.0, f64::max);
        assert!(best > 0.0 && best == highest, "{run}");
        assert_eq!((trials.len(), &trials[0]["rate"]), (4, &400.0.into()));
        assert!(row["latency_us"]["p99"].as_f64().unwrap() <= 2_000_000.0, "{row}");
        assert!(row["latency_uncorrected_us"]["p99"].as_f64() <= row["latency_us"]["p99"].as_f64());
        let kinds = run["by_operation"].as_array().unwrap();
        let names: Vec<&str> =
            kinds.iter().map(|kind| kind["operation"].as_str().unwrap()).collect();
        assert_eq!(names, ["RESERVE", "UPDATE", "TOPUP"]);
    }
    assert!(rows[0]["runs"][0]["totals"]["reads"].as_u64().unwrap() > 0, "{}", rows[0]);
    assert!(text.contains("the highest rate with p99 <= 2000 ms"), "{text}");
    assert!(text.contains("22 500"), "{text}");
}

#[test]
fn a_rate_that_nothing_keeps_is_a_row_without_figures() {
    let directory = tempfile::tempdir().unwrap();
    let path = small_charglt(directory.path(), 0.000_001);
    let (rows, text) = sound(&format!("{path} --target scurry"));
    assert!(rows[0]["business_ops_per_s"].is_null(), "{}", rows[0]);
    assert_eq!(rows[0]["audit"], "ok");
    assert!(text.contains("none of the 4 rates that were tried"), "{text}");
}

#[test]
fn live_sessions_spend_all_credit_and_their_duplicates_are_replayed() {
    let mut line = "charging-live --target scurry --target valkey+lua --accounts 300".to_owned();
    if has("tarantool") {
        line.push_str(" --target tarantool+lua");
    }
    let (rows, text) = measured(&line);
    let each = rows.len() / 3;
    let mut expected = vec!["uniform"; each];
    expected.extend(vec!["zipf"; each]);
    expected.extend(vec!["hot"; each]);
    assert_eq!(steps(&rows), expected);
    for row in &rows {
        let live = &row["runs"][0]["live"];
        assert!(live["denials"].as_u64().unwrap() > 0, "{row}");
        assert!(live["duplicates"].as_u64().unwrap() > 0, "{row}");
        assert_eq!(live["duplicates"], live["replays"], "{row}");
        assert_eq!(row["rate"], 10_000.0);
    }
    assert!(text.contains("sessions found their account full"), "{text}");
}

#[test]
fn all_sessions_meet_on_one_account() {
    let mut line = "charging-hot --target scurry --target valkey+lua".to_owned();
    if has("tarantool") {
        line.push_str(" --target tarantool+lua");
    }
    let (rows, _) = measured(&format!("{line} --sessions 64 --connections 4 --seconds 0.7"));
    for row in &rows {
        assert_eq!((&row["ops_per_session"], &row["accounts"]), (&4.into(), &1.into()), "{row}");
    }
}

#[test]
fn accounts_sessions_and_connections_grow_step_by_step() {
    let counts = |name: &str, of: &str| -> Vec<u64> {
        let (rows, text) = measured(name);
        assert!(rows.iter().all(|row| row["target"] == "scurry"), "{text}");
        rows.iter().map(|row| row[of].as_u64().unwrap()).collect()
    };
    assert_eq!(counts("growth-accounts", "accounts"), [10_000, 100_000]);
    assert_eq!(counts("growth-connections", "connections"), [10, 100]);
    // A thousand sessions on each of two accounts.
    assert_eq!(counts("growth-sessions", "sessions"), [2_000]);
    assert_eq!(counts("growth-sessions", "accounts"), [2]);
}

#[test]
fn a_store_that_loses_units_of_some_sessions_gets_no_number() {
    let library = include_str!("../peers/scur.lua");
    // The probe uses other amounts: only the load's full use of a grant goes wrong.
    let (rule, broken) = (
        "rest = rest - taken",
        "rest = rest - taken; if taken == 900 then a[b + 7] = a[b + 7] - 1; a[b + 4] = a[b + 4] + 1 end",
    );
    let text = library.replacen(rule, broken, 1);
    assert_ne!(text, library);
    let line = "charging-live --step uniform --target valkey+lua --accounts 300";
    no_number(line, &text, "was acknowledged");
}

#[test]
fn ndb_reads_and_updates_thirty_records() {
    let (rows, _) = measured(
        "ndb-30-records --target scurry --target valkey+client --accounts 300 --sessions 20 \
         --connections 20 --seconds 0.5",
    );
    for row in &rows {
        assert_eq!(row["ops_per_session"], 98);
        let kinds = row["runs"][0]["by_operation"].as_array().unwrap();
        let count = |name: &str| {
            let kind = kinds.iter().find(|kind| kind["operation"] == name).unwrap();
            kind["count"].as_f64().unwrap()
        };
        assert!(count("GET") > 0.0 && count("SESSION") > 0.0 && count("UPDATE") > 0.0, "{row}");
    }
    let (rows, _) =
        sound("ndb-30-records --target scurry --target valkey+lua --accounts 300 --sessions 20");
    assert!(rows[1]["not_measured"].as_str().unwrap().contains("no counters"), "{}", rows[1]);
}

#[test]
fn ncache_nodes_share_the_keys() {
    let (rows, text) = measured(
        "ncache-80-20 --step 1~node~10~connections --step 3~nodes~20~connections \
         --target scurry --target valkey",
    );
    assert_eq!(rows.len(), 4);
    assert!(text.contains("3 nodes share the cores of the target"), "{text}");
    assert_eq!(rows[2]["connections"], 20);
}

#[test]
fn entities_over_http_are_on_as_many_copies_as_asked() {
    let (rows, text) = measured(
        "entity-quorum --target scurry-http:write --step PUTGET~2/3~overwrite~yes~x4 \
         --step PUT~3/3~overwrite~no~x2 --step GET~2/3~overwrite~no~x1",
    );
    assert_eq!(rows.len(), 3);
    for row in &rows {
        assert_eq!(row["durability"], "write", "{row}");
        assert!(row["version"].as_str().unwrap().starts_with("scurry "), "{row}");
    }
    assert!(text.contains("a door and three servers share the cores"), "{text}");
    let (rows, _) =
        sound("entity-quorum --target http-echo --target scurry --step GET~2/3~overwrite~no~x1");
    assert_eq!(rows[0]["audit"], "n/a");
    assert!(rows[0]["business_ops_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{}", rows[0]);
    assert!(rows[1]["not_measured"].as_str().unwrap().contains("no HTTP door"), "{}", rows[1]);
}

#[test]
fn a_client_that_decides_for_many_accounts_at_once_loses_nothing() {
    // Few accounts and many sessions: some writes lose a race and are decided again.
    let mut line = "moaf-scur-pipelined --target valkey+bulk --target redis+bulk".to_owned();
    if has("tarantool") {
        line.push_str(" --target tarantool+bulk");
    }
    let (rows, text) =
        measured(&format!("{line} --accounts 400 --sessions 64 --connections 4 --seconds 0.7"));
    assert_eq!(rows[0]["ops_per_session"], 8);
    assert!(text.contains("the rules run in the loader"), "{text}");
}
