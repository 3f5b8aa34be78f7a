//! The tracked keys of one core, and for each the clients that have read it. The table is bounded in keys and in
//! memory. A caller that removes surplus keys notifies their clients, so that no client trusts a key that is not
//! tracked any more.

use crate::mail::report::TrackedKeys;
use crate::ticket::Sender;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Memory allowed per key of the maximum, bytes: long keys and many clients reduce the number of keys.
const BYTES_PER_KEY: usize = 256;
/// Memory of an entry besides the key's bytes and its clients: its share of a tree node, and two allocations.
const ENTRY_BYTES: usize = 96;

/// Clients by key, each list sorted by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Table {
    keys: BTreeMap<Box<[u8]>, Vec<Sender>>,
    items: usize,
    bytes: usize,
    /// Where the search for the next surplus key starts: keys are removed in turn, so that none is removed much more
    /// often than others.
    hand: Box<[u8]>,
}

impl Table {
    pub(crate) fn size(&self) -> TrackedKeys {
        TrackedKeys { keys: self.keys.len(), items: self.items, bytes: self.bytes as u64 }
    }

    /// Tracks a key for a client, once.
    pub(crate) fn add(&mut self, key: &[u8], reader: Sender) {
        let readers = match self.keys.get_mut(key) {
            Some(readers) => readers,
            None => {
                self.bytes += ENTRY_BYTES + key.len();
                self.keys.entry(key.into()).or_default()
            }
        };
        if let Err(place) = readers.binary_search_by_key(&reader.client, |other| other.client) {
            let before = bytes_of(readers);
            readers.insert(place, reader);
            self.bytes += bytes_of(readers) - before;
            self.items += 1;
        }
    }

    /// Removes a key and returns the clients that have read it.
    pub(crate) fn remove_readers(&mut self, key: &[u8]) -> Option<Vec<Sender>> {
        let readers = self.keys.remove(key)?;
        self.bytes -= ENTRY_BYTES + key.len() + bytes_of(&readers);
        self.items -= readers.len();
        Some(readers)
    }

    /// Removes the next key while there are more keys, or more memory is used, than allowed.
    pub(crate) fn take_beyond(&mut self, keys_max: usize) -> Option<(Box<[u8]>, Vec<Sender>)> {
        let bytes_max = keys_max.saturating_mul(BYTES_PER_KEY);
        if self.keys.len() <= keys_max && self.bytes <= bytes_max {
            return None;
        }
        let behind = (Bound::Excluded(&*self.hand), Bound::Unbounded);
        let next = self.keys.range::<[u8], _>(behind).next().or_else(|| self.keys.iter().next());
        let key = next.map(|(key, _)| key.clone())?;
        self.hand = key.clone();
        self.remove_readers(&key).map(|readers| (key, readers))
    }

    pub(crate) fn clear(&mut self) {
        *self = Table::default();
    }
}

fn bytes_of(readers: &Vec<Sender>) -> usize {
    readers.capacity() * size_of::<Sender>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(client: u64) -> Sender {
        Sender { core: 0, connection: 7, client }
    }

    #[test]
    fn a_key_is_tracked_once_for_each_client_until_it_is_taken() {
        let mut table = Table::default();
        for number in [3, 1, 3, 2, 1] {
            table.add(b"key", client(number));
        }
        table.add(b"other", client(1));
        assert_eq!((table.size().keys, table.size().items), (2, 4));
        assert_eq!(table.remove_readers(b"key"), Some(vec![client(1), client(2), client(3)]));
        assert_eq!(table.remove_readers(b"key"), None);
        assert_eq!((table.size().keys, table.size().items), (1, 1));
        table.remove_readers(b"other");
        assert_eq!(table.size(), TrackedKeys::default());
    }

    #[test]
    fn what_is_beyond_the_bound_is_taken_and_each_key_has_its_turn() {
        let mut table = Table::default();
        let mut taken = Vec::new();
        for number in 0..40u8 {
            table.add(&[number], client(1));
            taken.extend(table.take_beyond(10).map(|(key, _)| key[0]));
            assert!(table.take_beyond(10).is_none());
        }
        assert_eq!(table.size().keys, 10);
        taken.sort_unstable();
        assert_eq!(taken, (0..30).collect::<Vec<u8>>());
    }

    #[test]
    fn long_keys_and_many_clients_are_bounded_by_their_memory() {
        let mut table = Table::default();
        table.add(&[b'k'; 3_000], client(1));
        assert!(table.take_beyond(10).is_some(), "a long key");
        (0..1_000).for_each(|number| table.add(b"key", client(number)));
        assert!(table.size().bytes >= 24_000);
        assert!(table.take_beyond(10).is_some_and(|(_, readers)| readers.len() == 1_000));
        assert_eq!(table.size(), TrackedKeys::default());
    }
}
