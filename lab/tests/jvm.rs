//! Hazelcast, Ignite and Ignite 3 under plain keys and under an index, through their own clients: acknowledged writes
//! are present, on the backups too. Only functions are tested, never figures.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Reports whether `make lab-peers` has been run; prints a note if not.
fn are_built() -> bool {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.cache/lab-jvm/classes").is_dir();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_java = std::env::split_paths(&path).any(|directory| directory.join("java").is_file());
    if !built || !has_java {
        eprintln!("skipped: lab/jvm is not built: run `make lab-peers`");
    }
    built && has_java
}

/// Runs the lab's short form with these arguments; spaces within a name are written as ~.
fn measured(line: &str) -> (Vec<Value>, String) {
    let directory = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let json = directory.path().join("rows.json");
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .arg("run")
        .args(line.split_whitespace().map(|word| word.replace('~', " ")))
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
    }
    (rows, said)
}

#[test]
fn values_are_written_read_and_deleted_on_one_start_of_each_system() {
    if !are_built() {
        return;
    }
    let line = "kts-persistence --accounts 2000 --target hazelcast+java --target ignite+java:fsync";
    let (rows, said) = measured(line);
    let found: Vec<[&str; 2]> = rows
        .iter()
        .map(|row| ["step", "durability"].map(|name| row[name].as_str().unwrap()))
        .collect();
    let expected = ["set", "get", "del"].map(|step| [[step, "none"], [step, "fsync"]]);
    assert_eq!(found, expected.concat());
    // A store that was filled before shows no growth.
    let of_hazelcast: Vec<bool> =
        rows.iter().step_by(2).map(|row| row["memory_bytes_per_account"].is_number()).collect();
    assert_eq!(of_hazelcast, [true, false, false]);
    // Without a live line, each run prints a line with its time.
    assert!(said.contains("kts-persistence set, hazelcast+java, run 1/1: ok, "), "{said}");
}

#[test]
fn batches_are_one_call_of_many_keys() {
    if !are_built() {
        return;
    }
    let line = "kts-batches --step 10 --step 100 --accounts 1000 --target hazelcast+java --target ignite+java";
    let (rows, _) = measured(line);
    assert_eq!(rows.len(), 4);
    for row in &rows {
        let kinds = row["runs"][0]["by_operation"].as_array().unwrap();
        assert_eq!(kinds[0]["operation"], "MSET", "{row}");
        assert!(kinds[0]["count"].as_u64().unwrap() > 0, "{row}");
    }
}

#[test]
fn records_are_found_by_their_value_and_not_by_an_old_one() {
    if !are_built() {
        return;
    }
    let (rows, _) = measured("kts-index --accounts 1000 --target hazelcast+java");
    let found: Vec<&str> = rows.iter().map(|row| row["step"].as_str().unwrap()).collect();
    assert_eq!(found, ["set", "get"]);
}

#[test]
fn a_backup_has_what_its_member_had() {
    if !are_built() {
        return;
    }
    let line =
        "kts-replication --step set --accounts 1000 --target hazelcast+java --target ignite+java";
    let (rows, said) = measured(line);
    assert!(rows.iter().all(|row| row["replicas"] == 1), "{rows:?}");
    assert!(said.contains("are each other's backups"), "{said}");
}

#[test]
fn members_share_the_keys_in_their_own_way() {
    if !are_built() {
        return;
    }
    let line = "ncache-80-20 --step 2~nodes~10~connections --accounts 1000 --target hazelcast+java";
    let (rows, said) = measured(&format!("{line} --target ignite+java"));
    assert_eq!(rows.len(), 2);
    assert!(said.contains("2 nodes share the cores of the target; the keys are parted"), "{said}");
}

#[test]
fn what_the_driver_cannot_do_is_a_row() {
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(["run", "kv", "--rate", "100", "--target", "ignite+java", "--quiet"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("not measured here: the driver of ignite+java has a closed loop only"),
        "{said}"
    );
}
