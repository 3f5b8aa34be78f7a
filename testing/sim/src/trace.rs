//! What has happened: a hash of all of it, and the last lines for people.

use std::collections::VecDeque;

const KEPT: usize = 80;

/// The events of a run.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    hash: u64,
    lines: u64,
    tail: VecDeque<String>,
}

impl Trace {
    pub(crate) fn add(&mut self, line: String) {
        for &byte in line.as_bytes().iter().chain(b"\n") {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self.lines += 1;
        if self.tail.len() == KEPT {
            self.tail.pop_front();
        }
        self.tail.push_back(line);
    }

    /// Equal for equal runs.
    pub fn hash(&self) -> u64 {
        self.hash ^ self.lines
    }

    /// How many lines there were.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The last lines.
    pub fn tail(&self) -> String {
        self.tail.iter().map(|line| format!("  {line}\n")).collect()
    }
}
