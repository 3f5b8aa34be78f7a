//! Files that go missing or change between two runs: the start is refused with an error that names the missing file, or
//! everything acknowledged is there.

use super::{Place, kill, place, refusal, start, under};
use crate::support::{Client, Server, tool};
use nix::sys::signal::Signal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADER_LEN: usize = 34;
const KEYS: usize = 20;

/// Stops a server as an operator does.
fn stop(server: Server) {
    server.signal(Signal::SIGTERM);
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");
}

fn start_with(directory: &Path, mode: &str, threads: &str) -> Server {
    Server::run(under(&[], directory, mode).args(["--threads", threads]))
}

fn refusal_with(directory: &Path, mode: &str, threads: &str) -> String {
    refusal(under(&[], directory, mode).args(["--threads", threads]))
}

fn fill(client: &mut Client) {
    for key in 0..KEYS {
        client.ask(&format!("SET key-{key} value"), "+OK\r\n");
    }
}

fn expect_all(directory: &Path, mode: &str, threads: &str) -> Server {
    let server = start_with(directory, mode, threads);
    server.connect().ask("DBSIZE", &format!(":{KEYS}\r\n"));
    server
}

/// Makes a store of two threads with data, ended in this way.
fn filled(name: &str, mode: &str, end: fn(Server)) -> Place {
    let directory = place(name);
    let server = start_with(&directory, mode, "2");
    fill(&mut server.connect());
    end(server);
    directory
}

/// Runs `scurry inspect`. Returns whether everything is intact, and the output.
fn inspect(directory: &Path) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    let output = command.arg("inspect").arg(directory).output().expect("it is run");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// Returns the files of a core with this prefix, the newest last.
fn of_core(directory: &Path, core: &str, prefix: &str) -> Vec<PathBuf> {
    let is_one = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(prefix))
    };
    names(&directory.join(core)).into_iter().filter(is_one).collect()
}

/// Returns every directory and file of a store except spares, which an intact core may give up.
fn names(directory: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).expect("it is listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            names.extend(self::names(&path));
        }
        names.push(path);
    }
    names.retain(|path| !path.ends_with("spare-next"));
    names.sort();
    names
}

/// Returns the offsets of a segment's frames with their numbers of records.
fn frames(bytes: &[u8]) -> Vec<(usize, u32)> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut frames) = (HEADER_LEN, Vec::new());
    while word(at) > 0 {
        frames.push((at, word(at + 32)));
        at += usize::try_from(word(at)).expect("a length");
    }
    frames
}

