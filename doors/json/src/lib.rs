//! The door to charging as JSON resources: accounts, top-ups, debits, refunds, sessions. `table.rs` lists the
//! operations. Routes, roles, answers and the OpenAPI document are all derived from it. [`routes`] answers every
//! request; [`Direct`] answers operations with less work.

mod answer;
mod answers_from_replies;
mod body;
mod bounds;
mod build;
mod chain;
mod console_key;
mod console_lists;
mod denial;
mod events;
mod fast_path;
mod holds;
mod http_wording;
mod input;
mod list_cursor;
mod lookup;
mod members;
mod openapi;
mod operation;
mod quantity;
mod refusal;
mod routes;
mod security;
mod sessions;
mod statement;
mod table;
mod text;
mod totals;

pub use fast_path::DirectCharging;
pub use operation::Retry;
pub use refusal::{StoreFailure, refused, wait_s, wrong_shape};
pub use routes::{REPLAYED, routes};
pub use text::{AccountId, Key};
