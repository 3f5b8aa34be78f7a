//! Counters under names that come from outside, so that both names and their number are bounded.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Most names. What has another one is counted as [`OTHERS`].
const NAMES_MAX: usize = 64;
/// Most characters of a name.
const NAME_CHARS_MAX: usize = 64;
const OTHERS: &str = "others";

/// Counters by name.
#[derive(Debug, Default)]
pub(crate) struct LabelledCounts<Counts>(RwLock<BTreeMap<String, Arc<Counts>>>);

impl<Counts: Default> LabelledCounts<Counts> {
    /// Returns the counters of a name.
    pub(crate) fn of(&self, name: &str) -> Arc<Counts> {
        let end = name.char_indices().nth(NAME_CHARS_MAX).map_or(name.len(), |(at, _)| at);
        let name = &name[..end];
        if let Some(counts) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Arc::clone(counts);
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_known = all.len() < NAMES_MAX || all.contains_key(name);
        let name = if is_known { name } else { OTHERS };
        Arc::clone(all.entry(name.to_owned()).or_default())
    }

    /// Returns all names with their counters.
    pub(crate) fn all(&self) -> Vec<(String, Arc<Counts>)> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(name, counts)| (name.clone(), Arc::clone(counts))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn names_are_bounded_in_number_and_length() {
        let counts = LabelledCounts::<AtomicU64>::default();
        for number in 0..100 {
            counts.of(&format!("{number} {}", "é".repeat(100))).fetch_add(1, Ordering::Relaxed);
        }
        let all = counts.all();
        assert_eq!(all.len(), NAMES_MAX + 1);
        assert!(all.iter().all(|(name, _)| name.chars().count() <= NAME_CHARS_MAX));
        let others = all.iter().find(|(name, _)| name == OTHERS).expect("it is there");
        assert_eq!(others.1.load(Ordering::Relaxed), 36);
    }
}
