//! Records which keys change, for hosts that notify clients which have cached them.

use super::Shard;

/// Keys in the order in which they changed; a key that changed twice may be listed twice.
#[derive(Debug, Default)]
pub struct ChangedKeys {
    bytes: Vec<u8>,
    /// End offset of each key in `bytes`.
    ends: Vec<usize>,
}

impl ChangedKeys {
    /// Iterates over the keys.
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
    /// Starts or stops recording each key whose entry changes. Keys that [`Shard::clear`] removes are not recorded: the
    /// host asked for that.
    pub fn note_changes(&mut self, on: bool) {
        if self.changed.is_some() != on {
            self.changed = on.then(ChangedKeys::default);
        }
    }

    /// Takes the keys recorded since the last call, None when there were none.
    pub fn take_changes(&mut self) -> Option<ChangedKeys> {
        self.changed.as_mut().filter(|changed| !changed.ends.is_empty()).map(std::mem::take)
    }

    /// Returns a buffer for reuse, unless keys were recorded meanwhile.
    pub fn reuse_changes(&mut self, mut keys: ChangedKeys) {
        if let Some(changed) = self.changed.as_mut().filter(|changed| changed.ends.is_empty()) {
            keys.bytes.clear();
            keys.ends.clear();
            *changed = keys;
        }
    }

    /// Records that a key's entry has changed.
    #[inline]
    pub(super) fn changes(&mut self, key: &[u8]) {
        if let Some(changed) = &mut self.changed {
            changed.push(key);
        }
    }
}
