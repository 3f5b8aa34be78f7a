//! The clock of an open loop: when each request is meant to be sent, whatever the answers do.

use super::nanos;

const PICOS: u64 = 1_000;

/// A schedule of so many requests per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    begun: u64,
    /// Picoseconds from one request to the next: no rate drifts that a run can tell.
    period: u64,
    /// Requests that were sent.
    sent: u64,
}

impl Pace {
    pub(super) fn new(rate: f64, begun: u64) -> Pace {
        Pace { begun, period: nanos(PICOS as f64 / rate).max(1), sent: 0 }
    }

    /// When the request after `ahead` more is meant to be sent.
    pub(super) fn time_of(&self, ahead: u64) -> u64 {
        self.begun + (self.sent + ahead) * self.period / PICOS
    }

    /// Requests that should have been sent by now and were not, up to `most`.
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
        let mut pace = Pace::new(1_000.0, 5_000_000);
        assert_eq!(pace.due(5_000_000, 9), 1);
        assert_eq!((pace.due(7_500_000, 9), pace.due(7_500_000, 2)), (3, 2));
        pace.sent(1);
        assert_eq!((pace.due(7_500_000, 9), pace.time_of(0)), (2, 6_000_000));
        pace.sent(2);
        assert_eq!((pace.due(7_500_000, 9), pace.time_of(0)), (0, 8_000_000));
        assert_eq!(pace.time_of(2), 10_000_000);
    }
}
