//! A small seeded generator: a run is repeatable from its seed, and a draw costs a few instructions. SplitMix64
//! (Steele, Lea, Flood 2014).

/// SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Creates a generator that gives the same draws for the same seed.
    pub fn seeded(seed: u64) -> Random {
        Random { state: seed }
    }

    /// Returns 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a uniform number in `0..bound`; 0 when `bound` is 0. The bias of the multiplication is below `bound /
    /// 2^32`, which no load can see.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        let product = (self.next_u64() >> 32) * u64::from(bound);
        u32::try_from(product >> 32).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_published_sequence_of_seed_zero() {
        let mut random = Random::seeded(0);
        assert_eq!(random.next_u64(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.next_u64(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn draws_stay_below_the_bound_and_reach_all_of_it() {
        let mut random = Random::seeded(7);
        let mut seen = [false; 10];
        for _ in 0..1_000 {
            seen[random.below(10) as usize] = true;
        }
        assert_eq!(seen, [true; 10]);
        assert_eq!(random.below(0), 0);
    }
}
