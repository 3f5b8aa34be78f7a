//! The seam between doors and stores. A door turns its protocol into a [`Request`] and a [`Reply`] into its protocol; a
//! [`Service`] carries the request out: in this process by mail to the core that owns the account, or on another server
//! over RESP. Requests and replies are the ledger's own types, so that a rule or a field is said once.
#![forbid(unsafe_code)]

mod arguments;
mod command;
mod encode;
mod error;
mod reply;
mod request;
mod service;
mod view;

pub use arguments::Arguments;
pub use command::CommandBuf;
pub use encode::{encode, encode_chain};
pub use error::{CallError, Refusal};
pub use reply::denied;
pub use reply::{Answered, Reply};
pub use request::{Read, Request, SessionStep, Write, command_name, with_links};
pub use service::{Call, Service};
pub use view::*;
