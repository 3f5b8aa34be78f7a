//! Why shipping ends.

use crate::{Positions, SinkError, StoreId};
use scurry_service::{CallError, Refusal};
use std::io;
use thiserror::Error;

/// Why shipping has ended before it was told to.
#[derive(Debug, Error)]
pub enum ShipError {
    /// The store cannot be read.
    #[error("the events of the store cannot be read: {0}")]
    Store(CallError),
    /// The sink does not take the events.
    #[error("{0}")]
    Sink(SinkError),
    /// No thread can be started.
    #[error("no thread can be started for reading: {0}")]
    Thread(#[from] io::Error),
    /// The state of the store cannot be read.
    #[error("the state of the store cannot be read: {0}")]
    State(String),
    /// It was told to end while it read the state.
    #[error("ended before the state was shipped")]
    Ended,
    /// The log of the store does not have a position that the sink has.
    #[error(
        "the sink is at position {position} of store {store}, and the store says: {refusal}. If it was restored, ship \
         into a new place"
    )]
    Ahead {
        /// The store.
        store: StoreId,
        /// The positions of the sink.
        position: Positions,
        /// What the store says.
        refusal: Refusal,
    },
}
