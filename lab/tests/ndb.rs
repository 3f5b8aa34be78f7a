//! MySQL NDB under charging and under plain keys, through the client of `lab/ndb`: acknowledged writes are present,
//! also after one of two data nodes has stopped. Only functions are tested, never figures.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Reports whether NDB has been built; prints a note if not.
fn is_built() -> bool {
    let built =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../.cache/ndb/bin/scurry-ndb").is_file();
    if !built {
        eprintln!("skipped: MySQL NDB is not built: run `make lab-peers PEERS=ndb`");
    }
    built
}

/// Runs the lab's short form with these arguments, and returns its rows and its output.
fn measured(line: &str) -> (Vec<Value>, String) {
    let directory = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let json = directory.path().join("rows.json");
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .arg("run")
        .args(line.split_whitespace())
        .args(["--short", "--warmup", "0.2", "--json"])
        .arg(&json)
        .arg("--directory")
        .arg(place.path())
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{line}: {said}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let rows = report["rows"].as_array().unwrap().clone();
    for row in &rows {
        assert_eq!(row["audit"], "ok", "{line}: {row}");
        assert!(row["operations"].as_u64().is_some_and(|count| count > 0), "{line}: {row}");
        assert!(row["version"].as_str().is_some_and(|text| text.starts_with("ndb ")), "{row}");
    }
    (rows, said)
}

#[test]
fn sessions_are_decided_in_the_client_and_written_under_a_lock() {
    if !is_built() {
        return;
    }
    let (rows, said) = measured("moaf-scur --target ndb+client --accounts 500 --seconds 0.5");
    let row = &rows[0];
    assert_eq!((&row["durability"], &row["replicas"]), (&"none".into(), &0.into()), "{row}");
    assert!(said.contains("the rules run in the loader"), "{said}");
    assert!(said.contains("whose CPU counts as the loader's"), "{said}");
    let (rows, _) = measured(
        "ndb-30-records --target ndb+client:checkpoint --accounts 300 --sessions 20 --connections 20",
    );
    assert_eq!(rows[0]["durability"], "checkpoint");
}

#[test]
fn an_account_that_needs_several_rows_is_written_whole() {
    if !is_built() {
        return;
    }
    // All sessions use one account, which keeps them open and remembers the ended ones.
    let line = "charging-hot --target ndb+client --sessions 400 --connections 4 --depth 100";
    measured(&format!("{line} --seconds 1"));
}

#[test]
fn duplicates_are_replayed_and_give_their_locks_up() {
    if !is_built() {
        return;
    }
    let line = "charging-live --step hot --target ndb+client --accounts 300 --sessions 200";
    let (rows, _) = measured(line);
    let live = &rows[0]["runs"][0]["live"];
    assert!(live["duplicates"].as_u64().is_some_and(|count| count > 0), "{live}");
    assert_eq!(live["duplicates"], live["replays"], "{live}");
}

#[test]
fn a_data_node_has_what_the_other_had() {
    if !is_built() {
        return;
    }
    let (rows, said) = measured("kts-replication --accounts 1000 --target ndb:checkpoint");
    let steps: Vec<&str> = rows.iter().map(|row| row["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["set", "get", "del"]);
    for row in &rows {
        let copies = (&row["replicas"], &row["acknowledged_copies"]);
        assert_eq!(copies, (&1.into(), &2.into()), "{row}");
    }
    assert!(said.contains("commit together"), "{said}");
    let line = "moaf-scur --target ndb+client --replicas 1 --accounts 300 --sessions 50";
    let (rows, _) = measured(&format!("{line} --connections 50 --seconds 0.5"));
    assert_eq!(rows[0]["replicas"], 1);
}

#[test]
fn where_it_is_not_built_a_row_says_what_builds_it() {
    let elsewhere = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(["run", "moaf-scur", "--target", "ndb+client", "--quiet"])
        .current_dir(elsewhere.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = "MySQL NDB is not built here or above: run `scripts/install-tools.sh ndb`";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn what_it_cannot_do_is_a_row() {
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(["run", "kts-batches", "--step", "10", "--target", "ndb", "--quiet"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("not measured here: ndb takes no batch"), "{said}");
}
