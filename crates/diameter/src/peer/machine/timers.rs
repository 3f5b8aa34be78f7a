//! What is due on a connection, and when.

use super::{Peer, State};
use crate::header::command;
use crate::peer::base_message;
use crate::peer::close_reason::CloseReason;
use crate::peer::counts::PeerError;
use crate::peer::event::Event;
use crate::peer::watchdog::{WatchdogAction, WatchdogState};

impl Peer {
    /// Does what is due. The host calls it at [`Peer::next_deadline_ms`]; earlier or later does no harm. `jitter_ms` is
    /// at random from -2,000 to 2,000.
    pub fn tick(
        &mut self,
        now_ms: u64,
        jitter_ms: i64,
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) {
        self.jitter_ms = jitter_ms;
        while let Some(token) = self.own.expired(now_ms) {
            self.counts.error(PeerError::Unanswered);
            events.push(Event::Unanswered { token });
        }
        match self.state {
            State::WaitRequest { deadline_ms } | State::WaitAnswer { deadline_ms, .. } => {
                if deadline_ms <= now_ms {
                    self.close(CloseReason::CapabilitiesTimeout, events);
                }
            }
            State::Closing { deadline_ms, .. } => {
                if deadline_ms <= now_ms {
                    self.close(CloseReason::DisconnectTimeout, events);
                }
            }
            State::Open => self.watch(now_ms, out, events),
            State::Closed => {}
        }
    }

    fn watch(&mut self, now_ms: u64, out: &mut Vec<u8>, events: &mut Vec<Event>) {
        match self.watchdog.tick(now_ms, self.jitter_ms) {
            None => {}
            Some(WatchdogAction::Send) => {
                let ids = self.ids.next();
                let header = base_message::request_header(command::DEVICE_WATCHDOG, ids);
                base_message::write_request(out, header, &self.settings.origin, None);
                self.counts.sent(true, header.command);
                self.watchdog_request = Some(ids.hop_by_hop);
            }
            Some(WatchdogAction::Suspect) => {
                self.counts.error(PeerError::Suspected);
                events.push(Event::Watchdog(WatchdogState::Suspect));
            }
            Some(WatchdogAction::Close) => self.close(CloseReason::WatchdogTimeout, events),
        }
    }

    /// Returns when [`Peer::tick`] has something to do, ms; `None` when the connection has ended.
    #[must_use]
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let state_ms = match self.state {
            State::WaitRequest { deadline_ms }
            | State::WaitAnswer { deadline_ms, .. }
            | State::Closing { deadline_ms, .. } => Some(deadline_ms),
            State::Open => self.watchdog.due_ms(),
            State::Closed => None,
        };
        state_ms.into_iter().chain(self.own.next_deadline_ms()).min()
    }
}
