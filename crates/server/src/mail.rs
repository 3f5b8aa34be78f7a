//! Messages between threads, their contents, and the mailboxes that carry them. Requests and replies are only bytes
//! here, and none are executed.

pub(crate) mod bell;
pub(crate) mod bundle;
pub(crate) mod calls;
pub(crate) mod mesh;
pub(crate) mod message;
pub(crate) mod report;
