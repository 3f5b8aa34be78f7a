//! RESP as a client of stores speaks it: requests from templates, replies without allocation.

mod reply;
mod request;
mod value;

pub use reply::{Stop, WriteReply, read_write_reply, skip};
pub use request::{Template, append, encode, words};
pub use value::Value;
