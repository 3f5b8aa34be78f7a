//! `/metrics`, `/healthz` and `/readyz`: the counts match the requests, in the format of Prometheus.

use crate::console::free_port;
use crate::node::keeping;
use crate::page::Page;
use crate::store::Store;
use crate::support::Door;
use redis::{RedisResult, Value};
use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::process::Command;

fn ask(connection: &mut redis::Connection, line: &str) -> RedisResult<Value> {
    let mut words = line.split(' ');
    let mut command = redis::cmd(words.next().expect("a word"));
    command.arg(words.collect::<Vec<&str>>());
    command.query(connection)
}

#[test]
fn what_is_done_is_what_is_counted() {
    let store = Store::start(&["--threads", "2", "--durability", "fsync"]);
    let mut client = store.connect();
    let before = store.metrics();
    let mut done = 0;
    let mut run = |lines: &[&str], good: bool| {
        for line in lines {
            assert_eq!(ask(&mut client, line).is_ok(), good, "{line}");
            done += 1;
        }
    };
    for account in ["a", "b", "c", "d", "e"] {
        run(&[&format!("SCUR.CREATE {account} BUCKET main cent 1000")], true);
    }
    let reserve = "SCUR.RESERVE a call 0 ITEM 1 cent REQUESTED 200";
    run(&[reserve, reserve, reserve], true);
    run(&["SCUR.RESERVE b brief 0 VALIDITY 50ms TCC 50ms ITEM 1 cent REQUESTED 300"], true);
    run(&["SCUR.DEBIT c t cent 5000", "SCUR.DEBIT c u cent 5000"], true);
    run(&["SCUR.STATUS d suspended", "SCUR.DEBIT d t cent 1"], true);
    run(&["SCUR.DEBIT c v octet 1", "SCUR.LIMIT e l day UNIT cent AMOUNT 10"], true);
    // Of two items the first is denied for lack of units, the second for lack of a bucket.
    let both = "SCUR.RESERVE c two 0 ITEM 1 cent REQUESTED 5000 MIN 5000 ITEM 2 octet REQUESTED 1";
    run(&["SCUR.DEBIT e t cent 11", both], true);
    // One command of a chain is denied for lack of a bucket, and therefore the other too.
    run(&["SCUR.CREATE {e}x", "SCUR.CHAIN e 4 DEBIT m cent 5 {e}x 4 DEBIT m cent 1"], true);
    run(&["SCUR.DEBIT nobody t cent 1", "SCUR.NOTHING"], false);
    run(&["SCUR.CREATE a BUCKET main cent 1"], false);
    run(&["SET plain value"], true);
    let expired = |page: &Page| page.sum("scurry_expiries_total", &[("kind", "session")]) > 0.0;
    let page = store.metrics_when(expired);
    let grown =
        |name: &str, labels: &[(&str, &str)]| page.sum(name, labels) - before.sum(name, labels);
    let commands = "scurry_commands_total";
    for (command, count) in [
        ("scur.create", 7.0),
        ("scur.reserve", 5.0),
        ("scur.debit", 6.0),
        ("scur.status", 1.0),
        ("set", 1.0),
        ("unknown", 1.0),
    ] {
        assert_eq!(grown(commands, &[("command", command)]), count, "{command}");
    }
    for (name, labels, count) in [
        ("scurry_command_errors_total", &[("command", "scur.debit")][..], 1.0),
        ("scurry_command_errors_total", &[("command", "scur.create")], 1.0),
        ("scurry_duplicates_total", &[], 2.0),
        ("scurry_denials_total", &[("code", "CREDIT_LIMIT_REACHED")], 6.0),
        ("scurry_denials_total", &[("cause", "balance")], 3.0),
        ("scurry_denials_total", &[("cause", "no_bucket")], 2.0),
        ("scurry_denials_total", &[("cause", "limit")], 1.0),
        ("scurry_denials_total", &[("cause", "chain"), ("code", "CHAIN_DENIED")], 1.0),
        ("scurry_denials_total", &[("cause", "status"), ("code", "SERVICE_DENIED")], 1.0),
        ("scurry_rejections_total", &[], 2.0),
        ("scurry_expiries_total", &[("kind", "session")], 1.0),
        ("scurry_accounts", &[], 6.0),
        ("scurry_sessions_open", &[], 1.0),
        ("scurry_holds_units", &[("unit", "cent")], 200.0),
        ("scurry_available_units", &[("unit", "cent")], 4_800.0),
        ("scurry_credited_units", &[("unit", "cent")], 5_000.0),
        ("scurry_conservation_error_units", &[("unit", "cent")], 0.0),
    ] {
        assert_eq!(grown(name, labels), count, "{name} {labels:?}");
    }
    let at_least = f64::from(done);
    // Every request was timed from arrival to reply, including unknown commands.
    assert!(grown("scurry_request_duration_seconds_count", &[]) >= at_least, "{}", page.0);
    assert!(grown("scurry_command_duration_seconds_count", &[]) >= at_least - 1.0);
    assert!(
        page.sum("scurry_request_duration_seconds_sum", &[])
            > page.sum("scurry_command_duration_seconds_sum", &[])
    );
    // Each batch of the log was timed and synced.
    let batches = page.sum("scurry_log_batches_total", &[]);
    assert!(batches >= 2.0);
    let settled = store.metrics_when(|page| {
        page.sum("scurry_log_write_duration_seconds_count", &[])
            == page.sum("scurry_log_batches_total", &[])
    });
    assert_eq!(
        settled.sum("scurry_log_sequence", &[]),
        settled.sum("scurry_log_durable_sequence", &[])
    );
    assert_eq!(page.sum("scurry_core_up", &[]), 2.0);
    assert!(page.sum("scurry_core_cpu_seconds_total", &[]) > 0.0);
}

