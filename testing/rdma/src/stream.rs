//! Data that the two sides of a connection exchange: requests of random lengths and unique
//! contents, so that a misplaced byte is detected.

use scurry_model::Random;

/// Length of the header of a request, which holds the length of the rest, bytes.
const HEAD_LEN: usize = 4;

/// Lengths of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Like charging requests: 20 to 300 bytes.
    Small,
    /// Up to 6,000 bytes.
    Mixed,
    /// Up to three windows.
    Large(usize),
    /// All of this length, including the header.
    Equal(usize),
}

/// A sequence of requests. Both sides create the same one from the same seed.
#[derive(Clone, Debug)]
pub struct Stream {
    random: Random,
    sizes: Sizes,
    left: usize,
    /// The next request; empty at the end.
    next: Vec<u8>,
    /// Bytes of the earlier requests.
    passed: u64,
}

impl Stream {
    /// Creates requests until they total `bytes` bytes.
    #[must_use]
    pub fn new(seed: u64, sizes: Sizes, bytes: usize) -> Stream {
        let random = Random::new(seed);
        let mut stream = Stream { random, sizes, left: bytes, next: Vec::new(), passed: 0 };
        stream.make();
        stream
    }

    /// Returns the next request; `None` at the end.
    #[must_use]
    pub fn next(&self) -> Option<&[u8]> {
        (!self.next.is_empty()).then_some(self.next.as_slice())
    }

    /// Moves on to the following request.
    pub fn pass(&mut self) {
        self.passed += self.next.len() as u64;
        self.make();
    }

    /// Returns the number of bytes in the requests so far.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Reports whether the bytes start with a whole request, judged by the header alone.
    #[must_use]
    pub fn is_whole(bytes: &[u8]) -> bool {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD_LEN>() else { return false };
        u32::from_le_bytes(*head) as usize <= rest.len()
    }

    fn make(&mut self) {
        self.next.clear();
        if self.left == 0 {
            return;
        }
        let len = match self.sizes {
            Sizes::Small => 20 + self.random.below(281),
            Sizes::Mixed => HEAD_LEN + self.random.below(6_000),
            Sizes::Large(window_len) => HEAD_LEN + self.random.below(3 * window_len),
            Sizes::Equal(len) => len.max(HEAD_LEN),
        };
        self.left = self.left.saturating_sub(len);
        let told = u32::try_from(len - HEAD_LEN).expect("requests are short");
        self.next.extend_from_slice(&told.to_le_bytes());
        while self.next.len() < len {
            let word = self.random.next_u64().to_le_bytes();
            let more = word.len().min(len - self.next.len());
            self.next.extend_from_slice(&word[..more]);
        }
    }
}
