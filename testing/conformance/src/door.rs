//! Doors: ways in which a command reaches the ledger. Every script gets the same replies through each door.

pub(crate) mod engine;
mod front;
pub(crate) mod library;
pub(crate) mod node;
pub(crate) mod server;

use crate::Script;
use anyhow::Result;
use scurry_ledger::Time;
use scurry_resp::Protocol;

/// A way for commands to reach the ledger.
pub trait Door {
    /// Returns the name used in `doors` lines and in reports.
    fn name(&self) -> &'static str;

    /// Reports whether this door can run a script.
    fn takes(&self, script: &Script) -> bool;

    /// Opens an empty store with the script's limits, to be used in this protocol.
    fn open(&self, script: &Script, protocol: Protocol) -> Result<Box<dyn ScriptStore>>;
}

/// A store opened for one script.
pub trait ScriptStore {
    /// Sends a command at a given time and returns the bytes of its reply. An error means a broken invariant, not a
    /// refusal.
    fn send(&mut self, now: Time, words: &[Vec<u8>]) -> Result<Vec<u8>>;

    /// Runs timers at a given time. Returns how many accounts changed.
    fn tick(&mut self, now: Time) -> Result<usize>;
}

/// Reports whether the script runs through all doors or names this one.
fn is_named(script: &Script, door: &str) -> bool {
    script.doors.is_empty() || script.doors.iter().any(|name| name == door)
}

/// Encodes a request in RESP.
pub(crate) fn request(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
