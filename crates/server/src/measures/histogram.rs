//! A histogram of durations. Its bounds are powers of two, so that recording one takes a shift and two additions.

/// Number of bounds: 1,024 ns times two to the power of 0 to 20, the last one 1.07 s.
pub(crate) const BOUNDS: usize = 21;
/// The first bound is two to this power, ns.
const FIRST_POWER: u32 = 10;

/// Durations counted by one thread.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Counts up to each bound and above the one before; the last is above all bounds.
    buckets: [u64; BOUNDS + 1],
    sum_ns: u64,
}

impl Histogram {
    /// Counts one duration.
    #[inline]
    pub fn note(&mut self, duration_ns: u64) {
        self.note_each(duration_ns, 1);
    }

    /// Counts `count` durations of this length each.
    #[inline]
    pub fn note_each(&mut self, duration_ns: u64, count: u64) {
        self.buckets[place(duration_ns)] += count;
        self.sum_ns = self.sum_ns.wrapping_add(duration_ns.saturating_mul(count));
    }

    /// Counts `count` durations that took this long together: each counts with an equal share.
    #[inline]
    pub fn note_together(&mut self, duration_ns: u64, count: u32) {
        if count > 0 {
            self.buckets[place(duration_ns / u64::from(count))] += u64::from(count);
            self.sum_ns = self.sum_ns.wrapping_add(duration_ns);
        }
    }

    /// Adds another histogram.
    pub fn add(&mut self, other: &Histogram) {
        for (own, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += more;
        }
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
    }

    /// Returns each bound in seconds with the number of durations that are not above it. The last item has no bound and
    /// counts all.
    pub fn cumulative(&self) -> impl Iterator<Item = (Option<f64>, u64)> + '_ {
        let mut sum = 0;
        self.buckets.iter().enumerate().map(move |(place, count)| {
            sum += count;
            (bound_ns(place).map(|ns| ns as f64 / 1e9), sum)
        })
    }

    /// Returns the sum of all durations, seconds.
    pub fn sum_seconds(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }
}

/// Returns the upper bound of a bucket, ns; None for the last.
fn bound_ns(place: usize) -> Option<u64> {
    (place < BOUNDS).then(|| 1 << (FIRST_POWER as usize + place))
}

/// Returns the first bucket whose bound is not below the duration.
#[inline]
fn place(duration_ns: u64) -> usize {
    let power = u64::BITS - duration_ns.saturating_sub(1).leading_zeros();
    (power.saturating_sub(FIRST_POWER) as usize).min(BOUNDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_lies_in_the_first_bucket_that_is_not_below_it() {
        for ns in [0, 1, 1_023, 1_024, 1_025, 2_048, 2_049, 1 << 30, (1 << 30) + 1, u64::MAX] {
            let first = (0..=BOUNDS).find(|&at| bound_ns(at).is_none_or(|bound| ns <= bound));
            assert_eq!(Some(place(ns)), first, "{ns}");
        }
    }

    #[test]
    fn counts_add_up_and_shares_keep_the_sum() {
        let mut histogram = Histogram::default();
        histogram.note(1_000);
        histogram.note_each(3_000, 2);
        histogram.note_together(16_000, 4);
        histogram.note_together(5, 0);
        let shown: Vec<_> = histogram.cumulative().take(3).map(|(_, count)| count).collect();
        assert_eq!(shown, [1, 1, 7]);
        assert!((histogram.sum_seconds() - 23e-6).abs() < 1e-12);
        assert_eq!(histogram.cumulative().last(), Some((None, 7)));
    }
}
