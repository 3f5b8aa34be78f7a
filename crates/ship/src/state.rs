//! The state of a store as events, for consumers that have none of its events, or have missed some.
//!
//! A state begins with `state-begin` and ends with `state-end`. Between them each account is told by `account-state`, and
//! its buckets and open sessions by `bucket-state` and `session-state`, all of one version of the account. Events of the
//! store that follow may have the same or an older version: the state has their effect already.

use crate::{Record, ShipError};

/// Reads the state of a store.
pub trait State: Send {
    /// Reads all accounts, each as of one moment from now on, and passes on the events of each. It ends at an error of
    /// `each`. An error of its own says what happened.
    fn read(
        &mut self,
        each: &mut dyn FnMut(Record) -> Result<(), ShipError>,
    ) -> Result<(), ShipError>;
}

/// Names of the events of a state, in their order.
pub const STATE_EVENTS: [&str; 5] =
    ["state-begin", "account-state", "bucket-state", "session-state", "state-end"];
