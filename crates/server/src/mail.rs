//! What passes between threads: messages and what they carry, and the way they take. It knows what requests
//! and replies are as bytes, and executes none.

pub(crate) mod bundle;
pub(crate) mod calls;
pub(crate) mod mesh;
pub(crate) mod message;
pub(crate) mod report;
