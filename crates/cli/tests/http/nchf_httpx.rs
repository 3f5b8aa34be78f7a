//! Clients of Nchf over HTTP/2 that others wrote: httpx and h2 (testing/nchf/httpx_client.py), and nghttp.

use crate::charging::open;
use crate::charging_nchf::{SUPI, bucket, request, sessions, subscriber};
use serde_json::json;
use std::path::Path;
use std::process::Command;

#[test]
fn httpx_charges_sessions_one_by_one_and_at_the_same_time() {
    let (_nodes, door) = open();
    subscriber(&door);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(root.join(".cache/nchf-peers/bin/python"));
    command.arg(root.join("testing/nchf/httpx_client.py")).arg(door.url(""));
    let output = command.output().expect("a tool is missing: run scripts/install-tools.sh tests");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = "session: [201, 200, 200, 204] 1000 1000 true {'HTTP/2'}
sessions at the same time: 40 ([201, 200, 200, 204], 1000, 1000, 'true', {'HTTP/2'})
wrong: 415 application/problem+json
PING answered before the request ends: True 201 {'totalVolume': 1000}
";
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&output.stderr));
    // 41 sessions have used 700 and 50, and the one of h2 is open.
    assert_eq!((bucket(&door, "data", "consumed"), bucket(&door, "data", "held")), (30_750, 1_000));
    assert_eq!(sessions(&door), 1);
    // All of httpx came on one connection, and h2 and the looks of this test on others.
    let page = String::from_utf8(door.get("/metrics").1).expect("text");
    let name = "scurry_http_version_connections_total{version=\"2\"} ";
    let connections = page.lines().find_map(|line| line.strip_prefix(name));
    assert_eq!(connections, Some("2"), "{page}");
}

#[test]
fn nghttp_opens_a_session() {
    let (_nodes, door) = open();
    subscriber(&door);
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("create.json");
    let usage = json!([{"ratingGroup": 10, "requestedUnit": {"totalVolume": 1_000}}]);
    std::fs::write(&file, request(0, 1, &usage).to_string()).expect("a file");
    let output = Command::new("nghttp")
        .args(["--verbose", "--timeout=60", "--header=content-type: application/json"])
        .arg(format!("--data={}", file.to_str().expect("UTF-8")))
        .arg(door.url("/nchf-convergedcharging/v3/chargingdata"))
        .output()
        .expect("nghttp is missing: scripts/install-tools.sh tests");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let place = format!("location: /nchf-convergedcharging/v3/chargingdata/{SUPI}.");
    assert!(said.contains(":status: 201") && said.contains(&place), "{said}");
    assert!(said.contains(r#""grantedUnit":{"totalVolume":1000}"#), "{said}");
    assert_eq!(bucket(&door, "data", "held"), 1_000);
}
