//! Counters of a connection.

use crate::header::command;

/// Commands that are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// Capabilities-Exchange.
    CapabilitiesExchange,
    /// Device-Watchdog.
    DeviceWatchdog,
    /// Disconnect-Peer.
    DisconnectPeer,
    /// Credit-Control.
    CreditControl,
    /// Re-Auth.
    ReAuth,
    /// Abort-Session.
    AbortSession,
    /// Any other.
    Other,
}

impl CommandKind {
    /// All kinds, in the order of the counters.
    pub const ALL: [CommandKind; 7] = [
        CommandKind::CapabilitiesExchange,
        CommandKind::DeviceWatchdog,
        CommandKind::DisconnectPeer,
        CommandKind::CreditControl,
        CommandKind::ReAuth,
        CommandKind::AbortSession,
        CommandKind::Other,
    ];

    /// Returns its name, for labels of metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CommandKind::CapabilitiesExchange => "capabilities-exchange",
            CommandKind::DeviceWatchdog => "device-watchdog",
            CommandKind::DisconnectPeer => "disconnect-peer",
            CommandKind::CreditControl => "credit-control",
            CommandKind::ReAuth => "re-auth",
            CommandKind::AbortSession => "abort-session",
            CommandKind::Other => "other",
        }
    }

    /// Returns the kind of a command code.
    #[must_use]
    pub const fn of(code: u32) -> CommandKind {
        match code {
            command::CAPABILITIES_EXCHANGE => CommandKind::CapabilitiesExchange,
            command::DEVICE_WATCHDOG => CommandKind::DeviceWatchdog,
            command::DISCONNECT_PEER => CommandKind::DisconnectPeer,
            command::CREDIT_CONTROL => CommandKind::CreditControl,
            command::RE_AUTH => CommandKind::ReAuth,
            command::ABORT_SESSION => CommandKind::AbortSession,
            _ => CommandKind::Other,
        }
    }
}

/// What goes wrong on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerError {
    /// Bytes that are no message.
    Frame,
    /// A message before capabilities were exchanged, or after the end.
    WrongState,
    /// A request that was refused here, without the application.
    Refused,
    /// An answer to no request of ours.
    UnaskedAnswer,
    /// A request of ours that was not answered.
    Unanswered,
    /// A request of ours for which there was no room.
    TableFull,
    /// The watchdog suspected the peer.
    Suspected,
}

impl PeerError {
    /// All errors, in the order of the counters.
    pub const ALL: [PeerError; 7] = [
        PeerError::Frame,
        PeerError::WrongState,
        PeerError::Refused,
        PeerError::UnaskedAnswer,
        PeerError::Unanswered,
        PeerError::TableFull,
        PeerError::Suspected,
    ];

    /// Returns its name, for labels of metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            PeerError::Frame => "frame",
            PeerError::WrongState => "wrong_state",
            PeerError::Refused => "refused",
            PeerError::UnaskedAnswer => "unasked_answer",
            PeerError::Unanswered => "unanswered",
            PeerError::TableFull => "table_full",
            PeerError::Suspected => "watchdog",
        }
    }
}

/// Totals of one connection. The arrays of messages are in the order of [`CommandKind::ALL`], errors in that of
/// [`PeerError::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCounts {
    /// Requests received.
    pub requests_in: [u64; 7],
    /// Answers received.
    pub answers_in: [u64; 7],
    /// Requests sent.
    pub requests_out: [u64; 7],
    /// Answers sent. The host counts those of the application by [`super::Peer::answer_sent`].
    pub answers_out: [u64; 7],
    /// What went wrong.
    pub errors: [u64; 7],
}

impl PeerCounts {
    /// Adds the counters of another connection.
    pub fn add(&mut self, other: &PeerCounts) {
        let PeerCounts { requests_in, answers_in, requests_out, answers_out, errors } = other;
        for (sums, counts) in [
            (&mut self.requests_in, requests_in),
            (&mut self.answers_in, answers_in),
            (&mut self.requests_out, requests_out),
            (&mut self.answers_out, answers_out),
            (&mut self.errors, errors),
        ] {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Returns how often that went wrong.
    #[must_use]
    pub fn errors_of(&self, error: PeerError) -> u64 {
        self.errors[error as usize]
    }

    pub(super) fn error(&mut self, error: PeerError) {
        self.errors[error as usize] += 1;
    }

    pub(super) fn received(&mut self, is_request: bool, code: u32) {
        let counts = if is_request { &mut self.requests_in } else { &mut self.answers_in };
        counts[CommandKind::of(code) as usize] += 1;
    }

    pub(super) fn sent(&mut self, is_request: bool, code: u32) {
        let counts = if is_request { &mut self.requests_out } else { &mut self.answers_out };
        counts[CommandKind::of(code) as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_the_order_of_the_counters() {
        assert!(CommandKind::ALL.iter().enumerate().all(|(at, kind)| *kind as usize == at));
        assert!(PeerError::ALL.iter().enumerate().all(|(at, error)| *error as usize == at));
    }

    #[test]
    fn totals_are_sums() {
        let mut one = PeerCounts::default();
        one.received(true, 272);
        one.received(false, 258);
        one.sent(true, 274);
        one.sent(false, 999);
        one.error(PeerError::Suspected);
        let mut sum = one;
        sum.add(&one);
        assert_eq!((sum.requests_in[3], sum.answers_in[4]), (2, 2));
        assert_eq!((sum.requests_out[5], sum.answers_out[6]), (2, 2));
        assert_eq!(sum.errors_of(PeerError::Suspected), 2);
    }
}
