//! SIGTERM and SIGINT as events of the loop: the first one drains, the second one ends at once.
//! SIGXFSZ as nothing.

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A file that would grow beyond its limit (`ulimit -f`) fails as on a full disk, and does not end
/// the process.
pub(crate) fn survive_file_limit() -> io::Result<()> {
    // Nobody looks at the flag: what counts is that there is a handler.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

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
