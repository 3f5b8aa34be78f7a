//! Replies and mail that show changes which are not durable yet. Replies of this core's connections and mail to other
//! cores wait in one queue, in the order of the sequences that they show.

use crate::mail::calls::{CallTicket, Outcome};
use crate::mail::message::Message;
use crate::ticket::Ticket;
use std::collections::VecDeque;

/// Replies or mail that have to wait.
pub(crate) enum HeldOutput {
    /// The replies of a connection of this core; the connection itself has them.
    Replies(Ticket),
    /// Mail to another core.
    Mail(u16, Message),
    /// The reply to a call of a door.
    Call(Box<(CallTicket, Outcome)>),
}

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReleaseOutcome {
    /// All that it shows is durable.
    Durable,
    /// The log has failed: whether the changes are durable will never be known.
    Lost,
}

/// All waiting items of one core. Bounded by the connections, each of which waits for its replies.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<(u64, HeldOutput)>,
    bytes: u64,
}

impl HeldOutput {
    /// Returns the memory that is not counted elsewhere, bytes.
    fn memory_bytes(&self) -> u64 {
        match self {
            // A door's replies are small, and bounded by its own requests under way.
            HeldOutput::Replies(_) | HeldOutput::Call(_) => 0,
            HeldOutput::Mail(_, message) => message.memory_bytes(),
        }
    }
}

impl Queue {
    pub(super) fn push(&mut self, sequence: u64, held: HeldOutput) {
        self.bytes += held.memory_bytes();
        self.waiting.push_back((sequence, held));
    }

    /// Removes and returns the next item that may leave or is lost, given that the log is durable up to `durable`.
    pub(super) fn pop(
        &mut self,
        durable: u64,
        has_failed: bool,
    ) -> Option<(HeldOutput, ReleaseOutcome)> {
        let &(sequence, _) = self.waiting.front()?;
        let fate = match sequence <= durable {
            true => ReleaseOutcome::Durable,
            false if has_failed => ReleaseOutcome::Lost,
            false => return None,
        };
        let (_, held) = self.waiting.pop_front()?;
        self.bytes -= held.memory_bytes();
        Some((held, fate))
    }

    /// Reports whether the reply to a call waits.
    pub(super) fn has_calls(&self) -> bool {
        self.waiting.iter().any(|(_, held)| matches!(held, HeldOutput::Call(_)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the memory that is not counted elsewhere, bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_and_mail_leave_in_one_order_and_all_is_lost_when_the_log_fails() {
        let mut queue = Queue::default();
        let replies = |key| HeldOutput::Replies(Ticket { key, client: 1 });
        queue.push(1, replies(10));
        queue.push(2, HeldOutput::Mail(3, Message::Drain));
        queue.push(2, replies(20));
        queue.push(4, replies(40));
        let mut left = |durable, has_failed| {
            let mut left = Vec::new();
            while let Some((held, fate)) = queue.pop(durable, has_failed) {
                left.push(match held {
                    HeldOutput::Replies(ticket) => (ticket.key, fate),
                    HeldOutput::Mail(core, _) => (usize::from(core), fate),
                    HeldOutput::Call(_) => unreachable!("none was held"),
                });
            }
            left
        };
        assert_eq!(left(0, false), []);
        let leaving = [10, 3, 20].map(|key| (key, ReleaseOutcome::Durable));
        assert_eq!(left(2, false), leaving);
        assert_eq!(left(3, true), [(40, ReleaseOutcome::Lost)]);
        assert!(queue.is_empty());
    }
}
