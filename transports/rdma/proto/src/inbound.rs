//! What arrives: windows that the peer fills one after the other, and the bytes of them that are to be
//! read, as one piece.
//!
//! They are copied, once, and only the copy is looked at: a peer can write to a window at any time, also
//! to what it has announced, so what was checked there need not be what is used a moment later. See
//! docs/adr/0021-rdma.md.

use crate::counts::Counts;
use crate::fabric::Window;
use crate::fault::Fault;
use std::collections::VecDeque;

/// More is copied behind so many bytes at once. Behind more, of which something was just consumed, it
/// is not: they are looked at again first, since they may hold whole requests that had to wait.
const LEFT_LEN: usize = 4 * 1024;
/// Copied at once, bytes.
const COPY_STEP: usize = 64 * 1024;
/// An empty copy keeps so much room, bytes.
const COPY_KEPT: usize = 64 * 1024;

/// Result of taking in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many new bytes, and there may be more: ask again.
    More(usize),
    /// All there was for now, perhaps nothing.
    Drained(usize),
    /// The peer has gone, and everything that it sent can be read.
    End,
}

/// Windows for the peer, and what is read of them.
#[derive(Debug)]
pub(crate) struct Inbound<W> {
    len: usize,
    windows_max: usize,
    windows: Vec<W>,
    /// Neither announced nor needed.
    free: Vec<usize>,
    /// The first is read, the last is the one that the peer writes; those before it are full.
    live: VecDeque<usize>,
    /// Bytes that have arrived in the last one.
    filled: usize,
    /// Bytes of the first one that are copied.
    taken: usize,
    copy: Vec<u8>,
    /// Bytes of the copy that are consumed.
    start: usize,
    /// Something was consumed since the last progress.
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

    /// The peer has written so many more bytes.
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

    /// True when the peer needs a window: it has none, or it has filled the last one.
    pub(crate) fn is_full(&self) -> bool {
        self.live.is_empty() || self.filled == self.len
    }

    /// A window that may be announced, if there is one.
    pub(crate) fn free(&self) -> Option<&W> {
        self.free.last().map(|&index| &self.windows[index])
    }

    /// True when another window may be registered.
    pub(crate) fn may_grow(&self) -> bool {
        self.windows.len() < self.windows_max
    }

    /// A window more.
    pub(crate) fn add(&mut self, window: W) {
        self.free.push(self.windows.len());
        self.windows.push(window);
    }

    /// There will be no more windows than there are.
    pub(crate) fn stop_growing(&mut self) {
        self.windows_max = self.windows.len();
    }

    /// The window that is free is announced.
    pub(crate) fn announced(&mut self) {
        if let Some(index) = self.free.pop() {
            self.live.push_back(index);
            self.filled = 0;
        }
    }

    /// Shows more of what has arrived.
    pub(crate) fn progress(&mut self, counts: &mut Counts) -> Progress {
        // Something of it could be used: it is looked at again before more is copied behind it.
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

    /// The bytes that have arrived and are not consumed.
    pub(crate) fn input(&self) -> &[u8] {
        &self.copy[self.start..]
    }

    /// The first bytes of the input are done with.
    pub(crate) fn consume(&mut self, len: usize) {
        self.consumed |= len > 0;
        self.start = (self.start + len).min(self.copy.len());
        if self.start == self.copy.len() {
            self.copy.clear();
            self.start = 0;
        }
    }

    /// True when everything that has arrived can be read.
    fn is_shown(&self) -> bool {
        self.available() == self.taken
            && (self.live.len() < 2 || (self.live.len() == 2 && self.filled == 0))
    }

    /// Registered, bytes.
    pub(crate) fn pinned_bytes(&self) -> usize {
        self.windows.len() * self.len
    }

    /// Room of the copy, bytes.
    pub(crate) fn copy_bytes(&self) -> usize {
        self.copy.capacity()
    }

    /// Gives back the room of an empty copy: what is more than usual, or all of it.
    pub(crate) fn release(&mut self, idle: bool) {
        if self.copy.is_empty() && (idle || self.copy.capacity() > COPY_KEPT) {
            self.copy = Vec::new();
        }
    }

    /// Bytes that have arrived in the first window.
    fn available(&self) -> usize {
        match self.live.len() {
            0 => 0,
            1 => self.filled,
            _ => self.len,
        }
    }

    /// Moves the next bytes of the first window behind the copy.
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
            // Nothing of it is needed any more.
            self.free.extend(self.live.pop_front());
            self.taken = 0;
        }
    }
}
