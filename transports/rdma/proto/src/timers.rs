//! Actions that depend on time: keepalives, closing a silent connection, and releasing unused memory.

use crate::codec::Message;
use crate::endpoint::Endpoint;
use crate::fabric::Queue;
use crate::fault::Fault;
use crate::settings::Role;

/// Time between suspecting that a peer is silent and closing the connection, ms. After the process was
/// stopped for a while, the events that arrived meanwhile are passed on within this time.
const SECOND_LOOK_MS: i64 = 100;

impl<Q: Queue> Endpoint<Q> {
    /// Sends what is due, and checks whether the peer is alive. It should be called at
    /// [`Endpoint::next_due_ms`]; calling it earlier or later does no harm.
    ///
    /// # Errors
    /// [`Fault::Silent`], and the fault when the device refuses a request.
    pub fn tick(&mut self, now_ms: i64) -> Result<(), Fault> {
        if self.ended {
            return Ok(());
        }
        self.guard(|endpoint| {
            endpoint.keep_alive(now_ms)?;
            endpoint.check_peer_alive(now_ms)?;
            endpoint.release_unused_buffers(now_ms);
            endpoint.control()
        })
    }

    /// Returns when [`Endpoint::tick`] has something to do, ms; `None` when nothing is due.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<i64> {
        if self.dead || self.ended {
            return None;
        }
        let keepalive = self.sends_keepalives().then_some(self.keepalive_due_ms);
        let watched = self.settings.silence_ms > 0 && self.is_waiting();
        let since = self.waiting_since_ms.unwrap_or(self.last_event_ms).max(self.last_event_ms);
        let second = self.suspected_ms.map(|ms| ms.saturating_add(SECOND_LOOK_MS));
        let first = since.saturating_add(self.settings.silence_ms);
        let silence = watched.then(|| second.unwrap_or(first));
        let idle = self.output.is_unused();
        let idle = idle.then(|| self.active_ms.saturating_add(self.settings.idle_ms));
        keepalive.into_iter().chain(silence).chain(idle).min()
    }

    fn sends_keepalives(&self) -> bool {
        self.role == Role::Server && self.settings.keepalive_ms > 0 && self.opened
    }

    fn keep_alive(&mut self, now_ms: i64) -> Result<(), Fault> {
        if !self.sends_keepalives() || now_ms < self.keepalive_due_ms {
            return Ok(());
        }
        self.keepalive_due_ms = now_ms.saturating_add(self.settings.keepalive_ms);
        // A full queue needs no keepalive: its requests and their completions are signs of life.
        if self.send_queue.in_flight.has_control_room() {
            self.send_queue.send(&Message::Keepalive, true)?;
        }
        Ok(())
    }

    /// Reports whether the endpoint waits for the device or the peer.
    fn is_waiting(&self) -> bool {
        let window = self.output.unsent() > 0 && self.peer_windows.room() == 0;
        self.opened && (self.send_queue.in_flight.is_awaiting() || self.probed.is_some() || window)
    }

    fn check_peer_alive(&mut self, now_ms: i64) -> Result<(), Fault> {
        let silence_ms = self.settings.silence_ms;
        if silence_ms <= 0 || !self.is_waiting() {
            (self.waiting_since_ms, self.suspected_ms) = (None, None);
            return Ok(());
        }
        let since = *self.waiting_since_ms.get_or_insert(now_ms);
        let silent_ms = now_ms.saturating_sub(since.max(self.last_event_ms));
        if silent_ms < silence_ms {
            self.suspected_ms = None;
            return Ok(());
        }
        // The first silent tick only suspects the peer, since events may wait to be passed on.
        let suspected_ms = *self.suspected_ms.get_or_insert(now_ms);
        if now_ms - suspected_ms < SECOND_LOOK_MS {
            return Ok(());
        }
        Err(Fault::Silent(silent_ms))
    }

    /// Releases unused memory when no data was received or sent for `idle_ms`.
    fn release_unused_buffers(&mut self, now_ms: i64) {
        let bytes = self.send_queue.counts.bytes_in + self.send_queue.counts.bytes_out;
        if std::mem::replace(&mut self.bytes_seen, bytes) != bytes {
            self.active_ms = now_ms;
        } else if now_ms.saturating_sub(self.active_ms) >= self.settings.idle_ms {
            self.inbound.release(true);
            self.output.release(&mut self.send_queue.queue);
        }
    }
}
