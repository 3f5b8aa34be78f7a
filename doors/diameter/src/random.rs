//! Random numbers for identifiers and for the jitter of watchdogs: splitmix64, begun with random bits of the system.
//! They protect nothing.

use std::sync::atomic::{AtomicU64, Ordering};

/// Greatest jitter, ms: RFC 3539, 3.4.1.
const JITTER_MS_MAX: u64 = 2_000;

/// Source of random numbers.
#[derive(Debug)]
pub(crate) struct Random(AtomicU64);

impl Random {
    pub(crate) fn new() -> Result<Random, getrandom::Error> {
        getrandom::u64().map(|seed| Random(AtomicU64::new(seed)))
    }

    pub(crate) fn bits(&self) -> u64 {
        let step = 0x9e37_79b9_7f4a_7c15;
        let mut bits = self.0.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// Returns a jitter, ms: from -2,000 to 2,000.
    pub(crate) fn jitter_ms(&self) -> i64 {
        let above = self.bits() % (2 * JITTER_MS_MAX + 1);
        i64::try_from(above).unwrap_or_default() - i64::try_from(JITTER_MS_MAX).unwrap_or_default()
    }
}
