//! What arrives: windows that the peer fills one after the other, and the bytes of them that are to be
//! read, as one piece.
//!
//! They are read where they lie. Only a request that goes on in the next window is copied: the tail of
//! the full window becomes the beginning of a *carry*, and bytes of the next one are appended until
//! the request is whole. As soon as what is left of the carry lies in a window too, it is read there.

use crate::counts::Counts;
use crate::fabric::Window;
use crate::fault::Fault;
use std::collections::VecDeque;

/// Appended to a carry at once, at least, bytes. More when it is longer, so that the copying of a
/// long request takes time in proportion to its length.
const CARRY_STEP: usize = 512;
/// A tail of so many bytes is carried at once. A longer one, of which something was just consumed, is
/// looked at again first: it may hold whole requests that had to wait.
const CARRY_AT_ONCE: usize = 4 * 1024;
/// Copied at once when all input is copied, bytes.
const COPY_STEP: usize = 64 * 1024;
/// An empty carry keeps so much room, bytes.
const CARRY_KEPT: usize = 64 * 1024;

/// What taking in has found.
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
    copied: bool,
    windows: Vec<W>,
    /// Neither announced nor needed.
    free: Vec<usize>,
    /// The first is read, the last is the one that the peer writes; those before it are full.
    live: VecDeque<usize>,
    /// Bytes that have arrived in the last one.
    filled: usize,
    /// Bytes of the first one that are consumed or carried.
    taken: usize,
    /// End of what is shown of the first one, when nothing is carried.
    shown: usize,
    carry: Vec<u8>,
    /// Bytes of the carry that are consumed.
    start: usize,
    /// Bytes at the end of the carry that lie in the first window, too.
    own: usize,
    /// Something was consumed since the last progress.
    consumed: bool,
}

impl<W: Window> Inbound<W> {
    pub(crate) fn new(len: usize, windows_max: usize, copied: bool) -> Inbound<W> {
        Inbound {
            len,
            windows_max,
            copied,
            windows: Vec::with_capacity(windows_max),
            free: Vec::with_capacity(windows_max),
            live: VecDeque::with_capacity(windows_max),
            filled: 0,
            taken: 0,
            shown: 0,
            carry: Vec::new(),
            start: 0,
            own: 0,
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
        let again = consumed && self.input().len() > CARRY_AT_ONCE;
        if self.copied || !self.carry.is_empty() {
            if again && !self.is_shown() {
                return Progress::More(0);
            }
            let step = if self.copied { COPY_STEP } else { CARRY_STEP.max(self.input().len()) };
            return self.copy(step, counts);
        }
        let arrived = self.available();
        let new = arrived - self.shown;
        self.shown = arrived;
        if arrived < self.len {
            return Progress::Drained(new);
        }
        let tail = arrived - self.taken;
        if new > 0 || again {
            return Progress::More(new);
        }
        self.append(tail, counts);
        self.copy(CARRY_STEP.max(tail), counts)
    }

    /// What has arrived and is not consumed.
    pub(crate) fn input(&self) -> &[u8] {
        if self.copied || !self.carry.is_empty() {
            return &self.carry[self.start..];
        }
        match self.live.front() {
            Some(&first) => &self.windows[first].bytes()[self.taken..self.shown],
            None => &[],
        }
    }

    /// The first bytes of the input are done with.
    pub(crate) fn consume(&mut self, len: usize) {
        self.consumed |= len > 0;
        if !self.copied && self.carry.is_empty() {
            self.taken = (self.taken + len).min(self.shown);
            if self.taken == self.len {
                self.release();
            }
            return;
        }
        self.start = (self.start + len).min(self.carry.len());
        let left = self.carry.len() - self.start;
        if !self.copied && left <= self.own {
            // All of it lies in the window: it is read there again.
            self.shown = self.taken;
            self.taken -= left;
            self.empty_carry();
        } else if left == 0 {
            self.empty_carry();
        }
    }

    /// True when everything that has arrived can be read.
    pub(crate) fn is_shown(&self) -> bool {
        let shown = if self.copied || !self.carry.is_empty() { self.taken } else { self.shown };
        self.available() == shown
            && (self.live.len() < 2 || (self.live.len() == 2 && self.filled == 0))
    }

    /// Registered, bytes.
    pub(crate) fn pinned_bytes(&self) -> usize {
        self.windows.len() * self.len
    }

    /// Room of the carry, bytes.
    pub(crate) fn carry_bytes(&self) -> usize {
        self.carry.capacity()
    }

    /// Gives back the room of an empty carry: what is more than usual, or all of it.
    pub(crate) fn settle(&mut self, idle: bool) {
        if self.carry.is_empty() && (idle || self.carry.capacity() > CARRY_KEPT) {
            self.carry = Vec::new();
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

    /// Copies at most so many bytes behind the carry.
    fn copy(&mut self, step: usize, counts: &mut Counts) -> Progress {
        let len = step.min(self.available() - self.taken);
        if len > 0 {
            self.append(len, counts);
        }
        if self.is_shown() { Progress::Drained(len) } else { Progress::More(len) }
    }

    /// Moves the next bytes of the first window behind the carry.
    fn append(&mut self, len: usize, counts: &mut Counts) {
        let Some(&first) = self.live.front() else { return };
        if self.start > 0 {
            self.carry.drain(..self.start);
            self.start = 0;
        }
        self.carry.extend_from_slice(&self.windows[first].bytes()[self.taken..self.taken + len]);
        self.taken += len;
        self.own += len;
        counts.copies_in += 1;
        counts.copied_in_bytes += len as u64;
        if self.taken == self.len {
            self.release();
        }
    }

    fn empty_carry(&mut self) {
        self.carry.clear();
        (self.start, self.own) = (0, 0);
    }

    /// Nothing of the first window is needed any more.
    fn release(&mut self) {
        self.free.extend(self.live.pop_front());
        (self.taken, self.shown, self.own) = (0, 0, 0);
    }
}
