//! How long to wait for an NRF that does not answer.

use std::time::Duration;

/// Longest delay, s.
const SECONDS_MAX: u32 = 60;

/// Returns the delay before the next attempt after `failures` rounds without an answer: 1 s, twice as much each time, 60 s
/// at most, less a random part of up to a half, so that many clients do not call at the same moment. `second` is 1 s,
/// and less in tests.
pub(crate) fn delay(failures: u32, random: u64, second: Duration) -> Duration {
    let doublings = failures.saturating_sub(1).min(SECONDS_MAX.ilog2() + 1);
    let whole = second * SECONDS_MAX.min(1 << doublings);
    let permille = u32::try_from(random % 501).unwrap_or_default();
    whole * (1_000 - permille) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_up_to_a_minute() {
        let longest = |failures| delay(failures, 0, Duration::from_secs(1)).as_secs();
        let delays: Vec<u64> = (0..9).map(longest).collect();
        assert_eq!(delays, [1, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(longest(u32::MAX), 60);
    }

    #[test]
    fn a_random_part_of_up_to_a_half_is_left_out() {
        let second = Duration::from_secs(1);
        assert_eq!(delay(1, 500, second).as_millis(), 500);
        assert_eq!(delay(1, 501, second).as_millis(), 1_000);
        assert_eq!(delay(7, 500, second).as_millis(), 30_000);
        for random in [0, 1, 250, 499, 500, u64::MAX] {
            let ms = delay(3, random, second).as_millis();
            assert!((2_000..=4_000).contains(&ms), "{random}: {ms}");
        }
    }
}
