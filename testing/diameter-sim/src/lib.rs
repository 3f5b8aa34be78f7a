//! A seeded simulator of Diameter doors: two doors before one store, and clients with a connection to each. Links delay,
//! stall, lose their rest and end on one side only; doors and the store's replies fail. Clients send copies of requests,
//! with and without the T flag, over either connection, and fail over and back. Numbers move from account to account
//! while sessions are open. `truth.rs` knows what clients have sent and trusts no door; `effect.rs` says what an event
//! must have done.
//!
//! The peer machines of both sides and the charging are those of the product; the host of a connection, which has
//! sockets in the product, is played here. [`run`] is one seed: a phase in which all may fail, then a phase without
//! failures, at whose end every request is answered, every hold is gone and every unit is accounted for.
#![forbid(unsafe_code)]

mod answer;
mod books;
mod client;
mod door;
mod effect;
mod event;
mod failures;
mod fault;
mod lane;
mod link;
mod plan;
mod report;
mod request;
mod run;
mod services;
mod side;
mod store;
mod truth;
mod watch;
mod world;

pub mod load {
    //! What clients ask, for tests of real doors too.

    pub use crate::answer::{Answer, ServiceAnswer, read as read_answer};
    pub use crate::lane::{Lane, Owner};
    pub use crate::plan::Habits;
    pub use crate::request::{Kind, Part, Quantity, Subscriber, Words, write_copy};
}

pub use fault::Fault;
pub use report::Report;
pub use run::{run, run_with};
