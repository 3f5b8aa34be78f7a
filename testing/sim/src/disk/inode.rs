//! The bytes of a file in the cache and on the device, and the sectors in which they differ.

use scurry_model::Random;
use std::collections::BTreeSet;

/// The unit that a device writes atomically, bytes.
const SECTOR: usize = 512;

#[derive(Clone, Debug)]
pub(super) struct Inode {
    cache: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors that the next sync writes.
    dirty: BTreeSet<usize>,
    is_written: bool,
}

/// Returns the range of a sector's bytes in a file of this length.
fn range(sector: usize, len: usize) -> std::ops::Range<usize> {
    (sector * SECTOR).min(len)..((sector + 1) * SECTOR).min(len)
}

impl Inode {
    pub(super) fn new(room: usize) -> Inode {
        Inode {
            cache: vec![0; room],
            durable: Vec::new(),
            dirty: BTreeSet::new(),
            is_written: false,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.cache
    }

    /// Returns the number of bytes up to the last byte other than zero.
    pub(super) fn used(&self) -> usize {
        self.cache.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
    }

    /// Reports whether anything was written, even zeros.
    pub(super) fn is_written(&self) -> bool {
        self.is_written
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.is_written = true;
        let end = offset + bytes.len();
        if end > self.cache.len() {
            self.cache.resize(end, 0);
        }
        self.cache[offset..end].copy_from_slice(bytes);
        self.dirty.extend(offset / SECTOR..=(end - 1) / SECTOR);
    }

    pub(super) fn read(&self, offset: usize, buffer: &mut [u8]) -> usize {
        let rest = self.cache.get(offset..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        len
    }

    pub(super) fn set_len(&mut self, len: usize) {
        self.cache.resize(len, 0);
        self.dirty.retain(|sector| sector * SECTOR < len);
    }

    pub(super) fn sync(&mut self) {
        self.durable.resize(self.cache.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            let range = range(sector, self.cache.len());
            self.durable[range.clone()].copy_from_slice(&self.cache[range]);
        }
    }

    /// Fails a sync: writes some of the dirty sectors, and no later sync writes the others. The others keep their new
    /// bytes in the cache or, in half of the cases, get the device's old bytes.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        let drops = random.one_in(2);
        let len = self.durable.len().min(self.cache.len());
        for sector in std::mem::take(&mut self.dirty) {
            let range = range(sector, len);
            if random.one_in(3) {
                self.durable[range.clone()].copy_from_slice(&self.cache[range]);
            } else if drops {
                self.cache[range.clone()].copy_from_slice(&self.durable[range]);
            }
        }
    }

    /// Loses power: of 4 sectors that were not synced, `keep` survive on average.
    pub(super) fn lose(&mut self, random: &mut Random, keep: usize) {
        let (old, new) = (self.durable.len(), self.cache.len());
        // The length is stored apart from the bytes: the old one, the new one, or one in between may survive.
        let len = match random.below(3) {
            0 => old,
            1 => new,
            _ if new > old => old + random.below(new - old),
            _ => new,
        };
        self.durable.resize(len, 0);
        for sector in std::mem::take(&mut self.dirty) {
            let range = range(sector, len.min(new));
            if random.below(4) < keep {
                self.durable[range.clone()].copy_from_slice(&self.cache[range]);
            }
        }
        self.cache.clone_from(&self.durable);
    }

    pub(super) fn flip(&mut self, byte: usize, bit: usize) {
        for bytes in [&mut self.cache, &mut self.durable] {
            if let Some(byte) = bytes.get_mut(byte) {
                *byte ^= 1 << bit;
            }
        }
    }

    /// Removes a random sector from the dirty ones, and returns its bytes; None if no sector is dirty.
    pub(super) fn take_sector(&mut self, random: &mut Random) -> Option<Vec<u8>> {
        let all: Vec<usize> = self.dirty.iter().copied().collect();
        let sector = *all.get(random.below(all.len()))?;
        self.dirty.remove(&sector);
        Some(self.cache[range(sector, self.cache.len())].to_vec())
    }

    /// Writes bytes of another sector over a random sector of this file, and returns the offset.
    pub(super) fn misplace(&mut self, random: &mut Random, bytes: &[u8]) -> usize {
        let sectors = self.durable.len().div_ceil(SECTOR);
        let at = random.below(sectors) * SECTOR;
        let end = (at + bytes.len()).min(self.durable.len());
        self.durable[at.min(end)..end].copy_from_slice(&bytes[..end.saturating_sub(at)]);
        at
    }
}
