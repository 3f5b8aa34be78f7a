//! Whether two handfuls of runs differ: the rank test of Mann and Whitney (also Wilcoxon's rank
//! sum test), exact and two-sided. It asks nothing of how the figures are distributed, and with a
//! few runs it says honestly that they are too few.

use crate::figures::{median_index, range};

/// Above this probability a difference is taken for chance.
pub const CHANCE_MAX: f64 = 0.05;
/// Values on each side at most: the exact distribution of more takes too long.
pub const VALUES_MAX: usize = 100;

/// Comparison of two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// B as a multiple of A: the median over all pairs of a value of each.
    pub ratio: f64,
    /// The least of these.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// How probable a difference at least so great is when both are of one kind.
    pub chance: f64,
    /// The smallest chance that so few values can give.
    pub chance_min: f64,
}

impl Comparison {
    /// Compares values above zero; nothing where one side has none, or more than [`VALUES_MAX`].
    pub fn of(a: &[f64], b: &[f64]) -> Option<Comparison> {
        if a.len().max(b.len()) > VALUES_MAX || a.iter().chain(b).any(|value| *value <= 0.0) {
            return None;
        }
        let ratios: Vec<f64> =
            b.iter().flat_map(|own| a.iter().map(move |other| own / other)).collect();
        let ratio = ratios[median_index(&ratios)?];
        let (min, max) = range(&ratios);
        let apart: Vec<f64> = (0..a.len() + b.len()).map(|value| value as f64).collect();
        let (low, high) = apart.split_at(a.len());
        Some(Comparison { ratio, min, max, chance: chance(a, b), chance_min: chance(low, high) })
    }

    /// The difference is more than chance.
    pub fn is_significant(&self) -> bool {
        self.chance <= CHANCE_MAX
    }

    /// No difference could have been significant.
    pub fn has_too_few(&self) -> bool {
        self.chance_min > CHANCE_MAX
    }
}

/// The two-sided probability, over all ways to deal the values out to two sides of these sizes, of
/// a rank sum at least as far from its mean. Equal values share the mean of their ranks, so ties
/// are exact too.
fn chance(a: &[f64], b: &[f64]) -> f64 {
    let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
    all.sort_by(f64::total_cmp);
    // Twice the rank, so that a shared one is whole.
    let doubled = |value: f64| {
        let first = all.partition_point(|other| *other < value);
        let behind = all.partition_point(|other| *other <= value);
        first + behind + 1
    };
    let ranks: Vec<usize> = all.iter().map(|value| doubled(*value)).collect();
    let found: usize = a.iter().map(|value| doubled(*value)).sum();
    let most: usize = ranks.iter().rev().take(a.len()).sum();
    // ways[n][s]: in how many ways n of the values have the rank sum s.
    let mut ways = vec![vec![0.0_f64; most + 1]; a.len() + 1];
    ways[0][0] = 1.0;
    for rank in &ranks {
        for count in (1..=a.len()).rev() {
            let (fewer, own) = ways.split_at_mut(count);
            for (sum, ways) in own[0].iter_mut().enumerate().skip(*rank) {
                *ways += fewer[count - 1][sum - rank];
            }
        }
    }
    // The mean rank sum is n (N + 1) / 2; the ranks here are doubled.
    let mean = a.len() * (all.len() + 1);
    let total: f64 = ways[a.len()].iter().sum();
    let is_as_far = |sum: usize| sum.abs_diff(mean) >= found.abs_diff(mean);
    let far: f64 =
        ways[a.len()].iter().enumerate().filter(|(sum, _)| is_as_far(*sum)).map(|(_, w)| w).sum();
    far / total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-9
    }

    #[test]
    fn the_chance_is_that_of_the_tables() {
        // Complete separation: two of the C(n + m, n) ways are as far.
        assert!(near(chance(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 2.0 / 20.0));
        assert!(near(chance(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]), 2.0 / 70.0));
        assert!(near(chance(&[6.0, 7.0, 8.0, 9.0, 10.0], &[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 252.0));
        // R: wilcox.test(c(1, 2, 4, 7, 9), c(3, 5, 6, 8, 10))$p.value
        let chance_of_mixed = chance(&[1.0, 2.0, 4.0, 7.0, 9.0], &[3.0, 5.0, 6.0, 8.0, 10.0]);
        assert!(near(chance_of_mixed, 106.0 / 252.0), "{}", chance_of_mixed * 252.0);
    }

    #[test]
    fn equal_values_are_no_difference() {
        assert!(near(chance(&[5.0; 4], &[5.0; 4]), 1.0));
        // Ranks 1.5 1.5 | 3 4: one of the six ways is as low, one as high.
        assert!(near(chance(&[1.0, 1.0], &[2.0, 3.0]), 2.0 / 6.0));
    }

    #[test]
    fn three_runs_can_never_be_significant_and_four_can() {
        let three = Comparison::of(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]).unwrap();
        assert!(three.has_too_few() && !three.is_significant());
        let four = Comparison::of(&[1.0, 1.1, 1.2, 1.3], &[2.0, 2.1, 2.2, 2.3]).unwrap();
        assert!(!four.has_too_few() && four.is_significant());
        let mixed = Comparison::of(&[1.0, 1.1, 1.2, 1.3], &[1.05, 1.15, 1.25, 1.35]).unwrap();
        assert!(!mixed.has_too_few() && !mixed.is_significant());
    }

    #[test]
    fn a_ratio_is_over_all_pairs() {
        let found = Comparison::of(&[100.0, 200.0], &[200.0]).unwrap();
        assert_eq!((found.ratio, found.min, found.max), (1.0, 1.0, 2.0));
        assert_eq!(Comparison::of(&[], &[1.0]), None);
        assert_eq!(Comparison::of(&[0.0], &[1.0]), None);
        assert_eq!(Comparison::of(&[1.0; VALUES_MAX + 1], &[1.0]), None);
        let many: Vec<f64> = (1..=VALUES_MAX).map(|value| value as f64).collect();
        assert!(near(Comparison::of(&many, &many).unwrap().chance, 1.0));
    }
}
