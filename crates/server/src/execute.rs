//! Command execution: a core's state, its commands, and what accompanies each of them (tracking, timing, monitoring).
//! It knows no sockets.

mod calls;
pub(crate) mod client;
pub(crate) mod commands;
pub(crate) mod dispatch;
pub(crate) mod effect;
pub(crate) mod live_setting;
pub(crate) mod monitor;
pub(crate) mod node;
pub(crate) mod subscriptions;
mod suggestions;
pub(crate) mod timing;
pub(crate) mod track;
pub(crate) mod tracking;
pub(crate) mod transaction;
mod transfers;
pub(crate) mod work;
