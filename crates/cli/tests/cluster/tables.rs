//! `scurry export --parquet` and `--csv`: the tables of a live store, of its data directory and of a cluster, read by
//! DuckDB and Arrow (testing/analytics/tables.py); `scurry report`, whose rows are those of queries.

use crate::moving::fill;
use crate::said::scurry;
use crate::support::{Cluster, Server, ask, store};
use scurry_cluster_client::redis::{cmd, from_redis_value};
use scurry_cluster_client::{Address, Node, Store, Totals};
use scurry_service::{Read, Reply, Request};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const ACCOUNTS: usize = 30;

/// Runs the reader of tables, and returns its output.
#[track_caller]
fn reader(arguments: &[&str], input: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(root.join(".cache/analytics/bin/python"));
    command.arg(root.join("testing/analytics/tables.py")).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("DuckDB is missing: run scripts/install-tools.sh tests");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).expect("text")
}

/// Adds what `fill` does not have: ids that need quotes, identities, limits, counters, denials, data, overruns.
fn add_oddities(store: &mut Store) {
    let say = |store: &mut Store, words: &[&[u8]]| {
        let (name, rest) = words.split_first().expect("a name");
        let mut command = cmd(str::from_utf8(name).expect("text"));
        rest.iter().for_each(|word| {
            command.arg(*word);
        });
        store.ask(&command).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    };
    let odd = b"=odd\",';";
    say(
        store,
        &[
            b"SCUR.CREATE",
            odd,
            b"IDENTITY",
            b"msisdn",
            b"49,123",
            b"BUCKET",
            b"main",
            b"cent",
            b"700",
        ],
    );
    say(
        store,
        &[
            b"SCUR.RESERVE",
            odd,
            b"s,\"'",
            b"0",
            b"DATA",
            b"\0\xff\"",
            b"OVERRUN",
            b"CLAMP",
            b"ITEM",
            b"7",
            b"cent",
            b"REQUESTED",
            b"70",
        ],
    );
    say(
        store,
        &[
            b"SCUR.UPDATE",
            odd,
            b"s,\"'",
            b"1",
            b"ITEM",
            b"7",
            b"cent",
            b"USED",
            b"5000",
            b"REQUESTED",
            b"1",
        ],
    );
    for line in [
        "SCUR.LIMIT a0 l1 daily UNIT cent AMOUNT 500 PERIOD day ZONE Europe/Berlin",
        "SCUR.LIMIT a1 l1 hourly UNIT octets ITEM 1 AMOUNT 500 ROLLING 1h",
        "SCUR.LIMIT a2 l1 open SESSIONS AMOUNT 5",
        "SCUR.COUNTER a0 c1 calls 3 PERIOD day",
        "SCUR.DEBIT a0 d2 cent 100000",
        "SCUR.DEBIT a1 d2 cent 20",
        "SCUR.REFUND a1 r2 d2 10",
        "SCUR.CREATE empty",
        "SCUR.CREATE refilled BUCKET plan octets 900 PERIOD month ROLLOVER 5 ITEM 1 ITEM 2",
        "SCUR.CREATE free BUCKET main cent 0 FLOOR -100 MARK -50",
        "SCUR.DEBIT free d1 cent 30",
    ] {
        let said = ask(store, line);
        assert!(!said.starts_with('-'), "{line}: {said}");
    }
}

/// Returns the ids of a node's accounts.
fn ids(node: &mut Node) -> Vec<Vec<u8>> {
    let (mut all, mut cursor) = (Vec::new(), "0".to_owned());
    loop {
        let mut scan = cmd("SCAN");
        let reply = node.ask(scan.arg(&cursor).arg("TYPE").arg("scurryacc")).expect("keys");
        let (next, ids): (String, Vec<Vec<u8>>) =
            from_redis_value(reply).expect("a cursor and keys");
        all.extend(ids);
        cursor = next;
        if cursor == "0" {
            return all;
        }
    }
}

/// Returns what the nodes say of the accounts.
fn expected(nodes: &mut [Node]) -> Value {
    let totals = Totals::of_all(nodes).expect("they add up");
    let mut accounts = Map::new();
    for node in nodes {
        for account in ids(node) {
            let id = scurry_tables::text_of(&account).into_owned();
            let reply = node.call(&Request::Read(Read::Account { account })).expect("it is there");
            let Reply::Account(view) = reply else { panic!("{reply:?}") };
            let buckets = view
                .buckets
                .iter()
                .map(|of| (of.id.as_str().to_owned(), json!([of.available, of.held])));
            accounts.insert(id, Value::Object(buckets.collect()));
        }
    }
    // i128 has no form in JSON of this crate, so the sums are texts.
    let sums = totals.units.iter().map(|(unit, of)| {
        let of = [
            ("available", of.available),
            ("held", of.held),
            ("credited", of.credited),
            ("refunded", of.refunded),
            ("consumed", of.consumed),
            ("expired", of.expired),
            ("voided", of.voided),
            ("overdrawn", of.overdrawn),
            ("uncollected", of.uncollected),
        ];
        let texts = of.map(|(name, sum)| (name.to_owned(), Value::String(sum.to_string())));
        (unit.clone(), Value::Object(texts.into_iter().collect()))
    });
    json!({"totals": sums.collect::<Map<_, _>>(), "accounts": accounts})
}

fn node(address: &str) -> Node {
    Node::connect(&Address::new(address, None, None)).expect("it answers")
}

