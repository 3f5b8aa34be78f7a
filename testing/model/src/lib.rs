//! The independent oracle of the ledger, and the tools to compare the two: a naive model, owned commands, seeded
//! generators, a pair that runs ledger and model side by side, the invariants written a second time, a shrinker, and a
//! naive map of the keys of a shard.

mod books;
mod generate;
mod invariants;
mod keys;
mod model;
mod op;
mod pair;
mod random;
mod scripted_pair;
mod shrink;

pub use books::{ChainOp, ChainResult, PairedAccounts};
pub use generate::Generator;
pub use keys::{EntityOp, KeyContent, Keys, Refused, WriteExpiry};
pub use model::{
    BucketShot, ItemShot, LimitShot, Model, ModelChainResult, ModelResult, SessionShot, Snapshot,
    execute_chain,
};
pub use op::{Op, Request, key, name, with_links};
pub use pair::{CommandOrTick, Event, Pair, StepResult};
pub use random::Random;
pub use scripted_pair::ScriptedPair;
pub use shrink::{guarded, report, run, shrink};
