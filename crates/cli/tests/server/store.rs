//! The store of the real binary and its failures: each gives an error that says what to do, or behaves as documented.

mod amplified;
mod damage;
mod erased;
mod failed;
mod full;
mod missing;
mod refusals;
mod removed;
mod restarts;

pub(crate) use restarts::{Directory, wait_for_snapshots};

use crate::support::Server;
use nix::sys::signal::Signal;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Error for a command once the log of its keys has failed.
const MISCONF: &str = "-MISCONF the log has failed";

/// Directory of a store, possibly with hundreds of megabytes, removed at the end.
struct Place(PathBuf);

impl Deref for Place {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // It may never have been created.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes a directory that a server may still be writing to.
fn remove_all(directory: &Path) {
    while directory.exists() {
        // Files created meanwhile are removed by the next attempt.
        let _ = std::fs::remove_dir_all(directory);
    }
}

/// Returns an empty place for a store.
fn place(name: &str) -> Place {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("store").join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path).expect("what an earlier run left is removed");
    }
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("it is made");
    Place(path)
}

/// Returns `scurry serve` on this store, after words that come before the command line.
fn under(words: &[&str], directory: &Path, mode: &str) -> Command {
    let binary = env!("CARGO_BIN_EXE_scurry");
    let all = words.iter().copied().chain([binary, "serve", "--listen", "127.0.0.1:0"]);
    let all: Vec<&str> = all.collect();
    let mut command = Command::new(all[0]);
    command.args(&all[1..]).args(["--durability", mode, "--dir"]).arg(directory);
    command.env_remove("SCURRY_REQUIREPASS").stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

fn start(directory: &Path, mode: &str) -> Server {
    Server::run(&mut under(&[], directory, mode))
}

/// Kills a server, as a crash does.
pub(crate) fn kill(server: Server) {
    server.signal(Signal::SIGKILL);
    server.wait();
}

/// Returns the output of a server that does not start.
fn refusal(command: &mut Command) -> String {
    let mut server = command.spawn().expect("it is run");
    let mut said = String::new();
    for line in BufReader::new(server.stderr.take().expect("it is piped")).lines() {
        said += &line.expect("it is text");
        said.push('\n');
        // It would run for ever.
        if said.contains("listening on") {
            server.kill().expect("it runs");
        }
    }
    let status = server.wait().expect("it ends");
    assert_eq!(status.code(), Some(1), "it should end with an error: {said}");
    said
}

/// Returns every file of a store with its bytes.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).expect("it is listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push((path.clone(), std::fs::read(&path).expect("it is read")));
        }
    }
    files.sort();
    files
}

/// Returns the only segment in the log of a server with one thread.
fn segment(directory: &Path) -> PathBuf {
    let is_segment = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| name.starts_with("log-"))
    };
    let mut segments: Vec<PathBuf> =
        files(directory).into_iter().map(|(path, _)| path).filter(is_segment).collect();
    assert_eq!(segments.len(), 1, "{segments:?}");
    segments.remove(0)
}

/// Computes crc32c: docs/formats/log.md.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 }
        })
    })
}

#[test]
fn the_checksum_is_that_of_the_formats() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}
