//! A plain value that soon expires, also while no server runs.

use super::{InDoubt, ReplyTimes, Subject};
use crate::clock::wall_ms;
use crate::wire::{RequestWords, words};
use anyhow::{Result, bail, ensure};
use scurry_conformance::Value;
use scurry_model::Random;

/// Tolerance between the server's clock and ours, ms.
const SLACK_MS: i64 = 600;

/// A write: its bytes, its lifetime, and the times between which it was executed, ms.
#[derive(Clone, Debug)]
struct TimedWrite {
    bytes: String,
    life_ms: i64,
    sent_ms: i64,
    replied_ms: Option<i64>,
}

impl TimedWrite {
    /// Returns the time until which the value must exist.
    fn at_least_ms(&self) -> i64 {
        self.sent_ms + self.life_ms - SLACK_MS
    }

    /// Returns the time until which the value may exist. A write without a reply was executed before the crash, if at
    /// all.
    fn at_most_ms(&self, asked: ReplyTimes) -> i64 {
        self.replied_ms.unwrap_or(asked.to_ms) + self.life_ms + SLACK_MS
    }
}

/// The key and its recent writes.
pub(crate) struct ExpiringValue {
    key: String,
    /// The last acknowledged write, and those without a reply.
    puts: Vec<TimedWrite>,
    serial: u64,
}

impl ExpiringValue {
    pub(crate) fn new(key: String) -> ExpiringValue {
        ExpiringValue { key, puts: Vec::new(), serial: 0 }
    }
}

impl Subject for ExpiringValue {
    fn key(&self) -> &str {
        &self.key
    }

    fn next(&mut self, random: &mut Random) -> RequestWords {
        self.serial += 1;
        let (bytes, life_ms) = (format!("f{}", self.serial), random.between(20, 2_500));
        let words = words(&format!("SET {} {bytes} PX {life_ms}", self.key));
        self.puts.push(TimedWrite { bytes, life_ms, sent_ms: wall_ms(), replied_ms: None });
        words
    }

    fn replied(&mut self, reply: &Value) -> Result<()> {
        ensure!(*reply == Value::Word(b"OK".to_vec()), "SET is answered {reply}");
        let oldest = self.puts.iter().position(|put| put.replied_ms.is_none());
        let Some(at) = oldest else { bail!("nothing was asked") };
        self.puts[at].replied_ms = Some(wall_ms());
        self.puts.drain(..at);
        Ok(())
    }

    fn state_requests(&self) -> Vec<RequestWords> {
        vec![words(&format!("GET {}", self.key))]
    }

    fn check_state(&mut self, replies: &[Value], asked: ReplyTimes) -> Result<InDoubt> {
        let [get] = replies else { bail!("no replies") };
        let open = self.puts.iter().filter(|put| put.replied_ms.is_none()).count();
        let is_known = self.puts.iter().any(|put| put.replied_ms.is_some());
        let shown =
            |put: &&TimedWrite| matches!(get, Value::Word(bytes) if put.bytes.as_bytes() == bytes);
        let there =
            self.puts.iter().find(shown).filter(|put| put.at_most_ms(asked) >= asked.from_ms);
        let right = match get {
            // The value may be gone if any write that may have been the last has expired.
            Value::Nil => !is_known || self.puts.iter().any(|put| put.at_least_ms() <= asked.to_ms),
            _ => there.is_some(),
        };
        ensure!(right, "it holds {get} at {asked:?}, and was {:?}", self.puts);
        let replied_ms = Some(asked.to_ms);
        self.puts = there.map(|put| TimedWrite { replied_ms, ..put.clone() }).into_iter().collect();
        Ok(InDoubt { requests: open, applied: 0 })
    }

    fn repeat_requests(&mut self, _: &mut Random) -> Vec<RequestWords> {
        Vec::new()
    }
}
