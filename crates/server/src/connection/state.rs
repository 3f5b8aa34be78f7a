//! The state of a connection in three enums: what it executes, what it can read, and what it can send.

use crate::adapter::Arrival;
use crate::connection::gather::GatheredRequests;
use crate::mail::report::{Answer, Question};

/// The activity or wait of a connection.
#[derive(Debug)]
pub(super) enum ConnectionState {
    /// Executes requests as they arrive.
    Serving,
    /// Waits for replies of other cores. Closes after them when they are the `last`.
    Gathering { gather: Box<GatheredRequests>, last: bool },
    /// Waits for the cores' answers to a question; `missing` have not answered yet.
    Asking { missing: usize, told: Vec<Answer> },
    /// Waits for the reply to one request: the verdict on the password of an AUTH or HELLO, or events.
    Awaiting,
    /// Executes nothing more; closes when the replies are sent.
    Closing,
    /// Has closed its sending side and waits for the peer to close, so that the peer reads the last replies and does
    /// not see a reset. Input is discarded meanwhile, up to a number of bytes and not beyond `until_ms`, ms of uptime.
    Lingering { discarded: usize, until_ms: i64 },
}

impl ConnectionState {
    /// Reports whether no request may be executed before another core or thread has acted.
    pub(super) fn is_paused(&self) -> bool {
        matches!(
            self,
            ConnectionState::Gathering { .. }
                | ConnectionState::Asking { .. }
                | ConnectionState::Awaiting
        )
    }

    /// Reports whether the connection can do nothing before another core answers.
    pub(super) fn is_away(&self) -> bool {
        match self {
            ConnectionState::Gathering { gather, .. } => gather.away > 0,
            ConnectionState::Asking { .. } | ConnectionState::Awaiting => true,
            ConnectionState::Serving
            | ConnectionState::Closing
            | ConnectionState::Lingering { .. } => false,
        }
    }

    /// Returns the memory of replies and answers held here, bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        match self {
            ConnectionState::Gathering { gather, .. } => gather.memory_bytes(),
            ConnectionState::Asking { told, .. } => told.iter().map(Answer::memory_bytes).sum(),
            _ => 0,
        }
    }
}

/// Whether there is input to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputReadiness {
    /// Nothing to read until the socket reports it.
    Quiet,
    /// The socket may hold more than was read.
    Readable,
    /// The socket has announced the end of input after what can still be read.
    Ending { readable: bool },
    /// The end was read, whether or not the socket `announced` it.
    Ended { announced: bool },
}

impl InputReadiness {
    /// Reports whether the end is announced and not yet read.
    pub(super) fn is_ending(self) -> bool {
        matches!(self, InputReadiness::Ending { .. })
    }

    /// Records a read event of the socket.
    pub(super) fn notice(&mut self, readable: bool, end: bool) {
        *self = match *self {
            InputReadiness::Quiet | InputReadiness::Readable if end => {
                InputReadiness::Ending { readable: true }
            }
            InputReadiness::Quiet if readable => InputReadiness::Readable,
            InputReadiness::Ending { readable: before } => {
                InputReadiness::Ending { readable: before || readable || end }
            }
            InputReadiness::Ended { announced } => {
                InputReadiness::Ended { announced: announced || end }
            }
            same => same,
        };
    }

    /// Records the result of a read.
    pub(super) fn took(&mut self, arrival: Arrival) {
        *self = match (arrival, *self) {
            (Arrival::More(_), same) => same,
            (Arrival::Drained(len), InputReadiness::Ending { .. }) => {
                InputReadiness::Ending { readable: len > 0 }
            }
            (Arrival::Drained(_), InputReadiness::Readable) => InputReadiness::Quiet,
            (Arrival::Drained(_), same) => same,
            (Arrival::End, before) => InputReadiness::Ended { announced: before.has_end() },
        };
    }

    pub(super) fn is_readable(self) -> bool {
        matches!(self, InputReadiness::Readable | InputReadiness::Ending { readable: true })
    }

    pub(super) fn has_ended(self) -> bool {
        matches!(self, InputReadiness::Ended { .. })
    }

    /// Reports whether the socket has announced the end.
    pub(super) fn has_end(self) -> bool {
        matches!(self, InputReadiness::Ending { .. } | InputReadiness::Ended { announced: true })
    }
}

/// Whether replies may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlet {
    Open,
    /// The socket accepts no more until it reports that it is writable.
    Blocked,
    /// Held until the log is durable up to this sequence, which the replies show.
    Held(u64),
}

impl Outlet {
    pub(super) fn is_held(self) -> bool {
        matches!(self, Outlet::Held(_))
    }

    /// Opens the outlet if the log is durable up to the sequence that it waits for.
    pub(super) fn release(&mut self, durable: u64) {
        if matches!(*self, Outlet::Held(sequence) if sequence <= durable) {
            *self = Outlet::Open;
        }
    }
}

/// Why the execution of a connection's requests ended in this turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executed {
    /// Nothing can be executed now.
    Blocked,
    /// More can be executed, after the turns of other connections.
    Yield,
    /// Every core, this one included, has to answer; go on when [`super::Connection::told`] has all answers.
    AskCores(Question),
}

/// The loop's next action after a connection's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterTurn {
    /// Nothing until the socket reports an event.
    AwaitSocket,
    /// Nothing until the log is durable up to this sequence.
    AwaitLog(u64),
    /// Another turn, after the turns of other connections.
    Yield,
    /// Another turn, and a timeout for the peer to close after it has been told.
    Linger,
    /// Close the connection.
    Close,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_that_the_socket_tells_is_not_forgotten_and_comes_last() {
        let mut inlet = InputReadiness::Quiet;
        inlet.notice(true, false);
        inlet.took(Arrival::More(9));
        assert_eq!(inlet, InputReadiness::Readable);
        inlet.took(Arrival::Drained(5));
        assert_eq!(inlet, InputReadiness::Quiet);
        // The end may be announced together with the last bytes, and only once.
        inlet.notice(false, true);
        inlet.took(Arrival::Drained(5));
        assert!(inlet.is_readable() && inlet.has_end() && !inlet.has_ended());
        inlet.took(Arrival::Drained(0));
        assert!(!inlet.is_readable() && inlet.has_end());
        inlet.notice(true, false);
        inlet.took(Arrival::End);
        assert_eq!(inlet, InputReadiness::Ended { announced: true });
        inlet.notice(true, true);
        assert!(inlet.has_ended() && !inlet.is_readable());
    }

    #[test]
    fn an_end_that_was_read_first_is_announced_when_the_socket_says_so() {
        let mut inlet = InputReadiness::Readable;
        inlet.took(Arrival::End);
        assert!(inlet.has_ended() && !inlet.has_end());
        inlet.notice(false, true);
        assert!(inlet.has_ended() && inlet.has_end());
    }

    #[test]
    fn what_is_held_leaves_at_its_sequence() {
        let mut outlet = Outlet::Held(7);
        outlet.release(6);
        assert!(outlet.is_held());
        outlet.release(7);
        assert_eq!(outlet, Outlet::Open);
        outlet = Outlet::Blocked;
        outlet.release(u64::MAX);
        assert_eq!(outlet, Outlet::Blocked);
    }
}
