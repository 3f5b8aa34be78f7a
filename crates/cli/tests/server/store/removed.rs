//! Files that are removed while the server runs: it notices, instead of answering what no start would find.

use super::{place, start};
use crate::support::Server;
use nix::sys::signal::Signal;
use std::fs;
use std::path::Path;

/// A write after which the server must have noticed. In `write` mode it is answered, and a sync behind the clients
/// finds it out; that sync may not count.
fn is_noticed(server: &Server, mode: &str) {
    let mut client = server.connect();
    client.send("SET key newer\r\n");
    if mode == "fsync" {
        assert_eq!(client.rest(), "", "nobody would find it");
        return;
    }
    assert_eq!(client.line(), "+OK");
    loop {
        client.send("INFO persistence\r\n");
        let info = client.bulk();
        if info.contains("log_status:err") {
            return;
        }
        assert!(!info.contains("log_sequence_synced:2"), "{info}");
    }
}

/// A server whose files go in such a way answers no more, and says why.
fn ends((what, mode): (&str, &str), words: &str, remove: fn(&Path)) {
    let directory = place(&format!("removed-{what}-{mode}"));
    let server = start(&directory, mode);
    server.connect().ask("SET key value", "+OK\r\n");
    remove(&directory);
    is_noticed(&server, mode);
    let mut client = server.connect();
    client.send("GET key\r\n");
    let said = client.line();
    assert!(said.starts_with("-MISCONF the log has failed"), "{said}");
    server.signal(Signal::SIGTERM);
    let (_, log) = server.wait();
    assert!(log.contains("the log cannot be") && log.contains(words), "{mode}: {log}");
}

fn remove_segment(directory: &Path) {
    fs::remove_file(super::segment(directory)).expect("it is removed");
}

#[test]
fn a_server_whose_log_is_removed_answers_no_more() {
    ends(("log", "fsync"), "was removed while this server runs", remove_segment);
    ends(("log", "write"), "was removed while this server runs", remove_segment);
}

#[test]
fn a_server_whose_directory_is_removed_answers_no_more() {
    let remove_all = |directory: &Path| fs::remove_dir_all(directory).expect("it is removed");
    ends(("directory", "fsync"), "was removed while this server runs", remove_all);
    ends(("directory", "write"), "No such file or directory", remove_all);
}
