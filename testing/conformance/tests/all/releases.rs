//! Stores that releases before have written: the present version opens them, remembers what they
//! remember, goes on, is killed, and still knows both. What the files are is in releases/*/README.md.

use scurry_conformance::{Door, NodeDoor, Script, ServerDoor, run};
use scurry_resp::Protocol;
use std::fs;
use std::path::{Path, PathBuf};

/// Length of a segment of the log, and of the file that says how far a log had come, bytes.
const SEGMENT_LEN: u64 = 64 << 20;
const REACH_LEN: u64 = 1024;

fn release(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("releases/0.1").join(name)
}

/// A directory of a test's own, removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let name = format!("scurry-release-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // What an earlier run has left, if it has.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a directory");
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies a store, with the zeros at the ends of its files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("it is there") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let copied = to.join(name);
        if path.is_dir() {
            copy(&path, &copied);
            continue;
        }
        fs::copy(&path, &copied).expect("a copy");
        let len = match name {
            name if name.starts_with("log-") => SEGMENT_LEN,
            name if name.starts_with("reach-") => REACH_LEN,
            _ => continue,
        };
        let file = fs::File::options().write(true).open(&copied).expect("it is open");
        file.set_len(len).expect("it is as long as it was");
    }
}

/// Runs a script of the release through a door.
fn through(door: &dyn Door, script: &str, protocol: Protocol) {
    through_with(door, script, "", protocol);
}

/// The same with more lines at its end.
fn through_with(door: &dyn Door, script: &str, end: &str, protocol: Protocol) {
    let text = fs::read_to_string(release(script)).expect("a script");
    let script = Script::parse(script, &(text + end)).expect("the language");
    let outcome = run(door, &script, protocol).expect("the store opens and answers");
    let differ: Vec<String> = outcome.mismatches.iter().map(ToString::to_string).collect();
    assert!(differ.is_empty(), "{} results differ:\n{}", differ.len(), differ.join("\n"));
    assert!(outcome.events > 5);
}

/// Each script ends with a kill.
fn server_opens(name: &str) {
    let directory = Directory::new(name);
    copy(&release(name), &directory.0);
    let door = ServerDoor::find().expect("a scurry binary").on(&directory.0);
    for protocol in [Protocol::Resp3, Protocol::Resp2] {
        through(&door, "asked.scn", protocol);
    }
    through(&door, "then.scn", Protocol::Resp3);
    for protocol in [Protocol::Resp3, Protocol::Resp2] {
        through(&door, "afterwards.scn", protocol);
    }
}

#[test]
fn a_log_of_release_0_1_is_opened_and_gone_on_with() {
    server_opens("log");
}

#[test]
fn a_snapshot_and_a_log_of_release_0_1_are_opened_and_gone_on_with() {
    server_opens("snapshot");
}

#[test]
fn a_file_of_valkey_with_the_module_of_release_0_1_is_loaded_and_gone_on_with() {
    let directory = Directory::new("rdb");
    fs::copy(release("dump.rdb"), directory.0.join("dump.rdb")).expect("a copy");
    let door = NodeDoor::find("valkey").expect("libscurry.so").on(&directory.0);
    for protocol in [Protocol::Resp3, Protocol::Resp2] {
        through(&door, "asked.scn", protocol);
    }
    // The file is this version's from here on.
    through_with(&door, "then.scn", "SAVE => OK\n", Protocol::Resp3);
    for protocol in [Protocol::Resp3, Protocol::Resp2] {
        through(&door, "afterwards.scn", protocol);
    }
}
