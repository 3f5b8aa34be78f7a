//! CLIENT TRACKING as one connection has switched it on.

use super::{Tracker, append_push};
use crate::message::Sender;
use crate::users::Ticket;
use scurry_resp::table::Spec;

/// Which reads are remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All.
    #[default]
    All,
    /// That of the command behind CLIENT CACHING YES.
    OptIn,
    /// All but that of the command behind CLIENT CACHING NO.
    OptOut,
}

/// What a connection has asked for, and what it was not told yet.
#[derive(Debug, Default)]
pub(crate) struct Mode {
    pub(crate) choice: Choice,
    /// It is not told what it has changed itself.
    pub(crate) noloop: bool,
    /// CLIENT CACHING was said of the next command.
    pub(crate) caching: bool,
    /// Pushes for the next place between replies.
    pushes: Vec<u8>,
}

impl Mode {
    /// What a core that executes the next command needs to know.
    pub(crate) fn tracker(&self, core: u16, ticket: Ticket) -> Tracker {
        let remembers = match self.choice {
            Choice::All => true,
            Choice::OptIn => self.caching,
            Choice::OptOut => !self.caching,
        };
        let sender = Sender { core, connection: ticket.key, client: ticket.client };
        Tracker { sender, remembers, noloop: self.noloop }
    }

    /// CLIENT CACHING is said of one command; other CLIENT commands may stand between.
    pub(crate) fn command_done(&mut self, spec: Option<&Spec>) {
        self.caching &= spec.is_some_and(|spec| spec.name.starts_with("CLIENT|"));
    }

    /// Adds a push; none is for all keys, and says what all before have said. Returns the length of
    /// what waits, bytes.
    pub(crate) fn tell(&mut self, key: Option<&[u8]>) -> usize {
        if key.is_none() {
            self.pushes.clear();
        }
        append_push(key, &mut self.pushes);
        self.pushes.len()
    }

    /// What waits, if anything does.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        (!self.pushes.is_empty()).then(|| std::mem::take(&mut self.pushes))
    }

    /// What it holds, bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (size_of::<Mode>() + self.pushes.capacity()) as u64
    }
}
