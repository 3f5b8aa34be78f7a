//! What the task of a connection does when it wakes.

use super::Connection;
use crate::answerer::Answerer;
use crate::end::End;
use crate::link::ConnectionState;
use scurry_diameter::peer::DisconnectCause;
use std::future::Future;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite};

/// Reads and writes in one turn of the task, after which others have their turn.
const STEPS_MAX: usize = 16;

impl<S: AsyncRead + AsyncWrite + Unpin, A: Answerer> Connection<S, A> {
    /// Does all that can be done now. Ready when the connection has ended, and the peer has got what was left for it.
    pub(super) fn poll(&mut self, task: &mut Context<'_>) -> Poll<End> {
        self.link.wait(task.waker());
        for _ in 0..STEPS_MAX {
            if self.link.must_end() {
                return Poll::Ready(End::Replaced);
            }
            let now_us = self.host.clock.now_us();
            let now_ms = now_us / 1_000;
            self.fill_output(now_us, task);
            self.drain(now_ms);
            let has_written = match self.poll_write(now_ms, task) {
                Ok(has_written) => has_written,
                Err(end) => return Poll::Ready(self.end.take().unwrap_or(end)),
            };
            if self.output.is_done()
                && let Some(end) = self.end.take()
            {
                return Poll::Ready(end);
            }
            let has_read = self.poll_read(now_us, task);
            let has_ticked = self.poll_timer(now_ms, task);
            if !(has_written || has_read || has_ticked) {
                self.publish_counts();
                return Poll::Pending;
            }
        }
        self.publish_counts();
        task.waker().wake_by_ref();
        Poll::Pending
    }

    /// Asks the store, and writes all that is ready while there is room for it.
    fn fill_output(&mut self, now_us: u64, task: &mut Context<'_>) {
        while self.has_room() {
            let out = self.output.bytes();
            if !self.requests.poll_answer(now_us, &mut self.peer, out, task) {
                break;
            }
        }
        let (now_ms, origin) = (now_us / 1_000, &self.host.origin);
        while self.output.len() < self.host.settings.output_len_max {
            let out = self.output.bytes();
            if !self.own.poll_send(now_ms, &mut self.peer, origin, out, task) {
                break;
            }
        }
    }

    /// Ends the connection when the door closes: first the requests under way are answered, for a while, then the peer
    /// is asked to disconnect.
    fn drain(&mut self, now_ms: u64) {
        if !self.link.must_drain() {
            return;
        }
        self.requests.is_draining = true;
        let drain_ms = self.host.settings.drain_ms;
        let until_ms = *self.drain_until_ms.get_or_insert(now_ms.saturating_add(drain_ms));
        if self.requests.is_empty() || until_ms <= now_ms {
            let out = self.output.bytes();
            self.peer.drain(now_ms, DisconnectCause::Rebooting, out, &mut self.events);
            self.take_events(None);
            self.publish(ConnectionState::Closing);
        }
    }

    /// Writes what there is. Returns true if there is room again.
    fn poll_write(&mut self, now_ms: u64, task: &mut Context<'_>) -> Result<bool, End> {
        if self.output.is_done() {
            return Ok(false);
        }
        let had_room = self.has_room();
        loop {
            match self.output.poll_write(&mut self.stream, task) {
                Poll::Ready(Ok(())) if self.output.is_done() => {
                    self.unread_since_ms = None;
                    return Ok(!had_room);
                }
                Poll::Ready(Ok(())) => self.unread_since_ms = None,
                Poll::Ready(Err(error)) => return Err(End::Lost(error)),
                Poll::Pending => break,
            }
        }
        let since_ms = *self.unread_since_ms.get_or_insert(now_ms);
        if since_ms.saturating_add(self.host.settings.write_ms) <= now_ms {
            return Err(End::WriteTimeout);
        }
        Ok(!had_room && self.has_room())
    }

    /// Takes all whole messages, before and after one read. Returns true if there was something.
    fn poll_read(&mut self, now_us: u64, task: &mut Context<'_>) -> bool {
        if self.end.is_some() {
            return false;
        }
        // Messages may wait here since there was no room for answers. The peer is not slow meanwhile.
        let has_taken = self.take_input(now_us);
        if !self.has_room() {
            self.message_since_ms = None;
            return has_taken;
        }
        if self.end.is_some() {
            return true;
        }
        match self.input.poll_read(&mut self.stream, task) {
            Poll::Pending => has_taken,
            Poll::Ready(Ok(0)) => {
                self.end = Some(End::ByPeer);
                true
            }
            Poll::Ready(Ok(_)) => {
                self.take_input(now_us);
                if self.peer.is_open() {
                    self.input.widen();
                }
                true
            }
            Poll::Ready(Err(error)) => {
                self.end = Some(End::Lost(error));
                true
            }
        }
    }

    /// Does what is due, and sets the timer for the next time. A timer that is too early does no harm, so it is not set
    /// again for each message that moves the watchdog.
    fn poll_timer(&mut self, now_ms: u64, task: &mut Context<'_>) -> bool {
        let due_ms = self.due_ms();
        if due_ms <= now_ms {
            let (jitter_ms, out) = (self.host.random.jitter_ms(), self.output.bytes());
            self.peer.tick(now_ms, jitter_ms, out, &mut self.events);
            self.take_events(None);
            if self.message_due_ms().is_some_and(|due_ms| due_ms <= now_ms) {
                self.end.get_or_insert(End::SlowMessage);
            }
            return true;
        }
        if due_ms < self.timer_ms || self.timer.is_elapsed() {
            self.timer.as_mut().reset(self.host.clock.instant(due_ms));
            self.timer_ms = due_ms;
        }
        // A timer that has fired looks for the next time at once.
        self.timer.as_mut().poll(task).is_ready()
    }

    /// Returns when something is due, ms.
    fn due_ms(&self) -> u64 {
        let settings = &self.host.settings;
        let write_ms = self.unread_since_ms.map(|since| since.saturating_add(settings.write_ms));
        let is_open = self.end.is_none() && self.peer.is_open();
        let drain_ms = self.drain_until_ms.filter(|_| is_open);
        let peer_ms = self.peer.next_deadline_ms();
        let all = [peer_ms, write_ms, drain_ms, self.message_due_ms()];
        all.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Returns when the incomplete message must be complete, ms. Before capabilities there is another bound.
    fn message_due_ms(&self) -> Option<u64> {
        let is_open = self.end.is_none() && self.peer.identity().is_some();
        let since_ms = self.message_since_ms.filter(|_| is_open)?;
        Some(since_ms.saturating_add(self.host.settings.message_ms))
    }
}
