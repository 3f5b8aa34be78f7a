//! A simulated group of three nodes in one process. Each node has the production shard, a log on a disk that loses
//! and tears writes, and the server's group code (`scurry_consensus::shard`). A faulty network connects the replicas.
//! Clients send requests to the node that they consider the leader, and repeat them with the same ids if the outcome
//! is unclear.
//!
//! The models of `testing/model` give the expected answers, in the order in which entries are committed. The checks:
//! each answered write is committed, each answer shows the newest state, and once the faults end all nodes reach the
//! same state. One u64 seed determines a whole run.

mod asks;
mod clients;
mod counts;
mod end;
mod faults;
mod losses;
mod machine;
mod members;
mod memory;
mod nodes;
mod parts;
mod plan;
mod run;
mod running;
mod sending;
mod threads;
mod trio;
mod truth;
mod turn;
mod versions;

pub use counts::GroupCounts;
pub use memory::{AlteredRun, run_altered};
pub use plan::{GroupPlan, GroupTheme};
pub use run::{GroupReport, run};
