//! Which write of each key was the last one, as far as a client can know.

/// Knowledge of the last write of a key, once nothing is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    /// Removal of the key, or no write at all.
    Absent,
    /// Write with this number.
    Write(u64),
    /// Writes overlapped, so that either may have come last.
    Unknown,
}

/// The keys, by number.
#[derive(Debug)]
pub(super) struct LastWrites {
    keys: Vec<KeyState>,
    writes: u64,
}

/// Knowledge of one key: the number of its last write (0: absent).
#[derive(Clone, Copy, Debug, Default)]
struct KeyState {
    number: u64,
    writing: u16,
    /// A write was sent while another was on its way, and none alone since.
    overlapped: bool,
    /// Whether the key was written or taken away, as far as is known.
    changed: bool,
}

impl LastWrites {
    /// Of keys that are absent.
    pub(super) fn new(keys: u32) -> LastWrites {
        LastWrites { keys: vec![KeyState::default(); keys as usize], writes: 0 }
    }

    /// How many keys there are.
    pub(super) fn keys(&self) -> u32 {
        u32::try_from(self.keys.len()).unwrap_or(u32::MAX)
    }

    /// A write of a key is sent. Gives its number, counted from 1.
    pub(super) fn begin(&mut self, key: u32) -> u64 {
        self.writes += 1;
        let number = self.writes;
        self.keys[key as usize].begin(number);
        number
    }

    /// Removal of a key, as it is sent.
    pub(super) fn begin_removal(&mut self, key: u32) {
        self.keys[key as usize].begin(0);
    }

    /// A write of a key was answered.
    pub(super) fn end(&mut self, key: u32) {
        self.keys[key as usize].writing -= 1;
    }

    /// Takes over what somebody else knows who went on where this ended, with nothing on its way: of
    /// each key the number of its last write, 0 where it is absent, -1 where writes overlapped.
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

    /// A write of a key is on its way.
    pub(super) fn is_writing(&self, key: u32) -> bool {
        self.keys[key as usize].writing > 0
    }

    /// Whether the key was written or taken away: it may be absent all the same.
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
