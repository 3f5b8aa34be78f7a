//! What a run has sent and got, counted by all of its connections.

use crate::frame::{Frame, code_name, name};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts of a run.
#[derive(Default)]
pub(crate) struct Counts(Mutex<Counted>);

/// The same, to be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) connections: u64,
    pub(crate) streams: u64,
    /// Answers that were received whole.
    pub(crate) answers: u64,
    /// Frames that were sent, by type.
    pub(crate) frames: BTreeMap<&'static str, u64>,
    /// GOAWAY, by code.
    pub(crate) goaways: BTreeMap<&'static str, u64>,
    /// RST_STREAM, by code.
    pub(crate) resets: BTreeMap<&'static str, u64>,
    /// How connections ended.
    pub(crate) ends: BTreeMap<&'static str, u64>,
    /// What connections did, by kind.
    pub(crate) steps: BTreeMap<&'static str, u64>,
}

impl Counts {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read(&self) -> Counted {
        self.counted().clone()
    }

    pub(crate) fn connection(&self) {
        self.counted().connections += 1;
    }

    pub(crate) fn stream(&self) {
        self.counted().streams += 1;
    }

    pub(crate) fn answer(&self) {
        self.counted().answers += 1;
    }

    pub(crate) fn sent(&self, frames: &[Frame]) {
        let mut counted = self.counted();
        for frame in frames {
            *counted.frames.entry(name(frame.kind)).or_default() += 1;
        }
    }

    pub(crate) fn goaway(&self, code: u32) {
        *self.counted().goaways.entry(code_name(code)).or_default() += 1;
    }

    pub(crate) fn reset(&self, code: u32) {
        *self.counted().resets.entry(code_name(code)).or_default() += 1;
    }

    pub(crate) fn end(&self, how: &'static str) {
        *self.counted().ends.entry(how).or_default() += 1;
    }

    pub(crate) fn step(&self, kind: &'static str) {
        *self.counted().steps.entry(kind).or_default() += 1;
    }
}
