//! Charging as JSON resources: accounts, top-ups, debits, refunds, sessions. [`table`] lists the operations. Routes,
//! roles, answers and the OpenAPI document are all derived from it.

mod answer;
mod body;
mod bounds;
mod build;
mod chain;
mod denial;
mod input;
mod list_cursor;
mod members;
mod openapi;
mod operation;
mod quantity;
mod reading;
mod refusal;
mod reply;
mod routes;
mod statement;
mod strict;
mod table;
mod text;
mod totals;
mod wording;
mod words;

pub(crate) use input::{FaultLocation, field_problem, read_json};
pub(crate) use openapi::security_schemes;
pub(crate) use operation::{Operation, Retry};
pub(crate) use refusal::{Refused, foreign, outcome, refused, wait_s};
pub(crate) use routes::{REPLAYED, ROLES, answer, read_body, routes};
pub(crate) use table::OPERATIONS;
pub(crate) use text::{AccountId, Key};
