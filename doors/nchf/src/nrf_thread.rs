//! The thread that keeps the door registered at an NRF.

use scurry_sbi::nrf::{NrfStatus, NrfView, Registration};
use std::io;
use std::thread::{self, JoinHandle};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// The thread. It deregisters the door when it is ended, or dropped.
#[derive(Debug)]
pub(crate) struct NrfThread {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
    status: NrfStatus,
}

impl NrfThread {
    /// Registers, and keeps the registration.
    pub(crate) fn start(registration: Registration) -> io::Result<NrfThread> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let status = registration.status();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("nrf".to_owned()).spawn(move || {
            runtime.block_on(registration.run(async {
                // An error means that the door was dropped.
                let _ = stopped.await;
            }));
        })?;
        Ok(NrfThread { stop, thread, status })
    }

    pub(crate) fn view(&self) -> NrfView {
        self.status.view()
    }

    /// Deregisters. Blocks for about a second at most.
    pub(crate) fn end(self) {
        // An error means that the thread has already ended.
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}
