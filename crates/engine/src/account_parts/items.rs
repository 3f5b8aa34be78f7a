//! Items of a session that has many, each packed as in an image: a command unpacks those that it names.

use super::hash::hash_of;
use hashbrown::HashTable;
use scurry_codec::{decode_item, encode_item};
use scurry_ledger::{ITEM_KEY_LEN_MAX, Item, ItemKey, ItemRequest, NAME_LEN_MAX, Name};

/// Bytes of overhead per item: its slice, its slot in the index, and the allocator's own.
const BESIDE_BYTES: usize = 40;

/// Items of one session, by their positions in it.
#[derive(Debug, Default)]
pub(super) struct PackedItems {
    packed: Vec<Box<[u8]>>,
    /// Positions by the hash of key and unit.
    positions: HashTable<u8>,
    bytes: usize,
}

impl PackedItems {
    /// Packs all items of a session.
    pub(super) fn of(items: &[Item]) -> PackedItems {
        let mut packed = PackedItems::default();
        items.iter().enumerate().for_each(|(position, item)| packed.put(position, item));
        packed
    }

    /// Returns the number of items.
    pub(super) fn len(&self) -> usize {
        self.packed.len()
    }

    /// Returns the bytes of the packed items.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the approximate bytes of memory besides those of the packed items.
    pub(super) fn beside_bytes(&self) -> usize {
        self.len() * BESIDE_BYTES
    }

    /// Finds the item of a request, and unpacks it.
    pub(super) fn find(&self, request: &ItemRequest) -> Option<(u8, Item)> {
        let mut found = None;
        self.positions.find(hash_of_item(request.key, request.unit), |&position| {
            let item = self.item(position);
            let is_it = item.key == request.key && item.unit == request.unit;
            if is_it {
                found = Some((position, item));
            }
            is_it
        });
        found
    }

    /// Unpacks the item at a position.
    pub(super) fn item(&self, position: u8) -> Item {
        let mut item = Item::empty();
        // Only this program writes packed items, into its own memory.
        if let Err(error) = decode_item(&self.packed[usize::from(position)], &mut item) {
            panic!("an item in memory is broken: {error}");
        }
        item
    }

    /// Packs an item at its position, which may be the first one after the last.
    pub(super) fn put(&mut self, position: usize, item: &Item) {
        let mut bytes = Vec::new();
        encode_item(item, &mut bytes);
        self.bytes += bytes.len();
        if let Some(packed) = self.packed.get_mut(position) {
            self.bytes -= packed.len();
            if packed.len() == bytes.len() {
                packed.copy_from_slice(&bytes);
            } else {
                *packed = bytes.into();
            }
            return;
        }
        assert_eq!(position, self.len(), "items are added one after the other");
        self.packed.push(bytes.into());
        let position = u8::try_from(position).expect("a session has at most 256 items");
        let packed = &self.packed;
        self.positions.insert_unique(hash_of_item(item.key, item.unit), position, |&at| {
            let mut item = Item::empty();
            decode_item(&packed[usize::from(at)], &mut item).expect("an item in memory is whole");
            hash_of_item(item.key, item.unit)
        });
    }
}

/// Returns the hash of the name of an item in its session.
fn hash_of_item(key: ItemKey, unit: Name) -> u64 {
    let mut bytes = [0; 1 + ITEM_KEY_LEN_MAX + NAME_LEN_MAX];
    let unit = unit.as_bytes();
    bytes[1..=unit.len()].copy_from_slice(unit);
    let rest = &mut bytes[1 + unit.len()..];
    let len = match key {
        ItemKey::Number(number) => {
            rest[..4].copy_from_slice(&number.to_le_bytes());
            4
        }
        ItemKey::Id(id) => {
            rest[..id.as_bytes().len()].copy_from_slice(id.as_bytes());
            id.as_bytes().len()
        }
    };
    bytes[0] = unit.len() as u8;
    hash_of(&bytes[..1 + unit.len() + len])
}
