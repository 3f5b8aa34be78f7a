//! The stores that doors ask: the cores of this process ([`Engine`]), and servers that are reached over RESP
//! ([`RespStore`]). Both implement [`scurry_service::Service`]. A [`Line`] is one connection to a server, which many
//! requests share.

mod engine;
mod heard;
mod inbox;
mod line;
mod reply_parser;
mod resp_store;
mod retry;
mod servers;

pub use engine::Engine;
pub use inbox::{Inbox, Ticket, ended};
pub use line::{ConnectOptions, PipelinedConnection};
pub use resp_store::RespStore;
pub use retry::{ASKED_AGAIN_MAX, LOOK_EVERY, pause};
