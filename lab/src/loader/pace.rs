//! The schedule of an open loop: when each request is due, independent of the answers.

use super::nanos;

const PICOS: u64 = 1_000;

/// Schedule at a fixed number of requests per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendPace {
    begun: u64,
    /// Picoseconds from one request to the next, fine enough that no run can see the rate drift.
    period: u64,
    /// Requests sent so far.
    sent: u64,
}

impl SendPace {
    pub(super) fn new(rate: f64, begun: u64) -> SendPace {
        SendPace { begun, period: nanos(PICOS as f64 / rate).max(1), sent: 0 }
    }

    /// Returns when the request `ahead` positions after the next one is due.
    pub(super) fn time_of(&self, ahead: u64) -> u64 {
        self.begun + (self.sent + ahead) * self.period / PICOS
    }

    /// Returns how many requests are overdue, up to `most`.
    pub(super) fn due(&self, now: u64, most: usize) -> usize {
        let meant = now.saturating_sub(self.begun) * PICOS / self.period + 1;
        usize::try_from(meant.saturating_sub(self.sent)).unwrap_or(most).min(most)
    }

    pub(super) fn sent(&mut self, count: usize) {
        self.sent += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_fall_due_by_the_clock_and_those_that_wait_keep_their_time() {
        let mut pace = SendPace::new(1_000.0, 5_000_000);
        assert_eq!(pace.due(5_000_000, 9), 1);
        assert_eq!((pace.due(7_500_000, 9), pace.due(7_500_000, 2)), (3, 2));
        pace.sent(1);
        assert_eq!((pace.due(7_500_000, 9), pace.time_of(0)), (2, 6_000_000));
        pace.sent(2);
        assert_eq!((pace.due(7_500_000, 9), pace.time_of(0)), (0, 8_000_000));
        assert_eq!(pace.time_of(2), 10_000_000);
    }
}
