//! A node of a replicated group: the replication of each shard's log, the connections to the other nodes, and the state
//! that every core may show of them. It is the room of threads and sockets around `scurry-consensus`; it knows no
//! commands and no connections of clients, except that it forwards some to the leader.

mod catch_up;
mod changes;
mod clock;
mod clocks;
mod device_state;
mod forward;
mod host;
mod input;
mod member;
mod membership;
mod operator_requests;
pub mod peers;
mod start;
mod store;
pub mod view;

pub use clock::{Clock, Reading};
pub use clocks::APART_MS_MAX;
pub use device_state::DeviceState;
pub use member::Member;
pub use membership::OperatorRequest;
pub use operator_requests::{RequestOutcome, RequestReply};
pub use start::{Group, ShardFiles, Start, start};
