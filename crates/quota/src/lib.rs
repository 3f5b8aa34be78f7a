//! What doors to networks ask of a store for services with quotas: the account of a subscriber, the items of a command,
//! and how the grants of items are divided among services. A door reads its protocol into [`Asked`] and writes each
//! [`Share`].
#![forbid(unsafe_code)]

mod asked;
mod failure;
mod items;
mod share;
mod subscriber;

pub use asked::Asked;
pub use failure::QuotaFailure;
pub use items::{Items, WrongUse};
pub use share::{Share, TableResult, table_result};
pub use subscriber::{Called, Step, Subscriber};
