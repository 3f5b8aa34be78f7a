//! The independent oracle of the ledger, and what compares the two: a naive model, owned
//! commands, seeded generators, a pair that runs ledger and model side by side, invariants
//! written a second time, and a shrinker; and a naive map of the keys of a shard.

mod desk;
mod generate;
mod invariants;
mod keys;
mod model;
mod op;
mod pair;
mod random;
mod shrink;

pub use desk::Desk;
pub use generate::Generator;
pub use keys::{EntityOp, Held, Keys, Refused, Until};
pub use model::{BucketShot, ItemShot, LimitShot, Model, ModelResult, SessionShot, Snapshot};
pub use op::{Op, Request, key, name};
pub use pair::{Came, Event, Pair, What};
pub use random::Random;
pub use shrink::{guarded, report, run, shrink};
