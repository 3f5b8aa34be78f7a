//! Ships events: reads what a store has committed, and delivers it to a sink, each event in order per account, at least
//! once. A sink keeps the positions that it has reached together with what it was given, so nothing else is kept, and a
//! sink that can do both in one step has each event once.
//!
//! A sink is a crate under `sinks`. This crate has what all of them share: events as records in JSON and Protobuf, the
//! filter, the loop between a store and a sink, its figures.

mod encode;
mod filter;
mod measures;
mod positions;
mod reader;
mod record;
mod ship_error;
mod shipper;
mod sink;
mod state;

pub use encode::{Form, decode, encode};
pub use filter::Filter;
pub use measures::{Figures, Measures};
pub use positions::{ParsePositionsError, Positions, StoreId};
pub use reader::Begin;
pub use record::{Record, base64, date, time_of};
pub use ship_error::ShipError;
pub use shipper::{Origin, Shipping, ship};
pub use sink::{Delivery, Sink, SinkError};
pub use state::{STATE_EVENTS, State};
