//! The end of a door, as its handlers see it.

use tokio::sync::watch;

/// Tells handlers when the door is stopped, among the extensions of each request that goes through the router. An answer
/// that would go on for ever ends then.
#[derive(Clone, Debug)]
pub struct DoorStop(watch::Receiver<()>);

impl DoorStop {
    pub(crate) fn new(draining: watch::Receiver<()>) -> DoorStop {
        DoorStop(draining)
    }

    /// Returns when the door is stopped.
    pub async fn stopped(&mut self) {
        // An error means that the door is gone.
        let _ = self.0.changed().await;
    }
}
