//! Subjects: keys that one client has for itself, with the state that the server has acknowledged and the requests that
//! are in doubt.
//!
//! A client's requests to one key are executed in the order of sending, and the log records them in the order of
//! execution. So after a crash the key must show everything acknowledged, and a prefix of the requests in doubt, each
//! executed completely. Any other state is an error.

mod account;
mod allowance;
mod chained;
mod entity;
mod expected;
mod expiring_value;
mod lease;
mod op_words;
mod requests;
pub mod shown;
mod slot;
mod value;

pub(crate) use account::Account;
pub(crate) use allowance::Allowance;
pub(crate) use chained::Chained;
pub(crate) use entity::Entity;
use expected::compare_chain;
pub use expected::{compare, limits, value_of};
pub(crate) use expiring_value::ExpiringValue;
pub(crate) use lease::Lease;
pub use op_words::words_of;
pub(crate) use op_words::words_of_chain;
pub use requests::{Pending, Requests};
pub use slot::{Act, ModelReply, Slot, SlotRequests};
pub(crate) use value::PlainValue;

use crate::wire::RequestWords;
use anyhow::Result;
use scurry_conformance::Value;
use scurry_model::Random;

/// Requests that the crash left in doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InDoubt {
    /// Requests without a reply.
    pub(crate) requests: usize,
    /// Requests among them that were executed, judging by the state after the crash.
    pub(crate) applied: usize,
}

/// Counts of outcomes without which a test would be worthless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Stored answers that were repeated correctly.
    pub(crate) replays: u64,
    /// Chains of several commands that were executed or denied.
    pub(crate) chains: u64,
    /// Refills that happened in time.
    pub(crate) refills: u64,
}

impl Counts {
    pub(crate) fn plus(self, other: Counts) -> Counts {
        Counts {
            replays: self.replays + other.replays,
            chains: self.chains + other.chains,
            refills: self.refills + other.refills,
        }
    }
}

/// Times between which the replies were formed, ms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyTimes {
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

/// A key of one client.
pub(crate) trait Subject: Send {
    /// Returns the key.
    fn key(&self) -> &str;

    /// Returns the next request and records it as sent.
    fn next(&mut self, random: &mut Random) -> RequestWords;

    /// Checks the reply to the oldest open request. Fails if it is wrong.
    fn replied(&mut self, reply: &Value) -> Result<()>;

    /// Returns requests that show the server's state.
    fn state_requests(&self) -> Vec<RequestWords>;

    /// Compares the server's state after a crash, and decides from it which requests in doubt were executed. Fails if
    /// acknowledged effects are missing or a request was executed in part.
    fn check_state(&mut self, replies: &[Value], asked: ReplyTimes) -> Result<InDoubt>;

    /// Repeats requests from before the crash: the requests in doubt and some acknowledged ones. Their replies go to
    /// [`Subject::replied`].
    fn repeat_requests(&mut self, random: &mut Random) -> Vec<RequestWords>;

    /// Returns the counts so far.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}
