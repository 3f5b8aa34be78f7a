//! A seeded simulator that tests the engine's durability. It runs the production engine on a simulated disk that
//! loses, tears and fails writes, with a clock that jumps, and kills it at any operation. One u64 seed determines a
//! whole run. The naive model of `testing/model` runs in parallel and gives the expected state after each record.

mod alternative_recoveries;
mod audit;
mod chains;
mod clients;
mod commit;
mod disk;
pub mod group;
mod job;
mod model_checked_shard;
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
