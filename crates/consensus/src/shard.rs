//! The group of one shard on a node. It decides when a core may answer, when the core leads, pauses and resigns, and
//! which entries are applied, written to the device and recovered. It has no thread, no socket and no clock, so that a
//! server and a simulation of three nodes run the same code.

mod begin;
mod bodies;
mod broken;
mod channel;
mod device;
mod grouped;
mod health;
mod offer;
mod outlet;
mod outlook;
mod position;
mod shard_group;
mod shard_view;

pub use begin::{Begun, ShardFiles, begin, recover_to};
pub use broken::Broken;
pub use channel::{Body, CoreEnd, Epoch, FromCore, Progress, Remade, Ring, ToCore, Turn};
pub use device::{LogDevice, Order, Stored, Task, Worked};
pub use grouped::Grouped;
pub use health::{Health, Healths};
pub use offer::{Offer, Word};
pub use outlet::Outlet;
pub use outlook::{Outlook, Voter};
pub use position::LogPosition;
pub use shard_group::{Came, Plan, ShardGroup, base_from};
pub use shard_view::ShardView;
