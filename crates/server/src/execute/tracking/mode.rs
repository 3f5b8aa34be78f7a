//! CLIENT TRACKING as one connection has switched it on.

use super::append_push;
use crate::mail::bundle::Tracker;
use crate::ticket::Sender;
use crate::ticket::Ticket;
use scurry_resp::table::Spec;

/// Which reads are tracked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All reads.
    #[default]
    All,
    /// Reads of the command after CLIENT CACHING YES.
    OptIn,
    /// All reads, except by the command after CLIENT CACHING NO.
    OptOut,
}

/// Options of CLIENT TRACKING that a connection has set, and the pushes that were not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Mode {
    pub(crate) choice: Choice,
    /// True when the client is not notified of its own changes.
    pub(crate) noloop: bool,
    /// CLIENT CACHING applies to the next command.
    pub(crate) caching: bool,
    /// Pushes to be written between replies.
    pushes: Vec<u8>,
}

impl Mode {
    /// Returns the tracker of the next command, for the core that executes it.
    pub(crate) fn tracker(&self, core: u16, ticket: Ticket) -> Tracker {
        let tracks = match self.choice {
            Choice::All => true,
            Choice::OptIn => self.caching,
            Choice::OptOut => !self.caching,
        };
        let sender = Sender { core, connection: ticket.key, client: ticket.client };
        Tracker { sender, tracks, noloop: self.noloop }
    }

    /// Notes that a command is done. CLIENT CACHING applies to one command; other CLIENT commands may come between.
    pub(crate) fn command_done(&mut self, spec: Option<&Spec>) {
        self.caching &= spec.is_some_and(|spec| spec.name.starts_with("CLIENT|"));
    }

    /// Adds a push. None invalidates all keys and replaces all pushes before it. So does a push that would make the
    /// queue longer than `len_max` bytes: a client that reads too slowly has to drop everything.
    pub(crate) fn tell(&mut self, key: Option<&[u8]>, len_max: usize) {
        let key = key.filter(|key| self.pushes.len() + key.len() < len_max);
        if key.is_none() {
            self.pushes = Vec::new();
        }
        append_push(key, &mut self.pushes);
    }

    /// Takes the pushes that wait, if there are any.
    pub(crate) fn take_pushes(&mut self) -> Option<Vec<u8>> {
        (!self.pushes.is_empty()).then(|| std::mem::take(&mut self.pushes))
    }

    /// Returns the memory of the mode and its pushes, bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (size_of::<Mode>() + self.pushes.capacity()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = ">2\r\n$10\r\ninvalidate\r\n_\r\n";

    fn told(mode: &mut Mode) -> String {
        String::from_utf8(mode.take_pushes().unwrap_or_default()).expect("ASCII")
    }

    #[test]
    fn what_waits_is_bounded_and_nothing_of_it_is_lost() {
        let mut mode = Mode::default();
        mode.tell(Some(b"k"), 1_000);
        mode.tell(Some(b"m"), 1_000);
        let push = |key: &str| format!(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\n{key}\r\n");
        assert_eq!(told(&mut mode), push("k") + &push("m"));
        assert_eq!(told(&mut mode), "");
        for _ in 0..1_000 {
            mode.tell(Some(b"k"), 1_000);
            assert!(mode.memory_bytes() < 3_000);
        }
        mode.tell(Some(b"m"), 1_000_000);
        let all = told(&mut mode);
        assert!(all.starts_with(ALL) && all.ends_with(&push("m")), "{all}");
        mode.tell(Some(b"k"), 1_000);
        mode.tell(None, 1_000);
        assert_eq!(told(&mut mode), ALL);
    }

    #[test]
    fn caching_is_said_of_one_command_which_is_not_about_clients() {
        let spec = |container: &str, name: &str| {
            scurry_resp::table::find(container.as_bytes())?.subcommand(name.as_bytes())
        };
        let ticket = Ticket { key: 0, client: 1 };
        for (choice, first, then) in
            [(Choice::All, true, true), (Choice::OptIn, true, false), (Choice::OptOut, false, true)]
        {
            let mut mode = Mode { choice, caching: true, ..Mode::default() };
            mode.command_done(spec("CLIENT", "INFO"));
            assert_eq!(mode.tracker(0, ticket).tracks, first);
            mode.command_done(spec("CONFIG", "GET"));
            assert_eq!(mode.tracker(0, ticket).tracks, then);
            mode.caching = true;
            mode.command_done(None);
            assert_eq!(mode.tracker(0, ticket).tracks, then);
        }
    }
}
