//! A seeded simulator of the engine's durability: the engine as it ships, on a disk that loses,
//! tears and fails, under a clock that jumps, killed at any operation. One u64 is a whole run.
//! Beside it the naive model of `testing/model` holds what must be there after each record.

mod audit;
mod beside;
mod chains;
mod clients;
mod commit;
mod disk;
pub mod group;
mod job;
mod other_ways;
mod plan;
mod reach;
mod recover;
mod run;
mod scan;
mod sim;
mod snapshots;
mod stop;
mod trace;
mod world;

pub use audit::entries_of;
pub use disk::{Crash, Faults, SimDisk, SimFile};
pub use plan::{Plan, Theme};
pub use run::{Failure, Report, run};
pub use sim::Counts;
pub use trace::Trace;
