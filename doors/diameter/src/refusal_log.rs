//! A log of refused connections that cannot flood: at most one line a second for each reason, with the number of
//! refusals that had no line.

use crate::clock::utc_ms;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How long a reason has no other line, ms.
const QUIET_MS: u64 = 1_000;

/// When each reason had its last line. Reasons are texts of this program, so they are few.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(Mutex<BTreeMap<&'static str, LastLine>>);

#[derive(Debug)]
struct LastLine {
    at_ms: u64,
    /// Refusals since then.
    untold: u64,
}

impl RefusalLog {
    /// Counts a refusal. Returns how many had no line since the last line; None if this one has none either.
    pub(crate) fn note(&self, reason: &'static str) -> Option<u64> {
        self.note_at(reason, utc_ms())
    }

    fn note_at(&self, reason: &'static str, now_ms: u64) -> Option<u64> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.get_mut(reason) {
            // The wall clock may have been set back.
            Some(last) if now_ms.abs_diff(last.at_ms) < QUIET_MS => {
                last.untold += 1;
                None
            }
            last => {
                let untold = last.map_or(0, |last| last.untold);
                lines.insert(reason, LastLine { at_ms: now_ms, untold: 0 });
                Some(untold)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_one_line_a_second() {
        let log = RefusalLog::default();
        assert_eq!(log.note_at("a", 5_000), Some(0));
        for now_ms in 5_001..6_000 {
            assert_eq!(log.note_at("a", now_ms), None);
        }
        assert_eq!(log.note_at("b", 5_000), Some(0), "each reason has its own lines");
        assert_eq!(log.note_at("a", 6_000), Some(999));
        assert_eq!(log.note_at("a", 6_500), None);
        assert_eq!(log.note_at("a", 1_000), Some(1), "the clock was set back");
        assert_eq!(log.note_at("a", 2_000), Some(0));
    }
}
