//! The last write of each key, if a client can know it.

/// Last write of a key when nothing is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// The key was removed, or never written.
    Absent,
    /// Write with this number.
    Write(u64),
    /// Writes overlapped, so that either may have been the last.
    Unknown,
}

/// Last writes by key number.
#[derive(Debug)]
pub(super) struct LastWrites {
    keys: Vec<KeyState>,
    writes: u64,
}

/// State of one key: the number of its last write (0: missing).
#[derive(Clone, Copy, Debug, Default)]
struct KeyState {
    number: u64,
    writing: u16,
    /// True when a write was sent while another was in flight, and none alone since.
    overlapped: bool,
    /// True when the key was written or removed, if that is known.
    changed: bool,
}

impl LastWrites {
    /// Creates the state of `keys` missing keys.
    pub(super) fn new(keys: u32) -> LastWrites {
        LastWrites { keys: vec![KeyState::default(); keys as usize], writes: 0 }
    }

    /// Returns the number of keys.
    pub(super) fn keys(&self) -> u32 {
        u32::try_from(self.keys.len()).unwrap_or(u32::MAX)
    }

    /// Records that a write of a key is sent, and returns its number, counted from 1.
    pub(super) fn begin(&mut self, key: u32) -> u64 {
        self.writes += 1;
        let number = self.writes;
        self.keys[key as usize].begin(number);
        number
    }

    /// Records that a removal of a key is sent.
    pub(super) fn begin_removal(&mut self, key: u32) {
        self.keys[key as usize].begin(0);
    }

    /// Records that a write of a key was answered.
    pub(super) fn end(&mut self, key: u32) {
        self.keys[key as usize].writing -= 1;
    }

    /// Takes over the results of a load that continued in another process, with nothing in flight: the number of the
    /// last write of each key, 0 where it is missing, -1 where writes overlapped.
    pub(super) fn take(&mut self, known: &[i64]) {
        self.keys = known
            .iter()
            .map(|&number| KeyState {
                number: u64::try_from(number).unwrap_or(0),
                writing: 0,
                overlapped: number < 0,
                changed: true,
            })
            .collect();
    }

    /// Reports whether a write of a key is in flight.
    pub(super) fn is_writing(&self, key: u32) -> bool {
        self.keys[key as usize].writing > 0
    }

    /// Reports whether the key was written or removed; it may be missing all the same.
    pub(super) fn is_changed(&self, key: u32) -> bool {
        self.keys[key as usize].changed
    }

    pub(super) fn last(&self, key: u32) -> Last {
        match self.keys[key as usize] {
            KeyState { overlapped: true, .. } => Last::Unknown,
            KeyState { number: 0, .. } => Last::Absent,
            KeyState { number, .. } => Last::Write(number),
        }
    }
}

impl KeyState {
    fn begin(&mut self, number: u64) {
        self.overlapped = self.writing > 0;
        self.writing += 1;
        self.changed = true;
        self.number = number;
    }
}
