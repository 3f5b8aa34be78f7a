//! The two-phase scenario, RESERVE and TERMINATE: our own stores, and systems at an address. Only functions are tested,
//! never figures.

mod support;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use support::scurry;

/// Runs the lab's short form in small with these arguments; returns the rows and the output.
fn lab(line: &str) -> (Vec<Value>, String) {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("rows.json");
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(["run", "two-phase", "--short", "--quiet", "--accounts", "500", "--seconds", "0.5"])
        .args(line.split_whitespace())
        .arg("--scurry-bin")
        .arg(scurry())
        .arg("--json")
        .arg(&json)
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let report: Value = serde_json::from_slice(&std::fs::read(json).expect(&said)).unwrap();
    (report["rows"].as_array().unwrap().clone(), said)
}

fn assert_sound(rows: &[Value], said: &str) {
    for row in rows {
        assert_eq!(row["audit"], "ok", "{said}");
        assert_eq!(row["ops_per_session"], 2, "{row}");
        let kinds = row["runs"][0]["by_operation"].as_array().unwrap();
        let kinds: Vec<&str> = kinds.iter().map(|one| one["operation"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["RESERVE", "TERMINATE"], "{row}");
    }
}

#[test]
fn every_unit_is_accounted_for_with_any_number_in_flight() {
    let (rows, said) = lab("--target scurry --target valkey+lua");
    assert_eq!(rows.len(), 6, "{said}");
    assert_sound(&rows, &said);
    let depths: Vec<u64> =
        rows.iter().step_by(2).map(|row| row["depth"].as_u64().unwrap()).collect();
    assert_eq!(depths, [1, 64, 8_189]);
}

/// Reports whether `make lab-peers` has been run; prints a note if not.
fn is_built() -> bool {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.cache/lab-jvm/classes").is_dir();
    if !built {
        eprintln!("skipped: lab/jvm is not built: run `make lab-peers`");
    }
    built
}

#[test]
fn what_is_not_there_is_a_row_that_says_so() {
    let (rows, said) = lab("--step 64 --target scurry --target tigerbeetle --target aerospike");
    assert_eq!(rows[0]["audit"], "ok", "{said}");
    for (row, name) in rows[1..].iter().zip(["tigerbeetle", "aerospike"]) {
        let why = row["audit"].as_str().unwrap();
        assert!(why.starts_with("not measured here: "), "{why}");
        assert!(why.ends_with(&format!("start it and say --address {name}=HOST:PORT")), "{why}");
    }
}

#[test]
fn an_address_where_nobody_listens_is_named() {
    if !is_built() {
        return;
    }
    // A port that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for name in ["tigerbeetle", "aerospike"] {
        let (rows, _) = lab(&format!("--step 64 --target {name} --address {name}={address}"));
        let audit = rows[0]["audit"].as_str().unwrap();
        let expected = format!("failed: no {name} is there: connecting to {address}: ");
        assert!(audit.starts_with(&expected), "{audit}");
    }
}

/// Server of TigerBeetle, from the program that `SCURRY_TIGERBEETLE` names. Stopped when it is dropped.
struct TigerBeetle(Child);

impl TigerBeetle {
    fn start(program: &Path, file: &Path, port: u16) -> TigerBeetle {
        let format = Command::new(program)
            .args(["format", "--cluster=0", "--replica=0", "--replica-count=1"])
            .arg(file)
            .stderr(Stdio::null())
            .status();
        assert!(format.unwrap().success(), "a file is not formatted");
        let mut child = Command::new(program)
            .arg("start")
            .arg(format!("--addresses=127.0.0.1:{port}"))
            .arg(file)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let server = TigerBeetle(child);
        assert!(said.any(|line| line.contains("listening on")), "TigerBeetle does not start");
        // The server keeps writing output: read it, so that the pipe never fills up.
        std::thread::spawn(move || said.for_each(drop));
        server
    }
}

impl Drop for TigerBeetle {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn tigerbeetle_at_an_address_is_audited() {
    let Some(program) = std::env::var_os("SCURRY_TIGERBEETLE") else {
        eprintln!("skipped: SCURRY_TIGERBEETLE names no program");
        return;
    };
    assert!(is_built());
    // On a file system that supports direct I/O, which TigerBeetle uses.
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _server = TigerBeetle::start(Path::new(&program), &place.path().join("0_0.tb"), port);
    let address = format!("tigerbeetle=127.0.0.1:{port}");
    let (rows, said) = lab(&format!("--target tigerbeetle --address {address}"));
    assert_eq!(rows.len(), 3, "{said}");
    assert_sound(&rows, &said);
    assert!(said.contains("at most 8189 transfers in a batch"), "{said}");
    let version = rows[0]["version"].as_str().unwrap();
    assert!(version.starts_with("tigerbeetle of its client "), "{version}");
    assert_eq!(rows[0]["durability"], "fsync");
}
