//! What a connection is doing, and how it stands with its peer: one state each for what it executes, for
//! what comes in and for what goes out.

use crate::connection::gather::Gather;
use crate::mail::report::{Answer, Question};
use crate::net::transport::Arrival;

/// The work of a connection, or what it waits for.
#[derive(Debug)]
pub(super) enum Doing {
    /// Executes what comes.
    Serving,
    /// Waits for replies of other cores, and closes behind them when they are the `last`.
    Gathering { gather: Box<Gather>, last: bool },
    /// Waits for what every core says to a question: so many have still to say it.
    Asking { missing: usize, told: Vec<Answer> },
    /// Waits for the reply to one request: the verdict on the password of an AUTH or HELLO, or events.
    Awaiting,
    /// Executes nothing more; closes when the replies are sent.
    Closing,
    /// Has said that nothing more will come; waits for the peer's end, so that the peer sees
    /// the last replies and not a reset. What comes meanwhile is discarded, so many bytes of it, and not
    /// beyond this time, ms of uptime.
    Lingering { discarded: usize, until_ms: i64 },
}

impl Doing {
    /// True while nothing more is executed before somebody else has done something.
    pub(super) fn is_paused(&self) -> bool {
        matches!(self, Doing::Gathering { .. } | Doing::Asking { .. } | Doing::Awaiting)
    }

    /// True when nothing at all can be done before another core says something.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Doing::Gathering { gather, .. } => gather.away > 0,
            Doing::Asking { .. } | Doing::Awaiting => true,
            Doing::Serving | Doing::Closing | Doing::Lingering { .. } => false,
        }
    }

    /// Memory of what waits here, bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        match self {
            Doing::Gathering { gather, .. } => gather.memory_bytes(),
            Doing::Asking { told, .. } => told.iter().map(Answer::memory_bytes).sum(),
            _ => 0,
        }
    }
}

/// Bytes that may still come from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inlet {
    /// Nothing before the socket says so.
    Quiet,
    /// The socket may hold more than was read.
    Readable,
    /// The socket has said that the end comes after what can be read.
    Ending { readable: bool },
    /// Nothing: the end was read, `announced` by the socket or not.
    Ended { announced: bool },
}

impl Inlet {
    /// True when the socket has said that the end comes.
    pub(super) fn is_ending(self) -> bool {
        matches!(self, Inlet::Ending { .. })
    }

    /// The socket says something about reading.
    pub(super) fn notice(&mut self, readable: bool, end: bool) {
        *self = match *self {
            Inlet::Quiet | Inlet::Readable if end => Inlet::Ending { readable: true },
            Inlet::Quiet if readable => Inlet::Readable,
            Inlet::Ending { readable: before } => {
                Inlet::Ending { readable: before || readable || end }
            }
            Inlet::Ended { announced } => Inlet::Ended { announced: announced || end },
            same => same,
        };
    }

    /// Something was read.
    pub(super) fn took(&mut self, arrival: Arrival) {
        *self = match (arrival, *self) {
            (Arrival::More(_), same) => same,
            (Arrival::Drained(len), Inlet::Ending { .. }) => Inlet::Ending { readable: len > 0 },
            (Arrival::Drained(_), Inlet::Readable) => Inlet::Quiet,
            (Arrival::Drained(_), same) => same,
            (Arrival::End, before) => Inlet::Ended { announced: before.has_end() },
        };
    }

    pub(super) fn is_readable(self) -> bool {
        matches!(self, Inlet::Readable | Inlet::Ending { readable: true })
    }

    pub(super) fn has_ended(self) -> bool {
        matches!(self, Inlet::Ended { .. })
    }

    /// True when the socket has told of the end.
    pub(super) fn has_end(self) -> bool {
        matches!(self, Inlet::Ending { .. } | Inlet::Ended { announced: true })
    }
}

/// Whether replies may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlet {
    Open,
    /// The socket takes nothing until it says so.
    Blocked,
    /// Until the log is durable up to this sequence, which they show.
    Held(u64),
}

impl Outlet {
    pub(super) fn is_held(self) -> bool {
        matches!(self, Outlet::Held(_))
    }

    /// The log is durable up to here.
    pub(super) fn release(&mut self, durable: u64) {
        if matches!(*self, Outlet::Held(sequence) if sequence <= durable) {
            *self = Outlet::Open;
        }
    }
}

/// End of the execution of a connection's requests, for this turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executed {
    /// Nothing is left to be executed now.
    Wait,
    /// There is more, after the turns of the others.
    Again,
    /// Ask every core, this one included, and go on when [`super::Connection::told`] has all answers.
    Ask(Question),
}

/// Orders to the loop after a connection's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing until the socket says something.
    Wait,
    /// Nothing until the log is durable up to this sequence.
    Hold(u64),
    /// Another turn, after those of the others.
    Again,
    /// Another turn, and the end after a while: the peer has been told, and is waited for.
    Linger,
    /// The end.
    Close,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_that_the_socket_tells_is_not_forgotten_and_comes_last() {
        let mut inlet = Inlet::Quiet;
        inlet.notice(true, false);
        inlet.took(Arrival::More(9));
        assert_eq!(inlet, Inlet::Readable);
        inlet.took(Arrival::Drained(5));
        assert_eq!(inlet, Inlet::Quiet);
        // The end may come together with the last bytes, and is not told again.
        inlet.notice(false, true);
        inlet.took(Arrival::Drained(5));
        assert!(inlet.is_readable() && inlet.has_end() && !inlet.has_ended());
        inlet.took(Arrival::Drained(0));
        assert!(!inlet.is_readable() && inlet.has_end());
        inlet.notice(true, false);
        inlet.took(Arrival::End);
        assert_eq!(inlet, Inlet::Ended { announced: true });
        inlet.notice(true, true);
        assert!(inlet.has_ended() && !inlet.is_readable());
    }

    #[test]
    fn an_end_that_was_read_first_is_announced_when_the_socket_says_so() {
        let mut inlet = Inlet::Readable;
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
