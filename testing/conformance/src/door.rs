//! Doors: ways in which a command reaches the ledger. Every script gives the same replies
//! through each of them.

pub(crate) mod engine;
pub(crate) mod library;
pub(crate) mod node;
pub(crate) mod server;

use crate::Script;
use anyhow::Result;
use scurry_ledger::Time;
use scurry_resp::Protocol;

/// A way in.
pub trait Door {
    /// As `doors` lines and reports call it.
    fn name(&self) -> &'static str;

    /// False for scripts that this door cannot run.
    fn takes(&self, script: &Script) -> bool;

    /// An empty store under the script's limits, spoken to in this protocol.
    fn open(&self, script: &Script, protocol: Protocol) -> Result<Box<dyn Visit>>;
}

/// One script's use of a door.
pub trait Visit {
    /// Sends a command at a time, and returns the bytes of its reply. An error is a broken
    /// invariant, not a refusal.
    fn send(&mut self, now: Time, words: &[Vec<u8>]) -> Result<Vec<u8>>;

    /// Runs timers at a time; how many accounts changed.
    fn tick(&mut self, now: Time) -> Result<usize>;
}

/// True when the script goes through all doors or names this one.
fn is_named(script: &Script, door: &str) -> bool {
    script.doors.is_empty() || script.doors.iter().any(|name| name == door)
}

/// A request in RESP.
pub(crate) fn request(words: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
