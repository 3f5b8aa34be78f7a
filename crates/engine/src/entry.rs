//! One key and what it holds, in one allocation: a look-up touches the table and this.
//!
//! Layout: kind u8, key length u16, value length u32, armed tick u48, key, value, slack.

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes.
    Value,
    /// An account image.
    Account,
}

/// The allocation. Its length is a multiple of [`STEP`], so that an image can grow a little in place.
#[derive(Debug)]
pub(crate) struct Entry(Box<[u8]>);

const HEAD_LEN: usize = 1 + 2 + 4 + 6;
const STEP: usize = 16;

/// No timer is armed.
pub(crate) const UNARMED: u64 = (1 << 48) - 1;

/// Longest key, bytes.
pub(crate) const KEY_LEN_MAX: usize = u16::MAX as usize;

impl Entry {
    /// The key must be at most [`KEY_LEN_MAX`] long, the value at most 4 GiB.
    pub(crate) fn new(kind: Kind, key: &[u8], value: &[u8]) -> Entry {
        assert!(key.len() <= KEY_LEN_MAX, "the host bounds keys");
        let len = (HEAD_LEN + key.len() + value.len()).next_multiple_of(STEP);
        let mut bytes = Vec::with_capacity(len);
        bytes.push(kind as u8);
        bytes.extend_from_slice(&u16::try_from(key.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(value.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&UNARMED.to_le_bytes()[..6]);
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        bytes.resize(len, 0);
        Entry(bytes.into_boxed_slice())
    }

    pub(crate) fn kind(&self) -> Kind {
        if self.0[0] == Kind::Account as u8 { Kind::Account } else { Kind::Value }
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.0[HEAD_LEN..HEAD_LEN + self.key_len()]
    }

    pub(crate) fn value(&self) -> &[u8] {
        let start = HEAD_LEN + self.key_len();
        &self.0[start..start + self.value_len()]
    }

    /// Replaces the value, in place where it fits without wasting half of the allocation.
    pub(crate) fn set_value(&mut self, value: &[u8]) {
        let start = HEAD_LEN + self.key_len();
        let len = (start + value.len()).next_multiple_of(STEP);
        if len > self.0.len() || len * 2 < self.0.len() {
            let armed = self.armed();
            *self = Entry::new(self.kind(), self.key(), value);
            self.arm(armed);
            return;
        }
        self.0[start..start + value.len()].copy_from_slice(value);
        let len = u32::try_from(value.len()).unwrap_or(u32::MAX);
        self.0[3..7].copy_from_slice(&len.to_le_bytes());
    }

    /// The tick at which a timer looks at this account.
    pub(crate) fn armed(&self) -> u64 {
        let mut tick = [0; 8];
        tick[..6].copy_from_slice(&self.0[7..13]);
        u64::from_le_bytes(tick)
    }

    pub(crate) fn arm(&mut self, tick: u64) {
        self.0[7..13].copy_from_slice(&tick.to_le_bytes()[..6]);
    }

    /// Bytes of the allocation, with what an allocator keeps beside it.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.0.len() as u64 + 8
    }

    fn key_len(&self) -> usize {
        usize::from(u16::from_le_bytes([self.0[1], self.0[2]]))
    }

    fn value_len(&self) -> usize {
        u32::from_le_bytes(self.0[3..7].try_into().unwrap_or([0; 4])) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_grow_and_shrink_and_keep_key_and_timer() {
        let mut entry = Entry::new(Kind::Account, b"alice", b"one");
        entry.arm(7);
        for len in [0, 3, 100, 5, 1_000, 0] {
            let value = vec![b'v'; len];
            entry.set_value(&value);
            assert_eq!(entry.value(), value);
            assert_eq!(
                (entry.key(), entry.kind(), entry.armed()),
                (&b"alice"[..], Kind::Account, 7)
            );
        }
        assert!(entry.memory_bytes() <= 40, "a small value gives memory back");
    }
}
