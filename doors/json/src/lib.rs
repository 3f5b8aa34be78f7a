//! The door to charging as JSON resources: accounts, top-ups, debits, refunds, sessions. `table.rs` lists the
//! operations. Routes, roles, answers and the OpenAPI document are all derived from it. [`routes`] answers every
//! request; [`Direct`] answers operations with less work.

mod answer;
mod body;
mod bounds;
mod build;
mod chain;
mod denial;
mod direct;
mod input;
mod list_cursor;
mod lookup;
mod members;
mod openapi;
mod operation;
mod quantity;
mod reading;
mod refusal;
mod routes;
mod statement;
mod table;
mod text;
mod totals;
mod wording;

pub use direct::Direct;
pub use operation::Retry;
pub use refusal::{Refused, foreign, refused, wait_s};
pub use routes::{REPLAYED, routes};
pub use text::{AccountId, Key};
