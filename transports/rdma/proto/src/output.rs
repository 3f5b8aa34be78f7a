//! Vectors that replies are formed in and sent from: the open one, those in flight, and the free
//! ones, which are reused.

use crate::counts::Counts;
use crate::fabric::{Queue, Staging};
use crate::fault::Fault;
use std::collections::VecDeque;

/// A registered vector.
#[derive(Debug)]
pub(crate) struct Staged<S> {
    pub(crate) staging: S,
    /// Number of registered bytes.
    room: usize,
}

/// A vector from which writes were posted.
#[derive(Debug)]
pub(crate) struct Sending<S> {
    pub(crate) staged: Staged<S>,
    /// Committed bytes of the vector.
    pub(crate) len: usize,
    /// Posted bytes of the vector.
    pub(crate) posted: usize,
    /// Number of the last write that was posted from the vector.
    pub(crate) last: u64,
}

/// Bytes being formed, and bytes in flight.
#[derive(Debug)]
pub(crate) struct Output<S> {
    /// Capacity of a registered vector, bytes.
    len: usize,
    /// Maximum number of registered vectors in flight.
    sending_max: usize,
    /// The open vector: replies are formed here when they are sent in place.
    open: Option<Staged<S>>,
    /// Replies are formed here when they are copied, or when no vector could be registered.
    plain: Vec<u8>,
    /// Committed bytes of the open vector.
    pub(crate) committed: usize,
    /// Posted bytes of the open vector, all of them inline or copied.
    pub(crate) sent: usize,
    /// Vectors in flight. Only the last one may have bytes that are not posted yet.
    pub(crate) sending: VecDeque<Sending<S>>,
    free: Vec<Staged<S>>,
    /// Total of registered bytes.
    pinned: usize,
}

impl<S: Staging> Output<S> {
    pub(crate) fn new(len: usize, sending_max: usize) -> Output<S> {
        Output {
            len,
            sending_max,
            open: None,
            plain: Vec::new(),
            committed: 0,
            sent: 0,
            sending: VecDeque::with_capacity(sending_max),
            free: Vec::with_capacity(sending_max),
            pinned: 0,
        }
    }

    /// Returns an empty registered vector: a free one, or a new one.
    pub(crate) fn empty_vector<Q: Queue<Staging = S>>(
        &mut self,
        queue: &mut Q,
        counts: &mut Counts,
    ) -> Result<Staged<S>, Fault> {
        match self.free.pop() {
            Some(staged) => Ok(staged),
            None => self.register(queue, Vec::with_capacity(self.len), counts),
        }
    }

    /// Opens a registered vector unless one is open.
    pub(crate) fn open<Q: Queue<Staging = S>>(
        &mut self,
        queue: &mut Q,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        if self.open.is_none() {
            self.open = Some(self.empty_vector(queue, counts)?);
        }
        Ok(())
    }

    /// Returns the vector that replies are appended to.
    pub(crate) fn vector(&mut self) -> &mut Vec<u8> {
        match &mut self.open {
            Some(staged) => staged.staging.vector(),
            None => &mut self.plain,
        }
    }

    /// Returns the appended bytes that are still in the open vector.
    pub(crate) fn formed(&self) -> &[u8] {
        self.open.as_ref().map_or(&self.plain, |staged| staged.staging.bytes())
    }

    /// Returns the open vector when it is registered.
    pub(crate) fn registered(&self) -> Option<&Staged<S>> {
        self.open.as_ref()
    }

    /// Commits all bytes that were appended.
    pub(crate) fn commit(&mut self) {
        self.committed = self.formed().len();
    }

    /// Returns how many committed bytes of the open vector are not posted.
    pub(crate) fn rest(&self) -> usize {
        self.committed - self.sent
    }

    /// Returns how many committed bytes are not posted, in the open vector and in flight.
    pub(crate) fn unsent(&self) -> usize {
        self.rest() + self.partial().map_or(0, |sending| sending.len - sending.posted)
    }

    /// Returns the vector in flight that has bytes left to post.
    pub(crate) fn partial(&self) -> Option<&Sending<S>> {
        self.sending.back().filter(|sending| sending.posted < sending.len)
    }

    /// Reports whether one more vector may be in flight.
    pub(crate) fn may_send(&self) -> bool {
        self.sending.len() < self.sending_max
    }

