//! Control messages: handling the peer's, and sending the ones that are due.

use crate::codec::{Feature, Memory, Message};
use crate::endpoint::{ASKED_MAX, Endpoint};
use crate::fabric::{Queue, Window};
use crate::fault::Fault;
use crate::settings::Role;

impl<Q: Queue> Endpoint<Q> {
    pub(crate) fn immediate(&mut self, told: u32, now_ms: i64) -> Result<(), Fault> {
        self.send_queue.received()?;
        // An empty immediate announces no data, so it counts against the limit.
        if told == 0 {
            return self.control_rate_limit.spend(now_ms);
        }
        self.control_rate_limit.earn();
        self.send_queue.counts.bytes_in += u64::from(told);
        self.inbound.arrived(told)
    }

    pub(crate) fn message(&mut self, bytes: &[u8], now_ms: i64) -> Result<(), Fault> {
        self.send_queue.received()?;
        let message = Message::decode(bytes)?;
        match (message, self.role) {
            (Message::RegisterXferMemory(memory), _) => {
                // A peer announces a window again only after it has read the full one, so this
                // answers the messages that filled it.
                let taken = self.peer_windows.announced(memory)?;
                self.send_queue.in_flight.answer(taken);
                self.stalled = false;
                return Ok(());
            }
            (Message::GetServerFeature(feature), Role::Server) => {
                // The peer asks faster than it takes our answers.
                if self.asked.len() == ASKED_MAX {
                    return Err(Fault::Flood);
                }
                self.asked.push_back(feature.select);
            }
            (Message::GetServerFeature(_), Role::Client) => {
                let before = self.probed.take().ok_or(Fault::Unasked(message.opcode()))?;
                self.send_queue.in_flight.answer(before);
                return Ok(());
            }
            (Message::SetClientFeature(_), Role::Client) => {
                return Err(Fault::Unasked(message.opcode()));
            }
            (Message::SetClientFeature(_), Role::Server) | (Message::Keepalive, _) => {}
        }
        self.control_rate_limit.spend(now_ms)
    }

    /// Sends the control messages that are due and have room in the queue, and rings the doorbell.
    pub(crate) fn control(&mut self) -> Result<(), Fault> {
        if self.opened && !self.is_gone() {
            self.announce()?;
            self.answer()?;
            self.probe()?;
            self.mark_end()?;
        }
        self.send_queue.ring()
    }

    /// Calls [`Endpoint::control`] where no fault can be returned, and keeps the fault for the next
    /// call that can.
    pub(crate) fn send_control_deferring_fault(&mut self) {
        if self.fault.is_none()
            && !self.dead
            && let Err(fault) = self.control()
        {
            self.fault = Some(fault);
        }
    }

    /// Announces free windows while the peer needs one, and registers one more when none is free.
    fn announce(&mut self) -> Result<(), Fault> {
        while self.inbound.is_full() && self.send_queue.in_flight.has_control_room() {
            if self.inbound.free().is_none() && self.inbound.may_grow() {
                match self.send_queue.queue.window(self.settings.window_len) {
                    Ok(window) => self.inbound.add(window),
                    // The endpoint goes on with the windows that it has.
                    Err(_) => {
                        self.inbound.stop_growing();
                        self.send_queue.counts.windows_refused += 1;
                    }
                }
            }
            let Some(window) = self.inbound.free() else {
                self.send_queue.counts.stalls_in += u64::from(!self.window_stall_counted);
                self.window_stall_counted = true;
                break;
            };
            let length = u32::try_from(self.settings.window_len).expect("16 MiB at most");
            let memory = Memory { address: window.address(), length, key: window.key() };
            self.inbound.announced();
            self.window_stall_counted = false;
            self.send_queue.counts.announcements += 1;
            self.send_queue.send(&Message::RegisterXferMemory(memory), false)?;
        }
        Ok(())
    }

    /// Answers the peer's feature requests: no feature is supported.
    fn answer(&mut self) -> Result<(), Fault> {
        while self.send_queue.in_flight.has_control_room()
            && let Some(select) = self.asked.pop_front()
        {
            let feature = Feature { select, features: 0 };
            self.send_queue.send(&Message::GetServerFeature(feature), false)?;
        }
        Ok(())
    }

    /// Sends a feature request. Its answer proves that the peer has processed all earlier
    /// messages.
    fn probe(&mut self) -> Result<(), Fault> {
        let flight = &self.send_queue.in_flight;
        let wanted = self.settings.probes && self.probed.is_none() && flight.is_half_full();
        if wanted && flight.has_control_room() {
            self.send_queue.send(&Message::GetServerFeature(Feature::default()), false)?;
            self.probed = Some(self.send_queue.in_flight.messages());
        }
        Ok(())
    }

    /// Sends a signalled keepalive when the last requests are not signalled, so that the endpoint
    /// learns when its last write is complete. A keepalive has no other effect.
    fn mark_end(&mut self) -> Result<(), Fault> {
        let flight = &self.send_queue.in_flight;
        let unmarked = flight.has_silent_tail() && flight.has_control_room();
        if self.finishing && self.output.unsent() == 0 && unmarked {
            self.send_queue.send(&Message::Keepalive, true)?;
        }
        Ok(())
    }
}
