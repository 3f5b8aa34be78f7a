//! The thread that follows the store's events. Thousands of top-ups at once are as many events to be decoded, and no
//! charging request waits for them.

use crate::counts::NoticeCounters;
use crate::follower::follow;
use crate::notice::Notifier;
use scurry_service::Service;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// How long tasks of the store's client may take to end with the thread.
const TASKS_PATIENCE: Duration = Duration::from_secs(1);

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub struct NoticesThread {
    _stop: oneshot::Sender<()>,
    _thread: JoinHandle<()>,
}

impl NoticesThread {
    /// Follows a store of its own: connections belong to the thread that has made them.
    ///
    /// # Errors
    /// When the system refuses to start a thread.
    pub fn start(
        store: impl FnOnce(&Handle) -> Arc<dyn Service>,
        notifier: Arc<dyn Notifier>,
        counters: Arc<NoticeCounters>,
    ) -> io::Result<NoticesThread> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let store = store(runtime.handle());
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("notices".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = follow(store, notifier, counters) => {}
                    // An error means that the door was dropped.
                    _ = stopped => {}
                }
            });
            runtime.shutdown_timeout(TASKS_PATIENCE);
        })?;
        Ok(NoticesThread { _stop: stop, _thread: thread })
    }
}