    /// Records that `len` bytes of the open vector were posted inline or from a copy.
    pub(crate) fn advance(&mut self, len: usize) {
        self.sent += len;
        if self.sent > self.formed().len() / 2 {
            // Sent bytes are removed, so that a slow peer does not make the vector grow.
            let sent = std::mem::take(&mut self.sent);
            self.vector().drain(..sent);
            self.committed -= sent;
        }
    }

    /// Moves the open vector to the vectors in flight. Its uncommitted bytes move to a new open
    /// vector.
    pub(crate) fn close<Q: Queue<Staging = S>>(
        &mut self,
        queue: &mut Q,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let Some(mut staged) = self.open.take() else { return Ok(()) };
        if staged.staging.bytes().len() > self.committed {
            let mut next = self.empty_vector(queue, counts)?;
            next.staging.vector().extend_from_slice(&staged.staging.bytes()[self.committed..]);
            staged.staging.vector().truncate(self.committed);
            self.open = Some(next);
        }
        // Appending has moved or grown the vector, so the registration no longer covers its bytes.
        if !staged.staging.is_registered() {
            counts.reregistrations += 1;
            let vector = self.unregister(queue, staged);
            staged = self.register(queue, vector, counts)?;
        }
        let (len, posted) = (self.committed, self.sent);
        self.sending.push_back(Sending { staged, len, posted, last: 0 });
        (self.committed, self.sent) = (0, 0);
        Ok(())
    }

    /// Records that a copy of `len` committed bytes of the open vector is in flight.
    pub(crate) fn send_copy(&mut self, staged: Staged<S>, len: usize, last: u64) {
        self.sending.push_back(Sending { staged, len, posted: len, last });
    }

    /// Returns how many bytes a copy holds at most.
    pub(crate) fn copy_len(&self) -> usize {
        self.len
    }

    /// Frees the vectors with a complete last write: all requests up to number `known` are complete.
    pub(crate) fn done<Q: Queue<Staging = S>>(&mut self, queue: &mut Q, known: u64) {
        while let Some(first) = self.sending.front()
            && first.posted == first.len
            && first.last <= known
            && let Some(first) = self.sending.pop_front()
        {
            self.give(queue, first.staged);
        }
    }

    /// Frees a vector for reuse. One that has grown too large is deregistered instead.
    pub(crate) fn give<Q: Queue<Staging = S>>(&mut self, queue: &mut Q, mut staged: Staged<S>) {
        let grown = staged.room > 2 * self.len;
        if grown || self.free.len() == self.sending_max {
            self.unregister(queue, staged);
        } else {
            staged.staging.vector().clear();
            self.free.push(staged);
        }
    }

    /// Reports whether registered vectors exist that hold no bytes.
    pub(crate) fn is_unused(&self) -> bool {
        !self.free.is_empty() || (self.open.is_some() && self.formed().is_empty())
    }

    /// Deregisters all empty vectors.
    pub(crate) fn release<Q: Queue<Staging = S>>(&mut self, queue: &mut Q) {
        if self.formed().is_empty() {
            self.free.extend(self.open.take());
            self.plain = Vec::new();
        }
        while let Some(staged) = self.free.pop() {
            self.unregister(queue, staged);
        }
    }

    /// Returns the number of registered bytes.
    pub(crate) fn pinned_bytes(&self) -> usize {
        self.pinned
    }

    /// Returns how many bytes are held outside of registered memory: the part of the open vector that
    /// outgrew its registration, and the unregistered vector.
    pub(crate) fn loose_bytes(&self) -> usize {
        let grown = self
            .open
            .as_ref()
            .map_or(0, |staged| staged.staging.bytes().len().saturating_sub(staged.room));
        self.plain.capacity() + grown
    }

    fn register<Q: Queue<Staging = S>>(
        &mut self,
        queue: &mut Q,
        vector: Vec<u8>,
        counts: &mut Counts,
    ) -> Result<Staged<S>, Fault> {
        let room = vector.capacity();
        let staging = queue.staging(vector).map_err(Fault::Memory)?;
        self.pinned += room;
        counts.registrations += 1;
        Ok(Staged { staging, room })
    }

    fn unregister<Q: Queue<Staging = S>>(&mut self, queue: &mut Q, staged: Staged<S>) -> Vec<u8> {
        self.pinned -= staged.room;
        queue.unstage(staged.staging)
    }
}
