//! How committed bytes become writes into the peer's windows.

use crate::endpoint::Endpoint;
use crate::fabric::{Queue, Staging};
use crate::fault::Fault;
use crate::send_queue::Write;
use crate::settings::SendBuffering;

impl<Q: Queue> Endpoint<Q> {
    /// Posts all committed bytes and submits them with one doorbell. Returns false when the peer or the
    /// device must act first; then [`Endpoint::is_writable`] reports when to call again.
    ///
    /// # Errors
    /// [`Fault::Gone`] when the connection is broken, and the fault when the device refuses a request.
    pub fn publish(&mut self) -> Result<bool, Fault> {
        self.guard(|endpoint| {
            if endpoint.is_gone() {
                return Err(Fault::Gone);
            }
            if endpoint.opened {
                match endpoint.settings.output {
                    SendBuffering::InPlace => endpoint.post_in_place()?,
                    SendBuffering::Copied => endpoint.post_copies()?,
                }
                endpoint.note_stall();
            }
            endpoint.control()?;
            Ok(endpoint.unsent() == 0)
        })
    }

    /// Reports whether [`Endpoint::publish`] can post something.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        let open = self.opened && !self.is_gone();
        open && self.peer_windows.room() > 0
            && self.send_queue.in_flight.has_room(1)
            && (self.output.partial().is_some() || self.may_post_open())
    }

    /// Reports whether the next piece of the open vector can be posted: inline, or from one more vector
    /// in flight.
    fn may_post_open(&self) -> bool {
        let piece = self.output.rest().min(self.peer_windows.room());
        self.output.may_send() || self.is_inline(piece)
    }

    fn is_inline(&self, len: usize) -> bool {
        len <= self.send_queue.inline_max()
    }

    fn note_stall(&mut self) {
        let stalled = self.unsent() > 0 && self.peer_windows.room() == 0;
        self.send_queue.counts.stalls_out += u64::from(stalled && !self.stalled);
        self.stalled = stalled;
    }

    /// Posts from the vectors that the replies were formed in: first the rest of the one in flight,
    /// then the open one. Both share one immediate when they fit into the same window.
    fn post_in_place(&mut self) -> Result<(), Fault> {
        let mut untold = 0;
        while self.unsent() > 0 && self.is_writable() {
            if self.output.partial().is_some() {
                untold = self.post_rest(untold)?;
            } else if self.is_inline(self.output.rest().min(self.peer_windows.room())) {
                self.post_inline(untold)?;
                untold = 0;
            } else {
                self.output.close(&mut self.send_queue.queue, &mut self.send_queue.counts)?;
            }
        }
        debug_assert_eq!(untold, 0, "a piece that tells of others follows them");
        Ok(())
    }

    /// Posts a piece of the vector in flight. Returns how many bytes no immediate has announced yet,
    /// because the piece that follows will announce them.
    fn post_rest(&mut self, untold: usize) -> Result<usize, Fault> {
        let room = self.peer_windows.room();
        let next = self.output.rest() > 0 && self.send_queue.in_flight.has_room(2);
        let Some(sending) = self.output.sending.back_mut() else { return Ok(untold) };
        let Some(to) = self.peer_windows.target() else { return Ok(untold) };
        let len = (sending.len - sending.posted).min(room);
        let part = sending.posted..sending.posted + len;
        sending.posted += len;
        let ends = sending.posted == sending.len;
        // If the open vector follows into the same window, its immediate announces both pieces.
        let follows = ends && next && len < room && {
            let inline = self.output.rest().min(room - len) <= self.send_queue.inline_max();
            inline || self.output.may_send()
        };
        let untold = untold + len;
        let immediate = (!follows).then(|| immediate_for(untold));
        let Some(sending) = self.output.sending.back_mut() else { return Ok(untold) };
        let write = Write { part, to, immediate, frees: ends };
        sending.last = self.send_queue.write(&sending.staged.staging, write)?;
        self.peer_windows.wrote(len, self.send_queue.in_flight.messages());
        Ok(if follows { untold } else { 0 })
    }

    /// Posts a short piece of the open vector inline; its bytes may be overwritten at once.
    fn post_inline(&mut self, untold: usize) -> Result<(), Fault> {
        let len = self.output.rest().min(self.peer_windows.room());
        let Some(to) = self.peer_windows.target() else { return Ok(()) };
        let part = self.output.sent..self.output.sent + len;
        // Replies are formed in an unregistered vector only after a fault.
        let Some(staged) = self.output.registered() else { return Err(Fault::Gone) };
        let write = Write { part, to, immediate: Some(immediate_for(untold + len)), frees: false };
        self.send_queue.write(&staged.staging, write)?;
        self.peer_windows.wrote(len, self.send_queue.in_flight.messages());
        self.output.advance(len);
        Ok(())
    }

    /// Posts copies of the committed bytes, each in a registered vector of the same capacity.
    fn post_copies(&mut self) -> Result<(), Fault> {
        while self.unsent() > 0 && self.is_writable() {
            let len = self.output.rest().min(self.peer_windows.room()).min(self.output.copy_len());
            let Some(to) = self.peer_windows.target() else { return Ok(()) };
            let mut staged = self
                .output
                .empty_vector(&mut self.send_queue.queue, &mut self.send_queue.counts)?;
            let from = self.output.sent;
            staged.staging.vector().extend_from_slice(&self.output.formed()[from..from + len]);
            self.send_queue.counts.copies_out += 1;
            self.send_queue.counts.copied_out_bytes += len as u64;
            let inline = self.is_inline(len);
            let write =
                Write { part: 0..len, to, immediate: Some(immediate_for(len)), frees: !inline };
            let last = self.send_queue.write(&staged.staging, write)?;
            self.peer_windows.wrote(len, self.send_queue.in_flight.messages());
            if inline {
                self.output.give(&mut self.send_queue.queue, staged);
            } else {
                self.output.send_copy(staged, len, last);
            }
            self.output.advance(len);
        }
        Ok(())
    }
}

/// Returns the immediate that announces `len` bytes of one window.
fn immediate_for(len: usize) -> u32 {
    u32::try_from(len).expect("a window has 16 MiB at most")
}