#[test]
fn bytes_memory_and_snapshots_are_told() {
    let store = Store::start(&["--max-memory", "64mb"]);
    let mut client = store.connect();
    let before = store.metrics();
    assert_eq!(before.sum("scurry_snapshot_age_seconds", &[]), 0.0);
    assert!(!before.0.contains("\nscurry_snapshot_age_seconds{"), "there is none yet");
    ask(&mut client, &format!("SET big {}", "x".repeat(100_000))).expect("it is set");
    ask(&mut client, "SCUR.CREATE a BUCKET main cent 1000").expect("it is made");
    ask(&mut client, "SCUR.SNAPSHOT").expect("it begins");
    let page = store.metrics_when(|page| page.sum("scurry_snapshots_total", &[]) == 1.0);
    assert!(page.0.contains("\nscurry_snapshot_age_seconds{core=\"0\"} "), "{}", page.0);
    let grown =
        |name: &str, labels: &[(&str, &str)]| page.sum(name, labels) - before.sum(name, labels);
    for (name, labels) in [
        ("scurry_received_bytes_total", &[][..]),
        ("scurry_memory_bytes", &[("kind", "values")]),
        ("scurry_log_bytes_total", &[]),
    ] {
        assert!(grown(name, labels) >= 100_000.0, "{name}");
    }
    assert_eq!(page.sum("scurry_memory_max_bytes", &[]), 64.0 * 1_048_576.0);
    assert_eq!(page.sum("scurry_keys", &[]), 2.0);
}

#[test]
fn the_linter_of_prometheus_finds_no_fault() {
    let store = Store::start(&["--threads", "2"]);
    let mut client = store.connect();
    ask(&mut client, "SCUR.CREATE a BUCKET main cent 1000").expect("it is made");
    assert_eq!(store.get("/nowhere").0, 404);
    let first = store.metrics();
    first.lint();
    let counted = store.metrics().sum("scurry_http_requests_total", &[("route", "/metrics")]);
    assert_eq!(counted, 1.0, "the page before this one");
    assert_eq!(
        first.sum("scurry_http_requests_total", &[("route", "other"), ("status", "404")]),
        1.0
    );
    let nodes = keeping(1);
    let door = Door::open(&nodes);
    assert_eq!(door.put("/v0/entity?id=x", b"v").0, 201);
    assert_eq!(door.get("/v0/entity?id=x").0, 200);
    assert_eq!(door.get("/v0/entity?id=y").0, 404);
    let (status, body) = door.get("/metrics");
    assert_eq!(status, 200);
    let page = Page(String::from_utf8(body).expect("text"));
    page.lint();
    for (labels, count) in [
        (&[("route", "/v0/entity"), ("method", "PUT"), ("status", "201")][..], 1.0),
        (&[("route", "/v0/entity"), ("method", "GET"), ("status", "200")], 1.0),
        (&[("route", "/v0/entity"), ("method", "GET"), ("status", "404")], 1.0),
    ] {
        assert_eq!(page.sum("scurry_http_requests_total", labels), count, "{labels:?}");
    }
    let timed = page.sum("scurry_http_request_duration_seconds_count", &[("route", "/v0/entity")]);
    assert_eq!(timed, 3.0);
    assert_eq!(page.sum("scurry_http_node_state", &[("state", "ready")]), 1.0);
    assert_eq!(page.sum("scurry_http_ready", &[]), 1.0);
}

#[test]
fn without_a_diameter_door_there_is_nothing_of_it() {
    let store = Store::start(&[]);
    assert_eq!(store.get("/v1/console/diameter").0, 404);
    assert!(!store.metrics().0.contains("diameter"));
}

#[test]
fn a_store_charges_over_its_own_door() {
    let store = Store::start(&["--threads", "2"]);
    let mut client = store.connect();
    for account in ["a", "b", "c", "d"] {
        ask(&mut client, &format!("SCUR.CREATE {account} BUCKET main cent 1000")).expect("made");
        let (status, body) = store.get(&format!("/v1/accounts/{account}"));
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("\"main\"") && body.contains("1000"), "{body}");
    }
    assert_eq!(store.get("/v1/accounts/nobody").0, 404);
}

