//! Whether a core polls again for requests instead of going to sleep.

/// The expected pause between requests is a moving average over about this many.
const MEMORY: u64 = 8;

/// Decides whether to spin: only while the next request is expected sooner than sleeping would pay
/// off.
#[derive(Debug)]
pub(crate) struct Spin {
    most_ns: u64,
    last_ns: u64,
    /// Average pause between recent requests.
    pause_ns: u64,
}

impl Spin {
    /// Spins for at most `us_max` microseconds.
    pub(crate) fn new(us_max: u64) -> Spin {
        let most_ns = us_max.saturating_mul(1_000);
        Spin { most_ns, last_ns: 0, pause_ns: u64::MAX / (2 * MEMORY) }
    }

    /// Records that something arrived.
    pub(crate) fn record_arrival(&mut self, now_ns: u64) {
        // A pause counts as at most twice the spin time, so that one very long pause is forgotten
        // as fast as a short one.
        let pause_ns = now_ns.saturating_sub(self.last_ns).min(2 * self.most_ns);
        let before_ns = self.pause_ns.min(2 * self.most_ns);
        self.pause_ns = (before_ns * (MEMORY - 1) + pause_ns) / MEMORY;
        self.last_ns = now_ns;
    }

    /// Reports whether the core should poll again at once.
    pub(crate) fn should_spin(&self, now_ns: u64) -> bool {
        self.pause_ns < self.most_ns && now_ns.saturating_sub(self.last_ns) < self.most_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_spins_while_requests_come_fast_and_not_for_longer_than_it_may() {
        let mut spin = Spin::new(50);
        let mut now_ns = 1_000_000;
        assert!(!spin.should_spin(now_ns));
        for _ in 0..20 {
            now_ns += 5_000;
            spin.record_arrival(now_ns);
        }
        assert!(spin.should_spin(now_ns + 49_999));
        assert!(!spin.should_spin(now_ns + 50_000));
        // Two rare requests do not stop the spinning, but a dozen do.
        for number in 0..12 {
            now_ns += 10_000_000;
            spin.record_arrival(now_ns);
            assert!(number > 1 || spin.should_spin(now_ns), "{number}");
        }
        assert!(!spin.should_spin(now_ns));
    }

    #[test]
    fn without_time_it_never_spins() {
        let mut spin = Spin::new(0);
        for now_ns in 1..100 {
            spin.record_arrival(now_ns);
            assert!(!spin.should_spin(now_ns));
        }
    }
}
