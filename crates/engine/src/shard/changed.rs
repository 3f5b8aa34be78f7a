//! The keys that change, for a host that has to tell somebody: whoever keeps what they held.

use super::Shard;

/// Keys in the order in which they changed; one that changed twice may be there twice.
#[derive(Debug, Default)]
pub struct ChangedKeys {
    bytes: Vec<u8>,
    /// Behind each key.
    ends: Vec<usize>,
}

impl ChangedKeys {
    /// The keys.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.bytes[begin..end])
    }

    pub(super) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }
}

impl Shard {
    /// From now on each key whose entry changes is noted, or none any more. What
    /// [`Shard::clear`] takes is not noted: the host has asked for it.
    pub fn note_changes(&mut self, on: bool) {
        if self.changed.is_some() != on {
            self.changed = on.then(ChangedKeys::default);
        }
    }

    /// Keys that were noted and not taken yet; none when nothing was.
    pub fn take_changes(&mut self) -> Option<ChangedKeys> {
        self.changed.as_mut().filter(|changed| !changed.ends.is_empty()).map(std::mem::take)
    }

    /// Takes the room of keys that were taken back, where nothing was noted meanwhile.
    pub fn reuse_changes(&mut self, mut keys: ChangedKeys) {
        if let Some(changed) = self.changed.as_mut().filter(|changed| changed.ends.is_empty()) {
            keys.bytes.clear();
            keys.ends.clear();
            *changed = keys;
        }
    }

    /// A key's entry has changed.
    #[inline]
    pub(super) fn changes(&mut self, key: &[u8]) {
        if let Some(changed) = &mut self.changed {
            changed.push(key);
        }
    }
}
