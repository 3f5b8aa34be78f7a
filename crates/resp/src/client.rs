//! The client side of RESP: requests from templates, and replies read in place without allocation.

mod reply;
mod request;
mod value;
mod write;

pub use reply::{AmountReply, Stop, WriteReply, read_amount_reply, read_write_reply, skip};
pub use request::{Template, append, encode, words};
pub use value::Value;
pub use write::{write_count, write_number, write_word};
