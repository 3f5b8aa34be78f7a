//! How often each Result-Code was an answer, within a bound: a peer may answer with any number.

use scurry_diameter::ResultCode;
use smallvec::SmallVec;

/// Most codes that are counted apart.
const CODES_MAX: usize = 32;
/// Stands for the codes for which there is no room.
const OTHER: ResultCode = ResultCode(0);

/// Counts by Result-Code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeCounts(SmallVec<[(ResultCode, u64); 4]>);

impl CodeCounts {
    /// Returns each code with its count, in no order. Code 0 stands for all above the bound of 32.
    pub fn iter(&self) -> impl Iterator<Item = (ResultCode, u64)> {
        self.0.iter().copied()
    }

    /// Counts one more.
    pub fn note(&mut self, code: ResultCode) {
        self.add_one(code, 1);
    }

    /// Becomes equal to other counts, without an allocation if they were as many before.
    pub(crate) fn copy(&mut self, other: &CodeCounts) {
        self.0.clone_from(&other.0);
    }

    /// Adds other counts.
    pub(crate) fn add(&mut self, other: &CodeCounts) {
        other.iter().for_each(|(code, count)| self.add_one(code, count));
    }

    fn add_one(&mut self, code: ResultCode, count: u64) {
        let at = |code| self.0.iter().position(|(known, _)| *known == code);
        let has_room = self.0.len() < CODES_MAX;
        let at = at(code).or_else(|| if has_room { None } else { at(OTHER) });
        match at {
            Some(at) => self.0[at].1 += count,
            None => self.0.push((if has_room { code } else { OTHER }, count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_counted_apart_up_to_the_bound_and_together_above_it() {
        let mut counts = CodeCounts::default();
        for number in 0..100 {
            counts.note(ResultCode(2_001 + number));
            counts.note(ResultCode(2_001));
        }
        let mut twice = counts.clone();
        twice.add(&counts);
        let of = |counts: &CodeCounts, code| {
            counts.iter().find(|(known, _)| known.0 == code).map(|(_, count)| count)
        };
        assert_eq!((of(&counts, 2_001), of(&twice, 2_001)), (Some(101), Some(202)));
        assert_eq!((of(&counts, 2_032), of(&counts, 2_033)), (Some(1), None));
        assert_eq!((of(&counts, 0), of(&twice, 0)), (Some(68), Some(136)));
        assert_eq!(counts.iter().count(), CODES_MAX + 1);
    }
}