#[test]
fn tables_of_a_live_store_and_of_its_files_are_those_that_the_store_tells() {
    let server = Server::start("2");
    let mut door = store(&server.address());
    fill(&mut door, ACCOUNTS);
    add_oddities(&mut door);
    let place = TempDir::new().expect("a directory");
    let path = |name: &str| place.path().join(name).to_str().expect("text").to_owned();
    let data = server.data();
    let data = data.to_str().expect("text");
    let (live, backup, csv) = (path("tables"), path("backup"), path("csv"));
    let said = scurry(&["export", "--from", &server.address(), "--parquet", &live]).well();
    assert!(said.contains("All is as of the positions 1.0:"), "{said}");
    let said = scurry(&["export", "--backup", data, "--parquet", &backup]).well();
    assert!(said.contains(", as of the positions 1.0:"), "{said}");
    scurry(&["export", "--from", &server.address(), "--csv", &csv]).well();
    let expected = expected(&mut [node(&server.address())]).to_string();
    let said = reader(&["compare", &live, &backup, &csv], &expected);
    assert_eq!(said, format!("equal {} True\n", ACCOUNTS + 4));

    for taken in [&live, &csv] {
        let again = scurry(&["export", "--from", &server.address(), "--parquet", taken]);
        again.refused(&["is not empty: give a directory that is empty or not there yet"]);
    }
}

#[test]
fn events_are_the_same_in_tables_and_lines_and_the_document_asks_them() {
    let server = Server::start("2");
    let mut door = store(&server.address());
    fill(&mut door, ACCOUNTS);
    add_oddities(&mut door);
    let place = TempDir::new().expect("a directory");
    let path = |name: &str| place.path().join(name).to_str().expect("text").to_owned();
    let (events, lines, messages) = (path("events"), path("lines"), path("messages"));
    for (directory, form) in [(&events, "parquet"), (&lines, "json"), (&messages, "protobuf")] {
        let ship = ["ship", "files", directory, "--from", &server.address()];
        scurry(&[&ship[..], &["--format", form, "--once"]].concat()).well();
    }
    assert_eq!(reader(&["events", &events, &lines], ""), "events True True\n");
    // The document asks for tables beside them.
    for (form, directory) in [("--parquet", path("tables")), ("--csv", path("csv"))] {
        scurry(&["export", "--from", &server.address(), form, &directory]).well();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = root.join("docs/analytics.md");
    let document = document.to_str().expect("text");
    let said = reader(&["document", document, place.path().to_str().expect("text")], "");
    assert!(said.contains("('cent', True)"), "conservation: {said}");
    assert!(said.contains("'CREDIT_LIMIT_REACHED'"), "denials: {said}");
    assert!(said.contains("('a0', 'cent', 30)"), "spent: {said}");
    assert!(said.ends_with("blocks 14\n"), "{said}");
    let data = server.data();
    let (place, data) = (place.path().to_str().expect("text"), data.to_str().expect("text"));
    let binary = env!("CARGO_BIN_EXE_scurry");
    let expected = expected(&mut [node(&server.address())]).to_string();
    let said = reader(&["reports", document, place, binary, data], &expected);
    assert_eq!(said, "same True\n", "rows of queries and reports");
    draw(place);
}

/// Draws the chart of the example. An event has the day, since the next one may begin meanwhile.
#[track_caller]
fn draw(place: &str) {
    let events = format!("{place}/events");
    let days = ["report", "spend", "--files", &events, "--by", "day", "--format", "csv"];
    let said = scurry(&days).well();
    let day = said.lines().nth(1).and_then(|line| line.split(',').next()).expect("a day");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut chart = Command::new(root.join(".cache/analytics/bin/python"));
    chart.arg(root.join("docs/examples/spend_chart.py")).args(["events", "spend.svg", day]);
    let output = chart.current_dir(place).output().expect("Python runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, format!("spend.svg: 10 of 32 accounts, cent on {day}\n"));
    let svg = std::fs::read_to_string(format!("{place}/spend.svg")).expect("a chart");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert_eq!(svg.matches("<rect ").count(), 10, "a bar for each account: {svg}");
    // The day before has no event, and an empty chart would be taken for a day without customers.
    let mut chart = Command::new(root.join(".cache/analytics/bin/python"));
    chart.arg(root.join("docs/examples/spend_chart.py")).args(["events", "none.svg", "2020-01-01"]);
    let output = chart.current_dir(place).output().expect("Python runs");
    assert!(!output.status.success(), "a chart of no events");
}

#[test]
fn a_cluster_is_exported_node_by_node() {
    let cluster = Cluster::up();
    let mut door = store(&cluster.address());
    fill(&mut door, ACCOUNTS);
    add_oddities(&mut door);
    let place = TempDir::new().expect("a directory");
    let path = |name: &str| place.path().join(name).to_str().expect("text").to_owned();
    let (tables, csv) = (path("tables"), path("csv"));
    let said = scurry(&["export", "--from", &cluster.address(), "--parquet", &tables]).well();
    assert!(said.contains("Each account is as of a moment of the export"), "{said}");
    scurry(&["export", "--from", &cluster.address(), "--csv", &csv]).well();
    let mut nodes = door.primaries().expect("they answer");
    let expected = expected(&mut nodes).to_string();
    let said = reader(&["compare", &tables, &tables, &csv], &expected);
    assert_eq!(said, format!("equal {} True\n", ACCOUNTS + 4));
}
