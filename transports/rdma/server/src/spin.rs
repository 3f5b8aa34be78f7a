//! Whether a core looks again for requests instead of going to sleep.

/// The pause between requests is taken for the mean of about so many.
const MEMORY: u64 = 8;

/// Spins while requests come so fast that the next is expected before sleeping would have paid.
#[derive(Debug)]
pub(crate) struct Spin {
    most_ns: u64,
    last_ns: u64,
    /// Between requests, lately.
    pause_ns: u64,
}

impl Spin {
    /// For so long at most.
    pub(crate) fn new(us_max: u64) -> Spin {
        let most_ns = us_max.saturating_mul(1_000);
        Spin { most_ns, last_ns: 0, pause_ns: u64::MAX / (2 * MEMORY) }
    }

    /// Something has come.
    pub(crate) fn came(&mut self, now_ns: u64) {
        // One long pause is as good as any: it is forgotten as fast.
        let pause_ns = now_ns.saturating_sub(self.last_ns).min(2 * self.most_ns);
        let before_ns = self.pause_ns.min(2 * self.most_ns);
        self.pause_ns = (before_ns * (MEMORY - 1) + pause_ns) / MEMORY;
        self.last_ns = now_ns;
    }

    /// True when the core should look again at once.
    pub(crate) fn is_worth_it(&self, now_ns: u64) -> bool {
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
        assert!(!spin.is_worth_it(now_ns));
        for _ in 0..20 {
            now_ns += 5_000;
            spin.came(now_ns);
        }
        assert!(spin.is_worth_it(now_ns + 49_999));
        assert!(!spin.is_worth_it(now_ns + 50_000));
        // Two seldom ones do not end it, but a dozen do.
        for number in 0..12 {
            now_ns += 10_000_000;
            spin.came(now_ns);
            assert!(number > 1 || spin.is_worth_it(now_ns), "{number}");
        }
        assert!(!spin.is_worth_it(now_ns));
    }

    #[test]
    fn without_time_it_never_spins() {
        let mut spin = Spin::new(0);
        for now_ns in 1..100 {
            spin.came(now_ns);
            assert!(!spin.is_worth_it(now_ns));
        }
    }
}
