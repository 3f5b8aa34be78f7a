//! The bytes of a file: in the cache, on the device, and which sectors differ.

use scurry_model::Random;
use std::collections::BTreeSet;

/// Bytes that a device writes whole or not at all.
const SECTOR: usize = 512;

#[derive(Clone, Debug)]
pub(super) struct Inode {
    cache: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors that a sync has to write.
    dirty: BTreeSet<usize>,
    is_written: bool,
}

/// The bytes of a sector in a file of this length.
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

    /// Bytes up to the last that is not zero.
    pub(super) fn used(&self) -> usize {
        self.cache.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
    }

    /// True when anything was written, zeros too.
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

    /// Some sectors are written, none is tried again. What was not written stays in the cache as
    /// if it were, or is read from the device from now on.
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

    /// The power fails: `keep` of 4 sectors that were not synced survive.
    pub(super) fn lose(&mut self, random: &mut Random, keep: usize) {
        let (old, new) = (self.durable.len(), self.cache.len());
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

    /// Takes a sector out of what is to be synced.
    pub(super) fn take_sector(&mut self, random: &mut Random) -> Option<Vec<u8>> {
        let all: Vec<usize> = self.dirty.iter().copied().collect();
        let sector = *all.get(random.below(all.len()))?;
        self.dirty.remove(&sector);
        Some(self.cache[range(sector, self.cache.len())].to_vec())
    }

    /// Takes a sector that belongs elsewhere, and says where.
    pub(super) fn misplace(&mut self, random: &mut Random, bytes: &[u8]) -> usize {
        let sectors = self.durable.len().div_ceil(SECTOR);
        let at = random.below(sectors) * SECTOR;
        let end = (at + bytes.len()).min(self.durable.len());
        self.durable[at.min(end)..end].copy_from_slice(&bytes[..end.saturating_sub(at)]);
        at
    }
}
