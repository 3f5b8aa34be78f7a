//! The peer's windows, which data is written into. A window is filled from its first byte to its
//! last, then the next one is, which the peer may have announced already.

use crate::codec::Memory;
use crate::fabric::Target;
use crate::fault::Fault;
use crate::settings::{WINDOW_LEN_MAX, WINDOW_LEN_MIN};
use std::collections::VecDeque;

/// Announced windows that are kept in addition to the current one.
pub(crate) const AHEAD_MAX: usize = 4;

/// The windows that the peer has announced.
#[derive(Debug)]
pub(crate) struct PeerWindows {
    /// The window that is written now; `None` before the first announcement.
    current: Option<Memory>,
    /// Bytes of the current window that were written.
    written: u32,
    ahead: VecDeque<Memory>,
    /// Number of messages posted when the last window was filled.
    full_at: u64,
}

impl Default for PeerWindows {
    fn default() -> PeerWindows {
        let ahead = VecDeque::with_capacity(AHEAD_MAX);
        PeerWindows { current: None, written: 0, ahead, full_at: 0 }
    }
}

impl PeerWindows {
    /// Records a window that the peer announces. When the current window is full, the announcement
    /// means that the peer has read all of it. Returns the number of messages that the peer has
    /// processed for certain, 0 if unknown.
    pub(crate) fn announced(&mut self, memory: Memory) -> Result<u64, Fault> {
        let length = memory.length as usize;
        if !(WINDOW_LEN_MIN..=WINDOW_LEN_MAX).contains(&length) {
            return Err(Fault::WindowLength(memory.length));
        }
        if memory.address.checked_add(u64::from(memory.length)).is_none() {
            return Err(Fault::WindowAddress(memory.address));
        }
        if let Some(before) = self.current.map(|memory| memory.length)
            && before != memory.length
        {
            return Err(Fault::WindowChanged { before, now: memory.length });
        }
        if self.room() == 0 {
            self.current = Some(memory);
            self.written = 0;
            return Ok(self.full_at);
        }
        if self.ahead.len() == AHEAD_MAX {
            return Err(Fault::Windows(AHEAD_MAX));
        }
        self.ahead.push_back(memory);
        Ok(0)
    }

    /// Returns how many bytes can be written in one piece.
    pub(crate) fn room(&self) -> usize {
        self.current.map_or(0, |memory| (memory.length - self.written) as usize)
    }

    /// Returns where the next bytes go. At most [`PeerWindows::room`] bytes fit there.
    pub(crate) fn target(&self) -> Option<Target> {
        let memory = self.current?;
        Some(Target { address: memory.address + u64::from(self.written), key: memory.key })
    }

    /// Records that `len` bytes were posted; `messages` is the number of messages posted so far,
    /// these included.
    pub(crate) fn wrote(&mut self, len: usize, messages: u64) {
        let len = u32::try_from(len.min(self.room())).expect("a window has less than 4 GiB");
        self.written += len;
        if self.room() == 0 {
            self.full_at = messages;
            // Without a next window the full one stays current: its room of 0 stops further writes.
            if let Some(next) = self.ahead.pop_front() {
                self.current = Some(next);
                self.written = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u32 = 65_536;

    fn memory(address: u64) -> Memory {
        Memory { address, length: LEN, key: 7 }
    }

    #[test]
    fn a_window_is_filled_to_its_last_byte_before_the_next() {
        let mut peer_windows = PeerWindows::default();
        assert_eq!((peer_windows.room(), peer_windows.target()), (0, None));
        peer_windows.announced(memory(1_000)).expect("sound");
        peer_windows.announced(memory(900_000)).expect("sound");
        peer_windows.wrote(100, 1);
        assert_eq!(peer_windows.target(), Some(Target { address: 1_100, key: 7 }));
        assert_eq!(peer_windows.room(), LEN as usize - 100);
        peer_windows.wrote(LEN as usize - 100, 2);
        assert_eq!(peer_windows.target(), Some(Target { address: 900_000, key: 7 }));
        peer_windows.wrote(LEN as usize, 3);
        assert_eq!(peer_windows.room(), 0);
        assert_eq!(peer_windows.announced(memory(5)).ok(), Some(3));
        assert_eq!(peer_windows.target(), Some(Target { address: 5, key: 7 }));
    }

    #[test]
    fn lengths_are_bounded_and_do_not_change() {
        for length in [0, 65_535, 16 * 1024 * 1024 + 1, u32::MAX] {
            let found = PeerWindows::default().announced(Memory { length, ..memory(0) });
            assert!(matches!(found, Err(Fault::WindowLength(told)) if told == length));
        }
        for length in [65_536, 16 * 1024 * 1024] {
            let mut peer_windows = PeerWindows::default();
            peer_windows.announced(Memory { length, ..memory(0) }).expect("allowed");
            let found = peer_windows.announced(Memory { length: 1_000_000, ..memory(0) });
            assert!(matches!(found, Err(Fault::WindowChanged { before, .. }) if before == length));
        }
    }

    #[test]
    fn a_window_ends_within_the_addresses() {
        let found = PeerWindows::default().announced(memory(u64::MAX - 10));
        assert!(matches!(found, Err(Fault::WindowAddress(_))), "{found:?}");
        PeerWindows::default().announced(memory(u64::MAX - u64::from(LEN))).expect("the last one");
    }

    #[test]
    fn few_windows_are_kept() {
        let mut peer_windows = PeerWindows::default();
        for _ in 0..=AHEAD_MAX {
            peer_windows.announced(memory(0)).expect("kept");
        }
        assert!(matches!(peer_windows.announced(memory(0)), Err(Fault::Windows(AHEAD_MAX))));
    }
}
