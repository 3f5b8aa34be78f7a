//! The group of one shard on a node. It decides when a core may answer, when the core leads, pauses and resigns, and
//! which entries are applied, written to the device and recovered. It has no thread, no socket and no clock, so that a
//! server and a simulation of three nodes run the same code.

mod begin;
mod broken;
mod channel;
mod device;
mod entry_frames;
mod freshness;
mod group_core;
mod health;
mod lost_node_check;
mod offer;
mod outlet;
mod position;
mod required_version;
mod shard_group;
mod shard_view;
mod state_check;

pub use begin::{ShardFiles, ShardGroupParts, begin, recover_to};
pub use broken::StopReason;
pub use channel::{
    CoreEnd, Epoch, FrameBytes, FromCore, Progress, RebuiltShard, ToCore, Turn, WakeFn,
};
pub use device::{LogDevice, Order, Stored, Task, TaskOutcome};
pub use group_core::GroupCore;
pub use health::{Health, HealthTable};
pub use lost_node_check::{LostNodeCheck, Voter};
pub use offer::{SnapshotMessage, SnapshotOffer};
pub use outlet::HostActions;
pub use position::LogPosition;
pub use required_version::{RequiredVersion, WriteVersion};
pub use shard_group::{Plan, ReceivedSnapshot, ShardGroup, base_from};
pub use shard_view::ShardView;
pub use state_check::{DigestOrder, DigestReport, StateCheck, Verdict};
