//! Which account a session uses.

use crate::random::Random;
use crate::scenario::{AccountChoice, Live};

const PER_MILLE: u32 = 1_000;

/// Distribution over numbered accounts.
#[derive(Clone, Debug)]
pub(super) enum Pick {
    Uniform {
        count: u32,
    },
    /// Cumulative share of the first n accounts, ascending to 1.
    Zipf {
        shares: Vec<f64>,
    },
    /// Account 0 in `per_mille` of 1,000 draws, any account in the others.
    Hot {
        count: u32,
        per_mille: u32,
    },
}

impl Pick {
    pub(super) fn new(plan: &Live, count: u32) -> Pick {
        match plan.accounts {
            AccountChoice::Uniform => Pick::Uniform { count },
            AccountChoice::Hot => Pick::Hot { count, per_mille: plan.hot_per_mille },
            AccountChoice::Zipf => {
                let mut sum = 0.0;
                let mut shares: Vec<f64> = (1..=count)
                    .map(|rank| {
                        sum += f64::from(rank).powf(-plan.zipf_exponent);
                        sum
                    })
                    .collect();
                shares.iter_mut().for_each(|share| *share /= sum);
                Pick::Zipf { shares }
            }
        }
    }

    /// Draws the next account.
    pub(super) fn draw(&self, random: &mut Random) -> u32 {
        match self {
            Pick::Uniform { count } => random.below(*count),
            Pick::Hot { count, per_mille } => {
                if random.below(PER_MILLE) < *per_mille {
                    0
                } else {
                    random.below(*count)
                }
            }
            Pick::Zipf { shares } => {
                // A draw has 53 bits, as many as the fraction of an f64.
                let draw = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                let rank = shares.partition_point(|share| *share <= draw);
                u32::try_from(rank.min(shares.len() - 1)).unwrap_or(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn counts(accounts: AccountChoice) -> Vec<u32> {
        let mut plan = Scenario::built_in("charging-live").unwrap().live.unwrap();
        (plan.accounts, plan.zipf_exponent, plan.hot_per_mille) = (accounts, 1.0, 500);
        let pick = Pick::new(&plan, 4);
        let mut random = Random::seeded(1);
        let mut counts = vec![0; 4];
        (0..24_000).for_each(|_| counts[pick.draw(&mut random) as usize] += 1);
        counts
    }

    fn near(found: &[u32], expected: [u32; 4]) -> bool {
        found.iter().zip(expected).all(|(found, expected)| found.abs_diff(expected) < 500)
    }

    #[test]
    fn draws_follow_their_distribution() {
        let uniform = counts(AccountChoice::Uniform);
        assert!(near(&uniform, [6_000; 4]), "{uniform:?}");
        // 1, 1/2, 1/3 and 1/4, divided by their sum, 25/12.
        let zipf = counts(AccountChoice::Zipf);
        assert!(near(&zipf, [11_520, 5_760, 3_840, 2_880]), "{zipf:?}");
        let hot = counts(AccountChoice::Hot);
        assert!(near(&hot, [15_000, 3_000, 3_000, 3_000]), "{hot:?}");
    }
}
