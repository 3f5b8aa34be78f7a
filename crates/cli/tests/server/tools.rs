//! The tools with a real server: a snapshot, a backup while clients write, a restore, and a server on each of the
//! copies.

use crate::support::Server;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
