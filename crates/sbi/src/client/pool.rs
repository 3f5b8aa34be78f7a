//! Connections that are kept: one for each origin, and a bounded number of them.

use super::connection::Connection;
use super::error::CallError;
use super::uri::Origin;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Connections that are kept.
#[derive(Debug)]
pub(crate) struct Pool {
    connections_max: usize,
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    by_origin: BTreeMap<Origin, Used>,
    /// Number of uses so far.
    uses: u64,
}

#[derive(Debug)]
struct Used {
    slot: Arc<Slot>,
    /// The last of all uses that was of this slot.
    last: u64,
}

/// The place of the connection to one origin. It is locked while the connection is made.
type Slot = tokio::sync::Mutex<Option<Arc<Connection>>>;

/// A connection that is in use. Unless the exchange is completed, no other one will use it.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: Arc<Connection>,
    is_completed: bool,
    /// While this is held, the pool does not give the place to another origin.
    _slot: Arc<Slot>,
}

impl Pool {
    pub(crate) fn new(connections_max: usize) -> Pool {
        Pool { connections_max, slots: Mutex::default() }
    }

    /// Returns the connection to this origin, which `connect` makes if there is none.
    ///
    /// # Errors
    /// When all connections are in use, or `connect` fails.
    pub(crate) async fn lease(
        &self,
        origin: &Origin,
        connect: impl AsyncFnOnce() -> Result<Connection, CallError>,
    ) -> Result<Lease, CallError> {
        let slot = self.slot(origin)?;
        let mut place = slot.lock().await;
        let usable = place.as_ref().filter(|connection| connection.is_usable());
        let connection = match usable {
            Some(connection) => Arc::clone(connection),
            None => {
                // The former one ends when its last exchange does.
                *place = None;
                let connection = Arc::new(connect().await?);
                *place = Some(Arc::clone(&connection));
                connection
            }
        };
        drop(place);
        Ok(Lease { connection, is_completed: false, _slot: slot })
    }

    fn slot(&self, origin: &Origin) -> Result<Arc<Slot>, CallError> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.uses += 1;
        let last = slots.uses;
        if let Some(used) = slots.by_origin.get_mut(origin) {
            used.last = last;
            return Ok(Arc::clone(&used.slot));
        }
        if slots.by_origin.len() >= self.connections_max {
            let idle =
                slots.by_origin.iter().filter(|(_, used)| Arc::strong_count(&used.slot) == 1);
            let longest_idle =
                idle.min_by_key(|(_, used)| used.last).map(|(origin, _)| origin.clone());
            let longest_idle = longest_idle.ok_or(CallError::Busy(self.connections_max))?;
            slots.by_origin.remove(&longest_idle);
        }
        let slot = Arc::new(Slot::default());
        slots.by_origin.insert(origin.clone(), Used { slot: Arc::clone(&slot), last });
        Ok(slot)
    }
}

impl Lease {
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Leaves the connection to other exchanges.
    pub(crate) fn complete(mut self) {
        self.is_completed = true;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.is_completed {
            self.connection.retire();
        }
    }
}
