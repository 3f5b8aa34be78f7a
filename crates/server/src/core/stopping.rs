//! The end of a server. SIGTERM and SIGINT are events of the loop: the first one drains, the second one ends at once
//! (SIGXFSZ is ignored). Draining means to answer what clients have sent and to stop listening.

use super::Core;
use crate::mail::message::Message;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Installs a handler for SIGXFSZ, so that a write beyond the file size limit (`ulimit -f`) fails as on a full disk and
/// does not end the process.
pub(crate) fn survive_file_limit() -> io::Result<()> {
    // The flag is never read; the presence of a handler is what matters.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Lets SIGTERM and SIGINT end the process until this is dropped. While a store is opened, or a node asks for a long
/// time to be admitted, no client waits for an answer. The first process of a container would ignore the signals
/// without a handler.
pub(crate) struct EndsWhileStarting(Arc<AtomicBool>);

impl EndsWhileStarting {
    pub(crate) fn new() -> io::Result<EndsWhileStarting> {
        let is_starting = Arc::new(AtomicBool::new(true));
        for signal in [SIGTERM, SIGINT] {
            signal_hook::flag::register_conditional_shutdown(signal, 0, Arc::clone(&is_starting))?;
        }
        Ok(EndsWhileStarting(is_starting))
    }
}

impl Drop for EndsWhileStarting {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A source of signal events for the poller.
pub(crate) struct Signals(signal_hook_mio::v1_0::Signals);

impl Signals {
    /// Installs the handlers. From now on these signals alone do not end the process.
    pub(crate) fn new() -> io::Result<Signals> {
        signal_hook_mio::v1_0::Signals::new([SIGTERM, SIGINT]).map(Signals)
    }

    pub(crate) fn source(&mut self) -> &mut impl mio::event::Source {
        &mut self.0
    }

    /// Returns the number of signals since the last call.
    pub(crate) fn pending(&mut self) -> usize {
        self.0.pending().count()
    }
}

impl Core {
    pub(super) fn signalled(&mut self) {
        let pending = self.signals.as_mut().map_or(0, Signals::pending);
        for _ in 0..pending {
            if self.drain_until_ms.is_some() {
                tracing::warn!("stopping at once: a second signal came");
                std::process::exit(1);
            }
            self.stop();
        }
    }

    /// Stops the server: every core answers what its clients have sent.
    pub(super) fn stop(&mut self) {
        let clients = self.node.shared.clients.load(Ordering::Relaxed);
        tracing::info!(clients, "stopping: answering what was sent");
        self.drain();
        self.tell_others_to_drain();
    }

    pub(super) fn tell_others_to_drain(&mut self) {
        for core in self.node.mesh.others() {
            self.node.mesh.send(core, Message::Drain);
        }
    }

    /// Stops listening and lets connections end.
    pub(super) fn drain(&mut self) {
        if self.drain_until_ms.is_some() {
            return;
        }
        self.drain_until_ms = Some(self.node.now.uptime_ms + self.node.settings.drain_ms_max);
        self.acceptors.clear();
        self.node.mesh.intake().close();
        if let Some(adapter) = &mut self.adapter {
            adapter.stop_listening();
        }
        self.node.draining_since_ms = Some(self.node.now.uptime_ms);
        self.node.durable.end_watches();
        for (_, connection) in &mut self.connections {
            connection.drain();
        }
    }

    /// Queues every connection. While draining each one gets a turn in every round, which finds out whether it is
    /// quiet.
    pub(super) fn enqueue_all(&mut self) {
        for (key, connection) in &mut self.connections {
            self.queue.push(key, connection, self.node.now.uptime_ms);
        }
    }

    /// Reports whether this core and all others have finished with their clients.
    pub(super) fn has_ended(&mut self) -> bool {
        let Some(until_ms) = self.drain_until_ms else { return false };
        if !self.drained {
            let late = self.node.now.uptime_ms >= until_ms;
            let is_quiet = self.connections.is_empty() && self.node.has_no_calls();
            if !is_quiet && !late {
                return false;
            }
            if late {
                let clients = self.connections.len();
                tracing::warn!(clients, "stopped: some clients did not take their replies in time");
            }
            self.end_drain();
        }
        // The loop goes on until all cores have finished: clients of other cores may need this one.
        self.node.shared.draining.load(Ordering::Acquire) == 0
    }

    pub(super) fn end_drain(&mut self) {
        if !self.drained {
            self.drained = true;
            let left = self.node.shared.draining.fetch_sub(1, Ordering::AcqRel) - 1;
            if left == 0 && self.connections.is_empty() {
                tracing::info!("stopped: every client has its replies");
            }
        }
    }
}
