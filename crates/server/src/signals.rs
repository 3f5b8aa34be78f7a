//! SIGTERM and SIGINT as events of the loop: the first one drains, the second one ends at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;

/// A source of events for the poller.
pub(crate) struct Signals(signal_hook_mio::v1_0::Signals);

impl Signals {
    /// From now on the process no longer ends by these signals alone.
    pub(crate) fn new() -> io::Result<Signals> {
        signal_hook_mio::v1_0::Signals::new([SIGTERM, SIGINT]).map(Signals)
    }

    pub(crate) fn source(&mut self) -> &mut impl mio::event::Source {
        &mut self.0
    }

    /// How many have arrived since the last call.
    pub(crate) fn pending(&mut self) -> usize {
        self.0.pending().count()
    }
}
