//! The scenario of Nchf in small, and what its audit finds: a proxy between the load and the door changes one request,
//! and every answer looks right. Only functions are tested, never figures.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use scurry_lab::audit::{Expected, audit_charging};
use scurry_lab::client::Client;
use scurry_lab::dialect::Dialect;
use scurry_lab::loader::{LoadPlan, Loader, Observer, Second};
use scurry_lab::populate::create_charging_accounts;
use scurry_lab::scenario::Scenario;
use scurry_lab::wire::{HttpVersion, Wire};
use scurry_lab::workload::{ChargingPlan, ChargingWorkload, Workload};
use serde_json::Value;
use support::scurry;

const ACCOUNTS: u32 = 200;
const SESSIONS: u32 = 8;

/// Runs the scenario's short form in small, and returns its rows.
fn rows(line: &str) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("rows.json");
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(["run", "nchf", "--short", "--quiet", "--accounts", "2000", "--seconds", "0.5"])
        .args(line.split_whitespace())
        .arg("--scurry-bin")
        .arg(scurry())
        .arg("--json")
        .arg(&json)
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{said}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    report["rows"].as_array().unwrap().clone()
}

#[test]
fn sessions_over_both_versions_of_http_and_resp_are_audited() {
    let rows = rows("");
    assert_eq!(rows.len(), 3 * 4);
    for row in &rows {
        assert_eq!(row["audit"], "ok", "{row}");
        assert_eq!(row["ops_per_session"], 7, "{row}");
        let kinds = row["runs"][0]["by_operation"].as_array().unwrap();
        let names: Vec<&str> =
            kinds.iter().map(|kind| kind["operation"].as_str().unwrap()).collect();
        assert_eq!(names, ["RESERVE", "UPDATE", "TERMINATE"], "{row}");
    }
    let shape = |row: &Value| (row["connections"].as_u64(), row["depth"].as_u64());
    assert_eq!((shape(&rows[0]), shape(&rows[4])), ((Some(4), Some(16)), (Some(64), Some(1))));
    assert_eq!(rows[8]["rate"], 15_000.0);
}

#[test]
fn a_door_is_weighed_with_idle_connections_open_requests_and_at_its_bounds() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("rows.json");
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(["http2-memory", "--connections", "20", "--scurry-bin"])
        .arg(scurry())
        .arg("--json")
        .arg(&json)
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{said}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let counts: Vec<u64> = rows.iter().map(|row| row["connections"].as_u64().unwrap()).collect();
    assert_eq!(counts, [20, 20, 2, 1]);
    let requests: Vec<u64> =
        rows.iter().map(|row| row["open_requests"].as_u64().unwrap()).collect();
    assert_eq!(requests, [0, 0, 100, 128]);
    // The door holds the bodies, which are most of what was sent.
    let last = rows.last().unwrap();
    let [sent, held] =
        ["sent_bytes", "bytes_per_connection"].map(|key| last[key].as_f64().unwrap());
    assert!(held > 0.7 * sent && sent > 40e6, "{last}");
    assert!(said.contains("at the bounds"), "{said}");
}

/// A server with its HTTP door, which ends with the test.
struct Store {
    child: Child,
    /// Kept open, so that the server can go on writing.
    _output: BufReader<ChildStderr>,
    resp: SocketAddr,
    door: SocketAddr,
}

impl Store {
    fn start() -> Store {
        let words = ["serve", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"];
        let mut child = Command::new(scurry())
            .args(words)
            .args(["--durability", "none", "--threads", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut resp, mut door) = (None, None);
        let mut output = BufReader::new(child.stderr.take().unwrap());
        for line in output.by_ref().lines() {
            let line = line.unwrap();
            if let Some(address) = line.strip_prefix("listening on ") {
                resp = Some(address.parse().unwrap());
            }
            if let Some(url) = line.strip_suffix(" is open") {
                door = Some(url.trim_start_matches("http://").parse().unwrap());
                break;
            }
        }
        let (resp, door) = (resp.expect("no port"), door.expect("no door"));
        Store { child, _output: output, resp, door }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Changes a part of the requests that were read together, and reports whether it did.
type Lie = fn(&mut [u8]) -> bool;

/// Starts a proxy before the door that tells a lie once, and else passes on what it reads. The flag is set when it has.
fn lying_proxy(door: SocketAddr, lie: Lie) -> (SocketAddr, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    let is_told = Arc::clone(&flag);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(door).unwrap());
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let is_told = Arc::clone(&is_told);
            let tell = move |bytes: &mut [u8]| {
                if !is_told.load(Ordering::Relaxed) && lie(bytes) {
                    is_told.store(true, Ordering::Relaxed);
                }
            };
            std::thread::spawn(move || copy(client, server, tell));
            std::thread::spawn(move || copy(back.0, back.1, |_| {}));
        }
    });
    (address, flag)
}

