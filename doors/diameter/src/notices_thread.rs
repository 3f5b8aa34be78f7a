//! The thread that follows the store's events. Thousands of top-ups at once are as many events to be decoded, and no
//! charging request waits for them.

use crate::open_error::OpenError;
use crate::peer_table::PeerTable;
use scurry_service::Service;
use scurry_session_notices::{NoticeCounters, follow};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// How long tasks of the store's client may take to end with the thread.
const TASKS_PATIENCE: Duration = Duration::from_secs(1);

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct NoticesThread {
    _stop: oneshot::Sender<()>,
    _thread: JoinHandle<()>,
}

impl NoticesThread {
    /// Follows a store of its own: connections belong to the thread that has made them.
    ///
    /// # Errors
    /// When the system refuses to start a thread.
    pub(crate) fn start(
        store: impl FnOnce(&Handle) -> Arc<dyn Service>,
        peers: Arc<PeerTable>,
        counters: Arc<NoticeCounters>,
    ) -> Result<NoticesThread, OpenError> {
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(OpenError::Threads)?;
        let store = store(runtime.handle());
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("notices".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = follow(store, peers, counters) => {}
                    // An error means that the door was dropped.
                    _ = stopped => {}
                }
            });
            runtime.shutdown_timeout(TASKS_PATIENCE);
        });
        let thread = thread.map_err(OpenError::Threads)?;
        Ok(NoticesThread { _stop: stop, _thread: thread })
    }
}
