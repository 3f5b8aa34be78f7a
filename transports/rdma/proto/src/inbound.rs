//! Input: windows that the peer fills one after the other, and their bytes as one contiguous buffer.
//!
//! The bytes are copied once, and only the copy is parsed. A peer can write to a window at any time,
//! also over bytes that it has announced, so bytes checked in the window might differ from the bytes
//! used a moment later. See docs/adr/0021-rdma.md.

use crate::counts::Counts;
use crate::fabric::Window;
use crate::fault::Fault;
use std::collections::VecDeque;

/// When more bytes than this are left after a part of the input was consumed, no more are copied yet:
/// the rest is parsed first, because it may hold whole requests that had to wait.
const LEFT_LEN: usize = 4 * 1024;
/// Maximum number of bytes copied at once.
const COPY_STEP: usize = 64 * 1024;
/// Capacity that an empty copy keeps, bytes.
const COPY_KEPT: usize = 64 * 1024;

/// Result of [`crate::Endpoint::progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// This many new bytes, and there may be more: call again.
    More(usize),
    /// All bytes that have arrived so far; the number of new ones may be 0.
    Drained(usize),
    /// The peer is gone, and all bytes that it sent can be read.
    End,
}

/// Windows for the peer, and the bytes read from them.
#[derive(Debug)]
pub(crate) struct Inbound<W> {
    len: usize,
    windows_max: usize,
    windows: Vec<W>,
    /// Windows that are neither announced nor being read.
    free: Vec<usize>,
    /// Announced windows. The first is being read, the peer writes the last, and all before the last are
    /// full.
    live: VecDeque<usize>,
    /// Bytes that have arrived in the last window.
    filled: usize,
    /// Bytes of the first window that were copied.
    taken: usize,
    copy: Vec<u8>,
    /// Consumed bytes of the copy.
    start: usize,
    /// True when bytes were consumed since the last call of `progress`.
    consumed: bool,
}

impl<W: Window> Inbound<W> {
    pub(crate) fn new(len: usize, windows_max: usize) -> Inbound<W> {
        Inbound {
            len,
            windows_max,
            windows: Vec::with_capacity(windows_max),
            free: Vec::with_capacity(windows_max),
            live: VecDeque::with_capacity(windows_max),
            filled: 0,
            taken: 0,
            copy: Vec::new(),
            start: 0,
            consumed: false,
        }
    }

    /// Records that the peer has written `told` more bytes.
    pub(crate) fn arrived(&mut self, told: u32) -> Result<(), Fault> {
        let room = if self.live.is_empty() { 0 } else { self.len - self.filled };
        if told as usize > room {
            return Err(Fault::Overrun { told, room });
        }
        self.filled += told as usize;
        if let Some(&current) = self.live.back() {
            self.windows[current].refresh();
        }
        Ok(())
    }

    /// Reports whether the peer needs a window: it has none, or it has filled the last one.
    pub(crate) fn is_full(&self) -> bool {
        self.live.is_empty() || self.filled == self.len
    }

    /// Returns a window that may be announced, if one is free.
    pub(crate) fn free(&self) -> Option<&W> {
        self.free.last().map(|&index| &self.windows[index])
    }

    /// Reports whether another window may be registered.
    pub(crate) fn may_grow(&self) -> bool {
        self.windows.len() < self.windows_max
    }

    /// Adds a registered window.
    pub(crate) fn add(&mut self, window: W) {
        self.free.push(self.windows.len());
        self.windows.push(window);
    }

    /// Limits the number of windows to the current one, after the device has refused another.
    pub(crate) fn stop_growing(&mut self) {
        self.windows_max = self.windows.len();
    }

    /// Marks the free window as announced.
    pub(crate) fn announced(&mut self) {
        if let Some(index) = self.free.pop() {
            self.live.push_back(index);
            self.filled = 0;
        }
    }

    /// Copies more of the bytes that have arrived, so that they can be read.
    pub(crate) fn progress(&mut self, counts: &mut Counts) -> Progress {
        // The caller could use a part of the input, so it parses the rest again before more is appended.
        let consumed = std::mem::take(&mut self.consumed);
        if consumed && self.input().len() > LEFT_LEN && !self.is_shown() {
            return Progress::More(0);
        }
        let len = COPY_STEP.min(self.available() - self.taken);
        if len > 0 {
            self.append(len, counts);
        }
        if self.is_shown() { Progress::Drained(len) } else { Progress::More(len) }
    }

    /// Returns the bytes that were copied and not consumed.
    pub(crate) fn input(&self) -> &[u8] {
        &self.copy[self.start..]
    }

    /// Drops the first `len` bytes of the input.
    pub(crate) fn consume(&mut self, len: usize) {
        self.consumed |= len > 0;
        self.start = (self.start + len).min(self.copy.len());
        if self.start == self.copy.len() {
            self.copy.clear();
            self.start = 0;
        }
    }

    /// Reports whether all bytes that have arrived can be read.
    fn is_shown(&self) -> bool {
        self.available() == self.taken
            && (self.live.len() < 2 || (self.live.len() == 2 && self.filled == 0))
    }

    /// Returns the number of registered bytes.
    pub(crate) fn pinned_bytes(&self) -> usize {
        self.windows.len() * self.len
    }

    /// Returns the capacity of the copy, bytes.
    pub(crate) fn copy_bytes(&self) -> usize {
        self.copy.capacity()
    }

    /// Frees capacity of an empty copy: all of it when `idle`, otherwise only if it is larger than
    /// usual.
    pub(crate) fn release(&mut self, idle: bool) {
        if self.copy.is_empty() && (idle || self.copy.capacity() > COPY_KEPT) {
            self.copy = Vec::new();
        }
    }

    /// Returns how many bytes have arrived in the first window.
    fn available(&self) -> usize {
        match self.live.len() {
            0 => 0,
            1 => self.filled,
            _ => self.len,
        }
    }

    /// Appends the next bytes of the first window to the copy.
    fn append(&mut self, len: usize, counts: &mut Counts) {
        let Some(&first) = self.live.front() else { return };
        if self.start > 0 {
            self.copy.drain(..self.start);
            self.start = 0;
        }
        self.windows[first].copy(self.taken..self.taken + len, &mut self.copy);
        self.taken += len;
        counts.copies_in += 1;
        counts.copied_in_bytes += len as u64;
        if self.taken == self.len {
            // The window is copied completely: it can be announced again.
            self.free.extend(self.live.pop_front());
            self.taken = 0;
        }
    }
}
