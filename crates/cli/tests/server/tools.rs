//! The tools with a real server: a snapshot, a backup while clients write, a restore, and a server on each of the
//! copies.

use crate::support::{Client, Server, array, serve as serve_command};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// Runs a tool and returns its output.
#[track_caller]
fn tool(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(arguments).env_remove("SCURRY_PASSWORD").stdin(Stdio::null());
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn serve(path: &Path) -> Server {
    Server::start(&["--dir", path.to_str().expect("text"), "--threads", "2"])
}

/// Checks that the numbers set in order have no gap, and returns the greatest.
fn numbers(server: &Server) -> u64 {
    let mut client = server.connect();
    client.send("DBSIZE\r\n");
    let count: u64 = client.line().trim_start_matches(':').trim().parse().expect("a number");
    for number in 0..count {
        client.send(format!("EXISTS {number}\r\n"));
        client.expect(":1\r\n");
    }
    count
}

#[test]
fn a_server_is_copied_while_it_serves() {
    let place = tempfile::TempDir::new().expect("a place for files");
    let path = |name: &str| place.path().join(name);
    let text = |name: &str| path(name).to_str().expect("text").to_owned();
    let server = serve(&path("data"));
    let (stop, set) = (AtomicBool::new(false), AtomicU64::new(0));
    let (copied, all) = thread::scope(|scope| {
        // Each number is set when the one before is durable, so a copy of one moment has no gap.
        scope.spawn(|| {
            let mut client = server.connect();
            while !stop.load(Ordering::Relaxed) {
                client.send(format!("SET {} x\r\n", set.load(Ordering::Relaxed)));
                client.expect("+OK\r\n");
                set.fetch_add(1, Ordering::Relaxed);
            }
        });
        let address = format!("127.0.0.1:{}", server.port);
        for _ in 0..3 {
            let said = tool(&["snapshot", "--address", &address]);
            assert!(said.starts_with("snapshot written by 2 threads"), "{said}");
        }
        let least = set.load(Ordering::Relaxed);
        tool(&["inspect", &text("data")]);
        tool(&["backup", &text("data"), "--to", &text("copy")]);
        tool(&["inspect", &text("copy")]);
        stop.store(true, Ordering::Relaxed);
        (least, &set)
    });
    let all = all.load(Ordering::Relaxed);
    assert_eq!(numbers(&server), all);
    tool(&["restore", &text("copy"), "--to", &text("restored")]);
    drop(server);
    // Threads are copied one after another, so the second may be ahead: count the existing keys.
    let mut keys = Vec::new();
    for name in ["copy", "restored"] {
        let server = serve(&path(name));
        let mut client = server.connect();
        for number in 0..copied {
            client.send(format!("EXISTS {number}\r\n"));
            client.expect(":1\r\n");
        }
        client.send("DBSIZE\r\n");
        keys.push(client.line());
    }
    assert_eq!(keys[0], keys[1]);
}

/// Amounts of a unit in SCUR.TOTALS.
#[derive(Debug, PartialEq, Eq)]
struct Amounts {
    available: i64,
    held: i64,
    in_transit: i64,
}

/// Returns the totals of a unit.
fn amounts(client: &mut Client, unit: &str) -> Amounts {
    client.send("SCUR.TOTALS\r\nPING\r\n");
    let said = client.until("+PONG\r\n");
    let lines = said.lines().skip_while(|line| line.trim_start_matches('+') != unit).skip(1);
    let numbers = lines.map_while(|line| line.strip_prefix(':')?.parse().ok());
    let numbers: Vec<i64> = numbers.collect();
    let [available, held, .., in_transit] = numbers[..] else { panic!("{said}") };
    Amounts { available, held, in_transit }
}

/// Transfers from the first thread to the second in one unit, and back in the other: each unit would be too much or too
/// little for itself.
fn transfer(number: usize) -> String {
    let (payer, payee) = (number % 8, number / 8 % 8);
    match number % 2 {
        0 => format!("SCUR.TRANSFER {{bar}}{payer} t{number} cent 1 {{foo}}{payee} cent\r\n"),
        _ => format!("SCUR.TRANSFER {{foo}}{payer} t{number} euro 1 {{bar}}{payee} euro\r\n"),
    }
}

#[test]
fn a_copy_of_a_server_has_no_half_of_a_transfer_between_threads() {
    /// First credit of each account in each of the units.
    const CREDIT: i64 = 1_000_000;
    /// Values of a megabyte in the first thread's log: while they are copied, the second thread goes on.
    const VALUES: usize = 24;
    /// Bound of transfers if the test has failed.
    const TRANSFERS_MAX: usize = 100_000;
    let place = tempfile::TempDir::new().expect("a place for files");
    let path = |name: &str| place.path().join(name);
    let text = |name: &str| path(name).to_str().expect("text").to_owned();
    let server = serve(&path("data"));
    let mut client = server.connect();
    for account in 0..16 {
        let tag = if account < 8 { "bar" } else { "foo" };
        let id = format!("{{{tag}}}{}", account % 8);
        let create =
            format!("SCUR.CREATE {id} BUCKET cent cent {CREDIT} BUCKET euro euro {CREDIT}");
        client.ask(&create, "*2\r\n+OK\r\n:1\r\n");
    }
    let value = "x".repeat(1 << 20);
    for number in 0..VALUES {
        client.send(array(&[
            b"SET",
            format!("{{bar}}value-{number}").as_bytes(),
            value.as_bytes(),
        ]));
        client.expect("+OK\r\n");
    }
    let (stop, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.connect();
            for batch in 0..TRANSFERS_MAX / 16 {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let all: String = (0..16).map(|one| transfer(batch * 16 + one)).collect();
                client.send(all + "PING\r\n");
                let said = client.until("+PONG\r\n");
                assert_eq!(said.matches("+in_transit").count(), 16, "{said}");
                sent.store(batch * 16 + 16, Ordering::Relaxed);
            }
        });
        for round in 0..3 {
            let before = sent.load(Ordering::Relaxed);
            while sent.load(Ordering::Relaxed) < before + 64 {
                thread::yield_now();
            }
            tool(&["backup", &text("data"), "--to", &text(&format!("copy-{round}"))]);
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop(server);
    tool(&["restore", &text("copy-2"), "--to", &text("restored")]);
    for name in ["copy-0", "copy-1", "copy-2", "restored"] {
        let server = serve(&path(name));
        let mut client = server.connect();
        for unit in ["cent", "euro"] {
            let found = loop {
                let found = amounts(&mut client, unit);
                if found.in_transit == 0 {
                    break found;
                }
            };
            let all = Amounts { available: 16 * CREDIT, held: 0, in_transit: 0 };
            assert_eq!(found, all, "{unit} of {name}");
        }
    }
}

/// Returns the library that sets the wall clock of one process.
fn clock_library() -> Option<PathBuf> {
    let libraries = std::fs::read_dir("/usr/lib").expect("it is there").flatten();
    let mut places = libraries.map(|of| of.path().join("faketime/libfaketimeMT.so.1"));
    let found = places.find(|library| library.exists());
    if found.is_none() {
        println!("left out: no libfaketime (the package faketime) sets the clock of one process");
    }
    found
}

/// Returns the time of the last frame in each thread's log.
fn ends(directory: &str) -> Vec<i64> {
    let report: serde_json::Value =
        serde_json::from_str(&tool(&["inspect", directory, "--json"])).expect("JSON");
    let cores = report["cores"].as_array().expect("a list");
    let last = |core: &serde_json::Value| core["segments"].as_array()?.last()?["to_ms"].as_i64();
    cores.iter().map(|core| last(core).expect("a time")).collect()
}

#[test]
fn no_step_of_a_transfer_is_logged_with_an_earlier_time_than_the_one_before() {
    /// Most looks at a transfer that is under way.
    const LOOKS_MAX: usize = 1_000_000;
    let Some(library) = clock_library() else { return };
    let place = tempfile::TempDir::new().expect("a place for files");
    let (directory, clock) = (place.path().join("data"), place.path().join("clock"));
    let directory = directory.to_str().expect("text");
    let set = |offset: &str| {
        let new = place.path().join("new");
        std::fs::write(&new, offset).expect("it is written");
        std::fs::rename(new, &clock).expect("it is set");
    };
    set("+1d\n");
    let mut command = serve_command(&["--dir", directory, "--threads", "2"]);
    command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", &clock);
    command.env("FAKETIME_CACHE_DURATION", "1").env("FAKETIME_DONT_RESET", "1");
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("NO_FAKE_STAT", "1");
    let server = Server::run(&mut command);
    let mut client = server.connect();
    let now = |client: &mut Client| {
        client.send("TIME\r\n");
        client.line();
        let seconds = client.bulk();
        client.bulk();
        seconds.parse::<i64>().expect("a number")
    };
    let ahead = now(&mut client);
    client.ask("SCUR.CREATE {bar} BUCKET main cent 100", "*2\r\n+OK\r\n:1\r\n");
    set("+0\n");
    while now(&mut client) > ahead - 3_600 {}
    // From here on the first thread's log has times of tomorrow, and the second one's those of today.
    client.ask("SCUR.CREATE {foo} BUCKET main cent 100", "*2\r\n+OK\r\n:1\r\n");
    let [first, second] = ends(directory)[..] else { panic!("two threads") };
    assert!(first > second, "{first} {second}");
    for looks in 0.. {
        client.send("SCUR.TRANSFER {bar} t1 cent 1 {foo} main\r\n");
        if (0..5).map(|_| client.line()).last().as_deref() == Some("+arrived") {
            break;
        }
        assert!(looks < LOOKS_MAX, "it has not arrived");
    }
    let [first, second] = ends(directory)[..] else { panic!("two threads") };
    assert_eq!(first, second, "both have tomorrow's");
    let copy = place.path().join("copy");
    tool(&["backup", directory, "--to", copy.to_str().expect("text")]);
    assert_eq!(ends(copy.to_str().expect("text")), [first, second]);
}
