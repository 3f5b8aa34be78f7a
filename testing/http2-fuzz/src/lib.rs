//! A fuzzer of HTTP/2 for a real server over TCP: frames, header blocks and states that keep the rules or nearly keep
//! them, floods, changed exchanges and cut connections, all drawn from a seed. Meanwhile good clients have to be answered
//! rightly, and the server may not have more memory, connections or threads than is allowed.
//!
//! It knows frames (RFC 9113) and HPACK (RFC 7541) itself, because a library would not send what is wrong.
#![forbid(unsafe_code)]

mod ask;
mod attack;
mod books;
mod connection;
mod counts;
mod flood;
mod frame;
mod hpack;
mod huffman;
mod report;
mod rules;
mod run;
mod server;
mod wild;

pub use books::GRANT;
pub use report::Report;
pub use rules::{Expected, Rule, State, check, rules};
pub use run::{Settings, run};
pub use server::{Sample, Server};
