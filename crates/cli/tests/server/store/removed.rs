//! Files that are removed while the server runs: the server notices, and acknowledges no write that a restart would
//! lose.

use super::{MISCONF, place, remove_all, start};
use crate::support::Server;
use nix::sys::signal::Signal;
use std::fs;
use std::path::Path;

/// Makes a write after which the server must have noticed the loss. If the mark of an idle log has noticed it before,
/// the write is refused. Otherwise, in `write` mode, it is acknowledged, and the background sync finds the loss; that
/// sync may not count as a failed write.
fn is_noticed(server: &Server, mode: &str) {
    let mut client = server.connect();
    client.send("SET key newer\r\n");
    let said = client.line();
    if said.starts_with(MISCONF) {
        return;
    }
    if mode == "fsync" {
        assert_eq!(said, "", "closed, since nobody would find it");
        return;
    }
    assert_eq!(said, "+OK");
    loop {
        client.send("INFO persistence\r\n");
        let info = client.bulk();
        if info.contains("log_status:err") {
            return;
        }
        assert!(!info.contains("log_sequence_synced:2"), "{info}");
    }
}

/// Checks that a server whose files are removed in this way stops answering and says why.
fn ends((what, mode): (&str, &str), words: &str, remove: fn(&Path)) {
    let directory = place(&format!("removed-{what}-{mode}"));
    let server = start(&directory, mode);
    server.connect().ask("SET key value", "+OK\r\n");
    remove(&directory);
    is_noticed(&server, mode);
    let mut client = server.connect();
    client.send("GET key\r\n");
    let said = client.line();
    assert!(said.starts_with(MISCONF), "{said}");
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
    ends(("directory", "fsync"), "was removed while this server runs", remove_all);
    ends(("directory", "write"), "No such file or directory", remove_all);
}
