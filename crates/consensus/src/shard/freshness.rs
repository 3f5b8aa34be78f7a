//! How old is what a follower shows. The leader tells the others regularly up to which sequence it has committed. What a
//! follower shows is as old as the last such word of which it has applied everything.

use crate::replica::Sequence;
use std::collections::VecDeque;

/// Most words of the leader that are remembered while the follower lags.
const WORDS_MAX: usize = 256;

/// The age of a follower's memory.
#[derive(Debug, Default)]
pub(crate) struct Freshness {
    /// Ticks of this node.
    ticks: u64,
    /// What the leader had committed, and when that arrived, the oldest first.
    words: VecDeque<(Sequence, u64)>,
    /// When the last word of which everything is applied has arrived.
    fresh: Option<u64>,
}

impl Freshness {
    /// Advances time by a tick, at which everything up to a sequence is applied.
    pub(crate) fn tick(&mut self, applied: Sequence) {
        self.ticks += 1;
        while let Some((_, at)) = self.words.pop_front_if(|(committed, _)| *committed <= applied) {
            self.fresh = Some(at);
        }
    }

    /// Takes a word of the leader.
    pub(crate) fn note(&mut self, committed: Sequence) {
        // The oldest ones say more about a node that lags.
        if self.words.len() < WORDS_MAX {
            self.words.push_back((committed, self.ticks));
        }
    }

    /// Advances time by a tick in which the memory is made again, from what the leader has committed. What it had said
    /// stays true.
    pub(crate) fn tick_without_memory(&mut self) {
        self.ticks += 1;
        self.fresh = None;
    }

    /// Forgets everything: this node leads.
    pub(crate) fn clear(&mut self) {
        (self.words, self.fresh) = (VecDeque::new(), None);
    }

    /// Returns the age in ticks; None while it is not known.
    pub(crate) fn age(&self) -> Option<u64> {
        self.fresh.map(|at| self.ticks - at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_as_old_as_the_last_word_that_is_applied() {
        let mut freshness = Freshness::default();
        freshness.tick(Sequence(10));
        assert_eq!(freshness.age(), None, "no word has come");
        freshness.note(Sequence(12));
        freshness.tick(Sequence(10));
        assert_eq!(freshness.age(), None);
        freshness.note(Sequence(20));
        freshness.tick(Sequence(12));
        assert_eq!(freshness.age(), Some(2), "the first word came two ticks ago");
        for _ in 0..5 {
            freshness.tick(Sequence(19));
        }
        assert_eq!(freshness.age(), Some(7), "it lacks what the second word says");
        freshness.tick(Sequence(20));
        assert_eq!(freshness.age(), Some(7), "the second word is old, too");
        freshness.note(Sequence(20));
        freshness.tick(Sequence(20));
        assert_eq!(freshness.age(), Some(1));
        freshness.clear();
        assert_eq!(freshness.age(), None);
    }

    #[test]
    fn after_a_snapshot_the_age_is_that_of_the_last_word_before_it() {
        let mut freshness = Freshness::default();
        freshness.note(Sequence(5));
        freshness.tick(Sequence(5));
        freshness.note(Sequence(12));
        for _ in 0..8 {
            freshness.tick_without_memory();
        }
        assert_eq!(freshness.age(), None);
        freshness.note(Sequence(40));
        freshness.tick(Sequence(30));
        assert_eq!(freshness.age(), Some(9));
    }

    #[test]
    fn a_node_that_lags_far_remembers_the_oldest_words() {
        let mut freshness = Freshness::default();
        for number in 1..=2 * WORDS_MAX as u64 {
            freshness.note(Sequence(number));
            freshness.tick(Sequence(0));
        }
        freshness.tick(Sequence(u64::MAX));
        assert_eq!(freshness.age(), Some(WORDS_MAX as u64 + 2));
    }
}
