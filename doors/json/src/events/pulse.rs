//! Looks for new events, once for all streams of a door: a stream reads only if there are any.

use scurry_service::{CallError, Follow, FollowFrom, Position, Service};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// Pause between two looks, which an event waits at most.
const POLL: Duration = Duration::from_millis(50);
/// Pause after the store has not answered.
const UNREACHED: Duration = Duration::from_secs(1);

/// The ends of the events of each thread, by its number. Empty before the first look.
pub(super) type Ends = Vec<Position>;

/// Looks for new events while there is a stream.
pub(super) struct Pulse {
    store: Arc<dyn Service>,
    ends: watch::Sender<Ends>,
    is_running: Mutex<bool>,
}

impl Pulse {
    pub(super) fn new(store: Arc<dyn Service>) -> Arc<Pulse> {
        Arc::new(Pulse {
            store,
            ends: watch::Sender::new(Ends::new()),
            is_running: Mutex::new(false),
        })
    }

    /// Returns a receiver of the ends.
    pub(super) fn follow(self: &Arc<Pulse>) -> watch::Receiver<Ends> {
        let mut is_running = self.is_running.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = self.ends.subscribe();
        if !std::mem::replace(&mut *is_running, true) {
            tokio::spawn(Arc::clone(self).run());
        }
        receiver
    }

    async fn run(self: Arc<Pulse>) {
        let mut threads = None;
        while self.is_wanted() {
            let pause = match self.look(threads).await {
                Ok(ends) => {
                    threads = Some(ends.len());
                    self.ends.send_if_modified(|known| {
                        let has_changed = *known != ends;
                        // With another generation the store may have another number of threads.
                        let generation = |ends: &Ends| ends.first().map(|end| end.generation);
                        if generation(known) != generation(&ends) {
                            threads = None;
                        }
                        *known = ends;
                        has_changed
                    });
                    POLL
                }
                Err(error) => {
                    tracing::debug!("the events of the store cannot be read: {error}");
                    threads = None;
                    UNREACHED
                }
            };
            sleep(pause).await;
        }
    }

    /// Reports whether there is a stream. If there is none, the task ends, and the next stream starts another.
    fn is_wanted(&self) -> bool {
        let mut is_running = self.is_running.lock().unwrap_or_else(PoisonError::into_inner);
        *is_running = self.ends.receiver_count() > 0;
        *is_running
    }

    /// Returns the ends of so many threads; None for all.
    async fn look(&self, threads: Option<usize>) -> Result<Ends, CallError> {
        let mut ends = Ends::new();
        while threads.is_none_or(|threads| ends.len() < threads) {
            let thread = u16::try_from(ends.len()).unwrap_or(u16::MAX);
            let from = FollowFrom::Newest(thread);
            match self.store.follow(Follow { from, count: 1, names: Vec::new() }).await {
                Ok(events) => ends.push(events.next),
                // There is no thread with this number.
                Err(CallError::Refused(_)) if threads.is_none() && !ends.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(ends)
    }
}