/// Copies a directory with its subdirectories.
fn copy(from: &Path, to: &Path) {
    let output = tool("cp", &["-a", from.to_str().expect("text"), to.to_str().expect("text")]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_last_change_before_a_stop_is_missed_when_a_bit_of_it_changes() {
    for mode in ["write", "fsync"] {
        let directory = place(&format!("stopped-{mode}"));
        let server = start(&directory, mode);
        fill(&mut server.connect());
        stop(server);
        let segment = of_core(&directory, "g1/0", "log-").pop().expect("a segment");
        let whole = fs::read(&segment).expect("it is read");
        let frames = frames(&whole);
        let last = frames.iter().rfind(|(_, count)| *count > 0).expect("a change").0;
        assert_eq!(frames.last().expect("a frame").1, 0, "{mode}: the end is marked");
        assert!(inspect(&directory).0);
        let mut damaged = whole.clone();
        damaged[last + 40] ^= 1;
        fs::write(&segment, &damaged).expect("it is written");
        let said = refusal(&mut under(&[], &directory, mode));
        let name = segment.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        assert!(said.contains(&format!("{name} is damaged at byte {last}")), "{said}");
        assert!(damaged == fs::read(&segment).expect("it is read"), "it was changed");
        let (is_whole, said) = inspect(&directory);
        assert!(!is_whole && said.contains(&format!("damaged at byte {last}")), "{said}");
        // If the mark is missing too, the note beside the log shows the loss.
        damaged[last..].fill(0);
        fs::write(&segment, &damaged).expect("it is written");
        let said = refusal(&mut under(&[], &directory, mode));
        assert!(said.contains(&format!("{KEYS} was synced once")), "{said}");
        assert!(!inspect(&directory).0);
        fs::write(&segment, &whole).expect("it is written");
        stop(expect_all(&directory, mode, "1"));
    }
}

#[test]
fn what_is_missing_is_named() {
    for (mode, how) in [("fsync", "stop"), ("write", "stop"), ("fsync", "kill")] {
        let end = if how == "stop" { stop } else { kill };
        let whole = filled(&format!("missing-{mode}-{how}"), mode, end);
        for gone in ["g1/0", "g1/1", "g1", "segments", "all but MANIFEST", "all but the note"] {
            let directory = place(&format!("missing-{mode}-{how}-some"));
            copy(&whole, &directory);
            let named = match gone {
                "segments" => {
                    let segments = of_core(&directory, "g1/1", "log-");
                    segments.iter().for_each(|segment| fs::remove_file(segment).expect("removed"));
                    "g1/1: the log ends at sequence 0"
                }
                "all but MANIFEST" => {
                    fs::remove_dir_all(directory.join("g1")).expect("it is removed");
                    fs::remove_file(directory.join("reach-g1")).expect("it is removed");
                    "g1/0 is missing"
                }
                "all but the note" => {
                    fs::remove_dir_all(directory.join("g1")).expect("it is removed");
                    fs::remove_file(directory.join("MANIFEST")).expect("it is removed");
                    "has data (reach-g1) but no MANIFEST"
                }
                _ => {
                    fs::remove_dir_all(directory.join(gone)).expect("it is removed");
                    if gone == "g1/1" { "g1/1 is missing" } else { "g1/0 is missing" }
                }
            };
            let before = names(&directory);
            let said = refusal_with(&directory, mode, "2");
            assert!(said.contains(named), "{mode} {how} {gone}: {said}");
            // A start with another number of threads is refused too.
            let said = refusal_with(&directory, mode, "1");
            assert!(said.contains(named), "{mode} {how} {gone}: {said}");
            assert_eq!(before, names(&directory), "{gone}: nothing is made or removed");
            let (is_whole, said) = inspect(&directory);
            assert!(!is_whole, "{gone}: {said}");
            assert!(said.contains(named) || said.contains("is missing"), "{gone}: {said}");
        }
        kill(expect_all(&whole, mode, "2"));
    }
}

#[test]
fn each_newest_segment_is_missed() {
    let directory = place("newest");
    // Each run begins a new segment.
    for round in 0..3 {
        let server = start(&directory, "fsync");
        server.connect().ask(&format!("SET round-{round} x"), "+OK\r\n");
        if round == 1 {
            kill(server)
        } else {
            stop(server)
        }
        let newest = of_core(&directory, "g1/0", "log-").pop().expect("a segment");
        let aside = directory.join("aside");
        fs::rename(&newest, &aside).expect("it is moved");
        let said = refusal(&mut under(&[], &directory, "fsync"));
        let name = newest.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        assert!(said.contains(name) && said.contains("is missing"), "round {round}: {said}");
        fs::rename(&aside, &newest).expect("it is moved back");
    }
    start(&directory, "fsync").connect().ask("DBSIZE", ":3\r\n");
}

#[test]
fn a_store_of_an_older_version_starts_and_is_watched_from_then_on() {
    for mode in ["write", "fsync"] {
        let directory = filled(&format!("older-{mode}"), mode, stop);
        fs::remove_file(directory.join("reach-g1")).expect("older versions write none");
        kill(expect_all(&directory, mode, "2"));
        fs::remove_dir_all(directory.join("g1/1")).expect("it is removed");
        let said = refusal_with(&directory, mode, "2");
        assert!(said.contains("g1/1 is missing, and its log had come to sequence "), "{said}");
    }
}

#[test]
fn a_first_start_that_was_cut_short_is_made_again() {
    let directory = place("cut-short");
    kill(start_with(&directory, "fsync", "2"));
    let only = place("cut-short-only");
    for kept in [&["reach-g1", "MANIFEST"][..], &["reach-g1"], &["reach.new"], &[]] {
        fs::create_dir(&*only).expect("it is made");
        for name in kept {
            let from = if *name == "reach.new" { "reach-g1" } else { name };
            fs::copy(directory.join(from), only.join(name)).expect("it is copied");
        }
        let server = start_with(&only, "fsync", "2");
        fill(&mut server.connect());
        kill(server);
        kill(expect_all(&only, "fsync", "2"));
        fs::remove_dir_all(&*only).expect("it is removed");
    }
}

#[test]
fn a_divided_store_needs_the_snapshots_that_it_began_with() {
    let directory = filled("divided", "fsync", stop);
    let manifest = fs::read(directory.join("MANIFEST")).expect("it is read");
    stop(expect_all(&directory, "fsync", "3"));
    assert!(!directory.join("reach-g1").exists());
    let snapshot = of_core(&directory, "g2/1", "snapshot-").pop().expect("a snapshot");
    let bytes = fs::read(&snapshot).expect("it is read");
    fs::remove_file(&snapshot).expect("it is removed");
    let said = refusal_with(&directory, "fsync", "3");
    assert!(said.contains("g2/1: there is no snapshot"), "{said}");
    assert!(!inspect(&directory).0);
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    fs::write(&snapshot, damaged).expect("it is written");
    let said = refusal_with(&directory, "fsync", "3");
    assert!(said.contains("g2/1: no snapshot can be used"), "{said}");
    fs::write(&snapshot, bytes).expect("it is written");
    // An old copy of the manifest must not make a start remove the present files.
    let newer = fs::read(directory.join("MANIFEST")).expect("it is read");
    fs::write(directory.join("MANIFEST"), manifest).expect("it is written");
    let said = refusal_with(&directory, "fsync", "2");
    assert!(said.contains("g1/0 is missing"), "{said}");
    fs::write(directory.join("MANIFEST"), newer).expect("it is written");
    stop(expect_all(&directory, "fsync", "3"));
}

#[test]
fn a_damaged_note_is_refused_and_may_be_removed() {
    let directory = filled("note", "fsync", stop);
    let note = directory.join("reach-g1");
    let whole = fs::read(&note).expect("it is read");
    // One copy is enough: a crash while one is written leaves the other.
    for copy in [0, 512] {
        let mut damaged = whole.clone();
        damaged[copy..copy + 512].fill(0);
        fs::write(&note, damaged).expect("it is written");
        assert!(inspect(&directory).0);
    }
    for damaged in [vec![0; whole.len()], whole[..1_024].to_vec(), vec![]] {
        fs::write(&note, damaged).expect("it is written");
        let said = refusal_with(&directory, "fsync", "2");
        assert!(said.contains("reach-g1: ") && said.contains("or remove it"), "{said}");
        assert!(!inspect(&directory).0);
    }
    fs::remove_file(&note).expect("it is removed");
    stop(expect_all(&directory, "fsync", "2"));
    assert_eq!(fs::read(&note).expect("it is made again").len(), whole.len());
}

#[test]
fn shutdown_with_save_stops_a_durable_server_with_everything_synced() {
    for mode in ["write", "fsync"] {
        let directory = place(&format!("save-{mode}"));
        let server = start(&directory, mode);
        fill(&mut server.connect());
        server.connect().send("SHUTDOWN SAVE\r\n");
        let (status, log) = server.wait();
        assert!(status.success(), "{log}");
        kill(expect_all(&directory, mode, "1"));
    }
}
