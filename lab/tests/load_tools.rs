//! Load tools that others use, against the real doors: k6 and pandora where they are. They are looked
//! for on PATH and in .cache/load-tools/bin, where `go install` with GOBIN puts them; where one is
//! missing its test says so and ends.

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scurry_lab::client::Client;
use scurry_lab::clock::Clock;
use scurry_lab::process::free_address;
use support::scurry;

const PATIENCE: Duration = Duration::from_secs(30);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cache = repository().join(".cache/load-tools/bin");
    let found = std::env::split_paths(&path)
        .chain([cache])
        .map(|directory| directory.join(name))
        .find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: {name} is not installed: docs/lab.md says how");
    }
    found
}

/// One test at a time: a free port is free until another takes it, and a load tool takes both cores.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process that ends with the test.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(words: &[&str], is_ready: impl Fn(SocketAddr) -> bool) -> Server {
        let address = free_address(None).unwrap();
        let child = Command::new(scurry())
            .args(words)
            .args(["--listen", &address.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Server { child, address };
        let clock = Clock::start();
        while !is_ready(address) {
            assert!(server.child.try_wait().unwrap().is_none(), "{words:?} ended at once");
            assert!(clock.elapsed() < PATIENCE, "{words:?} does not become ready");
            // A pause between two looks.
            let _ = Command::new("true").status();
        }
        server
    }

    fn store() -> Server {
        let is_ready = |address| {
            let answer = Client::connect(address).and_then(|mut client| client.call(&["PING"]));
            answer.is_ok_and(|reply| reply.text() == Some("PONG"))
        };
        Server::start(&["serve", "--durability", "none", "--log", "error"], is_ready)
    }

    fn door(store: &Server) -> Server {
        let is_ready = |address| get(address, "/readyz").starts_with("HTTP/1.1 200");
        Server::start(&["http", "--nodes", &store.address.to_string()], is_ready)
    }
}

