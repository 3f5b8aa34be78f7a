//! Vectors that replies are formed in and leave from: the one that is open, those that are under way,
//! and those that are free to be used again.

use crate::counts::Counts;
use crate::fabric::{Queue, Staging};
use crate::fault::Fault;
use std::collections::VecDeque;

/// A registered vector.
#[derive(Debug)]
pub(crate) struct Staged<S> {
    pub(crate) staging: S,
    /// Registered, bytes.
    room: usize,
}

/// A vector that something was posted from.
#[derive(Debug)]
pub(crate) struct Sending<S> {
    pub(crate) staged: Staged<S>,
    /// Bytes of it that were committed.
    pub(crate) len: usize,
    /// Bytes of it that were posted.
    pub(crate) posted: usize,
    /// Number of the last write that was posted from it.
    pub(crate) last: u64,
}

/// Bytes that are formed, and bytes that are under way.
#[derive(Debug)]
pub(crate) struct Output<S> {
    /// A registered vector has room for so many bytes.
    len: usize,
    /// Registered vectors that may be under way.
    sending_max: usize,
    /// Replies are formed here, when they leave from where they were formed.
    open: Option<Staged<S>>,
    /// Or here, when they are copied, or when nothing could be registered.
    plain: Vec<u8>,
    /// Bytes of the vector that is open which are formed.
    pub(crate) committed: usize,
    /// Bytes of it that were posted, all of them inline or copied.
    pub(crate) sent: usize,
    /// Only the last may have bytes that were not posted.
    pub(crate) sending: VecDeque<Sending<S>>,
    free: Vec<Staged<S>>,
    /// Registered in all, bytes.
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

    /// A registered vector that is empty.
    pub(crate) fn take<Q: Queue<Staging = S>>(
        &mut self,
        queue: &mut Q,
        counts: &mut Counts,
    ) -> Result<Staged<S>, Fault> {
        match self.free.pop() {
            Some(staged) => Ok(staged),
            None => self.register(queue, Vec::with_capacity(self.len), counts),
        }
    }

    /// Opens a registered vector, when there is none.
    pub(crate) fn open<Q: Queue<Staging = S>>(
        &mut self,
        queue: &mut Q,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        if self.open.is_none() {
            self.open = Some(self.take(queue, counts)?);
        }
        Ok(())
    }

    /// To append replies to.
    pub(crate) fn vector(&mut self) -> &mut Vec<u8> {
        match &mut self.open {
            Some(staged) => staged.staging.vector(),
            None => &mut self.plain,
        }
    }

    /// The bytes that were appended.
    pub(crate) fn formed(&self) -> &[u8] {
        self.open.as_ref().map_or(&self.plain, |staged| staged.staging.bytes())
    }

    /// The vector that is open, when it is registered.
    pub(crate) fn registered(&self) -> Option<&Staged<S>> {
        self.open.as_ref()
    }

    /// Everything that was appended is formed.
    pub(crate) fn commit(&mut self) {
        self.committed = self.formed().len();
    }

    /// Committed bytes of the open vector that were not posted.
    pub(crate) fn rest(&self) -> usize {
        self.committed - self.sent
    }

    /// Committed and not posted, bytes.
    pub(crate) fn unsent(&self) -> usize {
        self.rest() + self.partial().map_or(0, |sending| sending.len - sending.posted)
    }

    /// The vector under way that has bytes left to be posted.
    pub(crate) fn partial(&self) -> Option<&Sending<S>> {
        self.sending.back().filter(|sending| sending.posted < sending.len)
    }

    /// True when one more vector may be under way.
    pub(crate) fn may_send(&self) -> bool {
        self.sending.len() < self.sending_max
    }

    /// So many bytes of the open vector were posted inline or from a copy.
    pub(crate) fn advance(&mut self, len: usize) {
        self.sent += len;
        if self.sent > self.formed().len() / 2 {
            // What is sent makes room, so that a slow peer does not make the vector grow.
            let sent = std::mem::take(&mut self.sent);
            self.vector().drain(..sent);
            self.committed -= sent;
        }
    }

    /// The vector that is open will be sent from. What is in it and not committed goes to another.
    pub(crate) fn close<Q: Queue<Staging = S>>(
        &mut self,
        queue: &mut Q,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let Some(mut staged) = self.open.take() else { return Ok(()) };
        if staged.staging.bytes().len() > self.committed {
            let mut next = self.take(queue, counts)?;
            next.staging.vector().extend_from_slice(&staged.staging.bytes()[self.committed..]);
            staged.staging.vector().truncate(self.committed);
            self.open = Some(next);
        }
        if !staged.staging.is_registered() {
            counts.registered_anew += 1;
            let vector = self.unregister(queue, staged);
            staged = self.register(queue, vector, counts)?;
        }
        let (len, posted) = (self.committed, self.sent);
        self.sending.push_back(Sending { staged, len, posted, last: 0 });
        (self.committed, self.sent) = (0, 0);
        Ok(())
    }

    /// A copy of so many committed bytes of the open vector will be sent.
    pub(crate) fn send_copy(&mut self, staged: Staged<S>, len: usize, last: u64) {
        self.sending.push_back(Sending { staged, len, posted: len, last });
    }

    /// The most that a copy holds, bytes.
    pub(crate) fn copy_len(&self) -> usize {
        self.len
    }

    /// Requests up to this one are done: the vectors that they were posted from can be used again.
    pub(crate) fn done<Q: Queue<Staging = S>>(&mut self, queue: &mut Q, known: u64) {
        while let Some(first) = self.sending.front()
            && first.posted == first.len
            && first.last <= known
            && let Some(first) = self.sending.pop_front()
        {
            self.give(queue, first.staged);
        }
    }

    /// A vector is free. One that has grown is not kept.
    pub(crate) fn give<Q: Queue<Staging = S>>(&mut self, queue: &mut Q, mut staged: Staged<S>) {
        let grown = staged.room > 2 * self.len;
        if grown || self.free.len() == self.sending_max {
            self.unregister(queue, staged);
        } else {
            staged.staging.vector().clear();
            self.free.push(staged);
        }
    }

    /// True when vectors are registered that nothing is in.
    pub(crate) fn is_unused(&self) -> bool {
        !self.free.is_empty() || (self.open.is_some() && self.formed().is_empty())
    }

    /// Gives back the vectors that nothing is in.
    pub(crate) fn release<Q: Queue<Staging = S>>(&mut self, queue: &mut Q) {
        if self.formed().is_empty() {
            self.free.extend(self.open.take());
            self.plain = Vec::new();
        }
        while let Some(staged) = self.free.pop() {
            self.unregister(queue, staged);
        }
    }

    /// Registered, bytes.
    pub(crate) fn pinned_bytes(&self) -> usize {
        self.pinned
    }

    /// Held beside what is registered, bytes: what is not registered of the open vector, and the
    /// vector of our own.
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
