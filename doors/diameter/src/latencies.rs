//! How long answers took, in buckets of powers of two.

/// Number of buckets: the last is for all above 2^23 µs, which are 8 s.
pub const LATENCY_BUCKETS: usize = 25;

/// A histogram of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Bucket `i` counts durations of at most 2^i µs that the one before does not count; the last counts all others.
    pub buckets: [u64; LATENCY_BUCKETS],
    /// Sum of all durations, µs.
    pub sum_us: u64,
}

impl Latencies {
    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    pub(crate) fn note(&mut self, duration_us: u64) {
        let at = match duration_us {
            0 | 1 => 0,
            more => (more - 1).ilog2() as usize + 1,
        };
        self.buckets[at.min(LATENCY_BUCKETS - 1)] += 1;
        self.sum_us = self.sum_us.saturating_add(duration_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_includes_its_bound() {
        for (duration_us, at) in [
            (0, 0),
            (1, 0),
            (2, 1),
            (3, 2),
            (4, 2),
            (5, 3),
            (1 << 23, 23),
            ((1 << 23) + 1, 24),
            (u64::MAX, 24),
        ] {
            let mut latencies = Latencies::default();
            latencies.note(duration_us);
            assert_eq!(latencies.buckets.iter().position(|count| *count == 1), Some(at));
            assert_eq!((latencies.count(), latencies.sum_us), (1, duration_us));
        }
    }
}
