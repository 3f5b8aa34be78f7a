//! Three nodes of a group in one process: on each a shard as it ships, its log on a disk that loses and tears, and
//! what a server does with both (`scurry_consensus::shard`), around replicas that a bad network joins. Clients ask whom they take
//! for the leader, and ask again with the same ids where they have heard nothing clear.
//!
//! The models of `testing/model` say what each answer must be, in the order in which entries are committed. What was
//! answered is committed, what is shown was the newest, and when nothing fails any more all nodes come to hold the
//! same. One u64 is a whole run.

mod asks;
mod clients;
mod counts;
mod end;
mod faults;
mod losses;
mod machine;
mod members;
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

pub use counts::GroupCounts;
pub use plan::{GroupPlan, GroupTheme};
pub use run::{GroupReport, run};
