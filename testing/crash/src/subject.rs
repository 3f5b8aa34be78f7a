//! What one client has for itself: a key of some kind, what the server has acknowledged of it,
//! and what is in doubt.
//!
//! A client's requests to one key are executed in the order in which they were sent, and a log
//! keeps what was executed first. So after a crash the key shows what was acknowledged and some
//! first part of what was in doubt, each request of it as a whole: any other state is an error.

mod account;
mod allowance;
mod chained;
mod entity;
mod expected;
mod fleeting;
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
pub(crate) use fleeting::Fleeting;
pub(crate) use lease::Lease;
pub use op_words::words_of;
use op_words::words_of_chain;
pub use requests::{Pending, Requests};
pub use slot::{Act, Said, Slot, SlotRequests};
pub(crate) use value::PlainValue;

use crate::wire::Words;
use anyhow::Result;
use scurry_conformance::Value;
use scurry_model::Random;

/// Requests that the crash has left in doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// How many had no reply.
    pub(crate) requests: usize,
    /// How many of them were executed, as far as one can see.
    pub(crate) applied: usize,
}

/// Outcomes of requests that a test would be worth nothing without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Stored answers that were given again, and were right.
    pub(crate) replays: u64,
    /// Chains of several commands that were carried out or denied.
    pub(crate) chains: u64,
    /// Refills that came in time.
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

/// Between which times the replies of looks were formed, ms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

/// A key of one client.
pub(crate) trait Subject: Send {
    /// The key.
    fn key(&self) -> &str;

    /// The next request. Remembers that it was sent.
    fn next(&mut self, random: &mut Random) -> Words;

    /// The reply to the oldest request that has none. An error when it is not the right one.
    fn replied(&mut self, reply: &Value) -> Result<()>;

    /// Requests that show what the server has.
    fn looks(&self) -> Vec<Words>;

    /// Replies after a crash: what was in doubt is decided by them. An error when what
    /// was acknowledged is not there, or anything by half.
    fn found(&mut self, replies: &[Value], asked: Asked) -> Result<Doubt>;

    /// Requests from before the crash once more, whose replies are told to
    /// [`Subject::replied`]: those that were in doubt, and some that were acknowledged.
    fn again(&mut self, random: &mut Random) -> Vec<Words>;

    /// Counts so far.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}