fn copy(mut from: TcpStream, mut to: TcpStream, change: impl Fn(&mut [u8])) {
    let mut bytes = [0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        change(&mut bytes[..count]);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // The other side may have closed already.
    let _ = to.shutdown(Shutdown::Both);
}

/// Returns where the first such text ends.
fn end_of(text: &str, bytes: &[u8]) -> Option<usize> {
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes())?;
    Some(at + text.len())
}

struct Silent;

impl Observer for Silent {
    fn measuring(&mut self, _: bool) -> Result<()> {
        Ok(())
    }

    fn second(&mut self, _: &Second) {}
}

/// Charges through the proxy, then audits. The answers have no fault that the load sees.
fn audit(version: HttpVersion, lie: Option<Lie>) -> Result<()> {
    let store = Store::start();
    let scenario = Scenario::built_in("nchf").unwrap();
    let charging = scenario.charging.as_ref().unwrap();
    let (dialect, seed) = (Dialect::Scur, 1);
    let mut client = Client::connect(store.resp)?;
    create_charging_accounts(&mut client, dialect, charging, ACCOUNTS, &mut |_, _| Ok(()))?;
    let mut workload = ChargingWorkload::new(&ChargingPlan {
        charging,
        dialect,
        accounts: ACCOUNTS,
        sessions: SESSIONS,
        seed,
        opaque: false,
        routes: None,
    })?;
    let (proxy, is_told) = lying_proxy(store.door, lie.unwrap_or(|_| false));
    let plan = LoadPlan {
        wire: Wire::Nchf(version),
        addresses: vec![proxy],
        rdma: None,
        sessions: SESSIONS,
        connections: 2,
        depth: 4,
        rate: None,
        warmup_seconds: 0.0,
        seconds: 0.5,
        copies: None,
    };
    let interrupted = AtomicBool::new(false);
    let mut operations = 0;
    while operations == 0 || lie.is_some() && !is_told.load(Ordering::Relaxed) {
        let loader = Loader::connect(plan.clone(), &mut workload, &interrupted)?;
        operations += loader.run(&mut Silent)?.operations;
    }
    assert_eq!(workload.errors().describe(), None);
    assert_eq!(workload.replays(), 0);
    let expected = Expected {
        unit: charging.unit.as_str(),
        credited_per_account: charging.credited_per_account(),
        without_credit: charging.without_credit,
        consumed: workload.consumed(),
        consumed_total: workload.consumed_total(),
        alone: true,
        as_created: None,
    };
    audit_charging(&mut client, dialect, &expected, seed)
}

const VERSIONS: [HttpVersion; 2] = [HttpVersion::Http1, HttpVersion::Http2];

#[test]
fn what_was_answered_is_what_the_store_has() {
    for version in VERSIONS {
        audit(version, None).unwrap();
    }
}

#[test]
fn one_unit_that_was_answered_and_not_debited_fails_the_audit() {
    let lie: Lie = |bytes| {
        let end = end_of("\"totalVolume\":900000}]", bytes);
        end.map(|end| bytes[end - 8..end - 2].copy_from_slice(b"899999")).is_some()
    };
    for version in VERSIONS {
        let error = audit(version, Some(lie)).unwrap_err().to_string();
        assert!(error.contains("was acknowledged"), "{version:?}: {error}");
    }
}

#[test]
fn use_that_goes_to_another_account_fails_the_audit_although_the_sums_are_right() {
    // Of a Create: later requests go by its reference. Account 1 has credit, and so must the one in its place.
    let lie: Lie = |bytes| {
        let account = "\"subscriberIdentifier\":\"acc:00000";
        let Some(at) = end_of(account, bytes).filter(|_| end_of("chargingId", bytes).is_some())
        else {
            return false;
        };
        let Some(digits) = bytes.get_mut(at..at + 2) else { return false };
        let number = u32::from_str_radix(str::from_utf8(digits).unwrap(), 36).unwrap();
        let is_changed = number != 1 && !number.is_multiple_of(20);
        if is_changed {
            digits.copy_from_slice(b"01");
        }
        is_changed
    };
    for version in VERSIONS {
        let error = audit(version, Some(lie)).unwrap_err().to_string();
        assert!(error.starts_with("account acc:"), "{version:?}: {error}");
    }
}