/// The answer to one GET; empty where nobody listens.
fn get(address: SocketAddr, path: &str) -> String {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().unwrap_or_default()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// Runs a script of ours for two seconds, and gives k6's own summary.
fn k6(program: &Path, script: &str, variable: &str) -> serde_json::Value {
    let directory = tempfile::tempdir().unwrap();
    let summary = directory.path().join("summary.json");
    let output = Command::new(program)
        .args(["run", "--no-usage-report", "--quiet", "-e", variable, "-e", "VUS=4"])
        .args(["-e", "DURATION=2s", "--summary-export"])
        .arg(&summary)
        .arg(repository().join("lab/k6").join(script))
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {}", said(&output));
    serde_json::from_slice(&std::fs::read(summary).unwrap()).unwrap()
}

#[test]
fn k6_puts_gets_and_deletes_entities() {
    let Some(program) = tool("k6") else { return };
    let _alone = alone();
    let store = Server::store();
    let door = Server::door(&store);
    let summary = k6(&program, "entity-http.js", &format!("DOOR=http://{}", door.address));
    let metrics = &summary["metrics"];
    assert_eq!(metrics["checks"]["fails"], 0, "{summary}");
    assert!(metrics["checks"]["passes"].as_u64().unwrap() > 20, "{summary}");
    assert_eq!(metrics["http_req_failed"]["value"], 0, "{summary}");
}

#[test]
fn k6_charges_and_nothing_stays_held() {
    let Some(program) = tool("k6") else { return };
    let _alone = alone();
    let store = Server::store();
    let summary = k6(&program, "resp.js", &format!("STORE=redis://{}", store.address));
    assert_eq!(summary["metrics"]["checks"]["fails"], 0, "{summary}");
    let passes = summary["metrics"]["checks"]["passes"].as_u64().unwrap();
    assert!(passes > 20, "{summary}");
    let mut client = Client::connect(store.address).unwrap();
    // A session that the end of the run cut off still holds; there is one per virtual user at most.
    let totals = client.call(&["SCUR.TOTALS"]).unwrap();
    let octets = totals.entry("units").elements()[0].elements();
    let amount = |at: usize| octets[at].big().unwrap();
    let (available, held, credited, consumed) = (amount(1), amount(2), amount(3), amount(5));
    assert!(held <= 4 * 1_000 && consumed >= 2_500, "{totals}");
    assert_eq!(available + held, credited - consumed, "{totals}");
}

/// Writes ammunition, and has pandora fire it at the door.
fn pandora(program: &Path, door: &Server, format: &str, kind: &str, shares: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let ammo = directory.path().join("ammo");
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(["ammo", "--requests", "300", "--keys", "50", "--format", format])
        .args(["--door", &door.address.to_string(), "--out"])
        .arg(&ammo)
        .args(shares)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let config = serde_json::json!({"pools": [{
        "id": "door",
        "gun": {"type": "http", "target": door.address.to_string()},
        "ammo": {"type": kind, "file": ammo, "passes": 1},
        "result": {"type": "phout", "destination": directory.path().join("phout")},
        "rps": [{"type": "const", "duration": "10s", "ops": 200}],
        "startup": {"type": "once", "times": 4},
    }]});
    // JSON is YAML.
    let path = directory.path().join("load.yaml");
    std::fs::write(&path, config.to_string()).unwrap();
    let output = Command::new(program).arg(&path).current_dir(directory.path()).output().unwrap();
    assert!(output.status.success(), "{format}: {}", said(&output));
    std::fs::read_to_string(directory.path().join("phout")).unwrap()
}

/// A line of results: which request, and the status of its answer.
fn is_right(marker: &str, status: &str) -> bool {
    match marker {
        "put" => status == "201",
        "delete" => status == "202",
        "get" => status == "200" || status == "404",
        _ => false,
    }
}

#[test]
fn pandora_fires_every_format_and_the_door_answers() {
    let Some(program) = tool("pandora") else { return };
    let _alone = alone();
    let store = Server::store();
    let door = Server::door(&store);
    for (format, kind, shares) in [
        ("raw", "raw", ["--get-share=40", "--put-share=40", "--delete-share=20"].as_slice()),
        ("http-json", "http/json", &[]),
        ("uri", "uri", &["--put-share=0"]),
    ] {
        let results = pandora(&program, &door, format, kind, shares);
        for line in results.lines() {
            // The second field is the tag, the last the status.
            let fields: Vec<&str> = line.split('\t').collect();
            let tag = fields[1].split('#').next().unwrap();
            assert!(is_right(tag, fields.last().unwrap()), "{format}: {line}");
        }
        assert_eq!(results.lines().count(), 300, "{format}");
    }
}

#[test]
fn yandex_tank_reads_what_the_door_answers() {
    let python = repository().join(".cache/load-tools/venv/bin/python");
    let has_tank = Command::new(&python).args(["-c", "import yandextank.stepper.missile"]).output();
    if !has_tank.is_ok_and(|output| output.status.success()) {
        println!("skipped: yandextank is not installed: docs/lab.md says how");
        return;
    }
    let _alone = alone();
    let store = Server::store();
    let door = Server::door(&store);
    let directory = tempfile::tempdir().unwrap();
    let ammo = directory.path().join("ammo");
    for (format, shares) in [
        ("raw", ["--get-share=40", "--put-share=40", "--delete-share=20"].as_slice()),
        ("uri", &["--put-share=0"]),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
            .args(["ammo", "--requests", "300", "--keys", "50", "--format", format])
            .args(["--door", &door.address.to_string(), "--out"])
            .arg(&ammo)
            .args(shares)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let output = Command::new(&python)
            .arg(repository().join("lab/tests/tank.py"))
            .arg(format)
            .arg(&ammo)
            .args([door.address.ip().to_string(), door.address.port().to_string()])
            .arg("300")
            .output()
            .unwrap();
        assert!(output.status.success(), "{format}: {}", said(&output));
        let results = String::from_utf8(output.stdout).unwrap();
        for line in results.lines() {
            let (marker, status) = line.split_once('\t').unwrap();
            assert!(is_right(marker, status), "{format}: {line}");
        }
        assert_eq!(results.lines().count(), 300, "{format}");
    }
}
