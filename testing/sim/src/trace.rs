//! The trace of a run: a hash of all events, and the last lines for people.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const KEPT: usize = 160;

/// The events of a run. A clone shares the same trace.
#[derive(Clone, Debug, Default)]
pub struct Trace(Arc<Mutex<Lines>>);

#[derive(Debug, Default)]
struct Lines {
    hash: u64,
    count: u64,
    tail: VecDeque<String>,
}

impl Trace {
    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, line: String) {
        let lines = &mut *self.lock();
        for &byte in line.as_bytes().iter().chain(b"\n") {
            lines.hash = (lines.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        lines.count += 1;
        if lines.tail.len() == KEPT {
            lines.tail.pop_front();
        }
        lines.tail.push_back(line);
    }

    /// Returns a hash of all lines: equal for equal runs.
    pub fn hash(&self) -> u64 {
        let lines = self.lock();
        lines.hash ^ lines.count
    }

    /// Returns the number of lines so far.
    pub fn lines(&self) -> u64 {
        self.lock().count
    }

    /// Returns the last lines, at most 160.
    pub fn tail(&self) -> String {
        self.lock().tail.iter().map(|line| format!("  {line}\n")).collect()
    }
}