#[test]
fn a_store_is_ready_until_it_stops_and_then_says_so_in_its_status() {
    let store = Store::start(&[]);
    assert_eq!(store.get("/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(store.get("/readyz"), (200, "ready\n".to_owned()));
    // Both doors end with the process, which exits normally.
    let (status, log) = store.stop();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("ERROR") && !log.contains("WARN"), "{log}");
}

#[test]
fn a_store_whose_log_has_no_room_is_not_ready_and_goes_on_telling() {
    let store = Store::start(&["--durability", "fsync"]);
    let mut client = store.connect();
    ask(&mut client, "SCUR.CREATE a BUCKET main cent 1000").expect("it is made");
    store.limit_files("100");
    // It is executed but cannot be written, so its answer waits.
    let mut waits = TcpStream::connect(("127.0.0.1", store.port)).expect("it listens");
    waits.write_all(b"SCUR.DEBIT a t cent 30\r\n").expect("it is sent");
    let page = store.metrics_when(|page| page.sum("scurry_log_trouble", &[]) == 1.0);
    let ahead = page.sum("scurry_log_sequence", &[]) - page.sum("scurry_log_durable_sequence", &[]);
    assert_eq!(ahead, 1.0, "what is not durable is told as such");
    let (status, body) = store.get("/readyz");
    assert_eq!(status, 503);
    assert!(body.contains("the log of core 0 has no room: writes are refused"), "{body}");
    assert_eq!(store.get("/healthz").0, 200);
    store.limit_files("unlimited");
    store.metrics_when(|page| page.sum("scurry_log_trouble", &[]) == 0.0);
    assert_eq!(store.get("/readyz"), (200, "ready\n".to_owned()));
}

#[test]
fn the_port_of_the_door_is_taken_or_the_store_does_not_start() {
    let store = Store::start(&[]);
    let taken = format!("127.0.0.1:{}", store.http_port);
    let output = Command::new(env!("CARGO_BIN_EXE_scurry"))
        .args(["serve", "--listen", "127.0.0.1:0", "--durability", "none"])
        .args(["--http-listen", &taken])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(
        said.contains(&format!("cannot listen on {taken}: the address is in use"))
            && said.contains("--http-listen"),
        "{said}"
    );
}

/// A conflict with a port of the same server is reported as such, and not as another program's.
#[test]
fn the_port_of_the_door_is_no_port_of_a_thread() {
    let door = format!("127.0.0.1:{}", free_port());
    let core_port = &door["127.0.0.1:".len()..];
    let output = Command::new(env!("CARGO_BIN_EXE_scurry"))
        .args(["serve", "--durability", "none", "--listen", "127.0.0.1:0", "--threads", "2"])
        .args(["--core-port", core_port, "--http-listen", &door])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let own = format!("--http-listen cannot be {door}: that is the port of thread 0");
    assert!(!output.status.success() && said.contains(&own), "{said}");
}

/// Every metric in the dashboard exists in a store.
#[test]
fn the_dashboard_asks_for_what_there_is() {
    let text = include_str!("../../../../docs/grafana/scurry.json");
    let dashboard: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let queries = targets.map(|target| target["expr"].as_str().expect("a query"));
    are_there(queries, 15);
}

/// Prometheus accepts the rules, and their metrics exist in a store. A test of `scurry ship` asks for those of shippers.
#[test]
fn the_alerts_ask_for_what_there_is() {
    const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/alerts.yml");
    promtool(&["check", "rules", RULES]);
    let text = std::fs::read_to_string(RULES).expect("it is there");
    let rules = text.lines().filter_map(|line| line.trim().strip_prefix("expr: "));
    are_there(rules.filter(|rule| !rule.contains("scurry_ship_")), 10);
}

/// Healthy servers raise no alert, and others the intended one.
#[test]
fn the_alerts_say_what_is_wrong_and_nothing_else() {
    promtool(&[
        "test",
        "rules",
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/alerts_test.yml"),
    ]);
}

fn promtool(words: &[&str]) {
    let checked = Command::new("promtool").args(words).output();
    let checked = checked.expect("promtool is installed: scripts/install-tools.sh tests");
    let said = [checked.stdout, checked.stderr].concat();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// Asserts that a node of a group has each metric in these queries, and that there are at least `least`.
#[track_caller]
fn are_there<'q>(queries: impl Iterator<Item = &'q str>, least: usize) {
    let mut asked = BTreeSet::new();
    for query in queries {
        let words = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        asked.extend(words.filter(|word| word.contains("scurry_") || word.starts_with("process_")));
    }
    assert!(asked.len() > least, "{asked:?}");
    // A node of a group with a Diameter door has all metrics of a store of one machine.
    let nodes = format!("127.0.0.1:{}", free_port());
    let store = Store::start_group(&["--replicate", &nodes, "--diameter-listen", "127.0.0.1:0"]);
    let page = store.metrics();
    page.lint();
    for name in asked {
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
        let is_histogram =
            base.is_some_and(|base| page.0.contains(&format!("# TYPE {base} histogram")));
        assert!(page.has(name) || is_histogram, "{name} is asked for and not there");
    }
}
