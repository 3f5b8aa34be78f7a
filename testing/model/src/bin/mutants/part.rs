//! A part of the mutants.

use anyhow::{Context, Error, Result, ensure};
use std::str::FromStr;

/// The K-th of N parts, K from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    number: usize,
    of: usize,
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(text: &str) -> Result<Part> {
        let (number, of) = text.split_once('/').with_context(|| format!("{text} is not K/N"))?;
        let part = Part { number: number.parse()?, of: of.parse()? };
        ensure!((1..=part.of).contains(&part.number), "{text}: K is from 1 to N");
        Ok(part)
    }
}

impl Part {
    /// The groups of these that are in this part, in their order. Each group is in one of the parts; the
    /// largest are dealt out first, each to the part that has the fewest mutants.
    pub(crate) fn of<T>(self, groups: Vec<Vec<T>>) -> Vec<Vec<T>> {
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(groups[index].len()));
        let mut sizes = vec![0; self.of];
        let mut mine = vec![false; groups.len()];
        for index in order {
            let part = (0..self.of).min_by_key(|&part| sizes[part]).unwrap_or(0);
            sizes[part] += groups[index].len();
            mine[index] = part + 1 == self.number;
        }
        let chosen = groups.into_iter().zip(mine).filter(|(_, mine)| *mine);
        chosen.map(|(group, _)| group).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_in_one_part_and_the_parts_are_alike() {
        let groups = || -> Vec<Vec<usize>> { (0..40).map(|size| vec![size; size + 1]).collect() };
        let parts: Vec<Vec<Vec<usize>>> =
            (1..=4).map(|number| Part { number, of: 4 }.of(groups())).collect();
        let mut all: Vec<Vec<usize>> = parts.concat();
        all.sort();
        assert_eq!(all, groups());
        let sizes: Vec<usize> = parts.iter().map(|part| part.concat().len()).collect();
        assert!(sizes.iter().all(|size| (200..=210).contains(size)), "{sizes:?}");
    }

    #[test]
    fn a_part_is_told_from_nonsense() {
        assert_eq!("2/4".parse::<Part>().unwrap(), Part { number: 2, of: 4 });
        for nonsense in ["0/4", "5/4", "4", "1/0", "a/b", ""] {
            assert!(nonsense.parse::<Part>().is_err(), "{nonsense}");
        }
    }
}
