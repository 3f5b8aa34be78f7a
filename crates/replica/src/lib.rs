//! One replica of a shard's log. Its inputs are ticks, messages and completed stores; its outputs are messages, stores
//! and the commit index. It has no clock, no I/O and no thread, and its only randomness comes from a seed.
//!
//! The consensus is that of the `raft` crate (docs/adr/0033-consensus-engine.md), called "the engine" here; its types
//! do not leave this crate. Entries are descriptors of frames: the bytes of a frame travel beside the messages, and the
//! host passes an append to [`Replica::receive`] only when it has the bodies of [`Message::entries`] and their
//! checksums match.
//!
//! After one or more inputs the host calls [`Replica::effects`], sends the messages, and writes the stores in the order
//! of their tickets. When a store is on the device, the host calls [`Replica::stored`]. Messages that depend on a store
//! are not returned before that call, so none can be sent too early.
#![forbid(unsafe_code)]

mod convert;
mod effects;
mod entry;
mod ids;
mod log;
mod message;
mod reads;
mod replica;
mod settings;
mod stores;
mod wire;

pub use effects::{Effects, Role, Standing, Store, Vote};
pub use entry::{Descriptor, Entry, Kind, Members, MembersError, Membership};
pub use ids::{Index, NodeId, ReadTicket, Sequence, Term, Ticket};
pub use log::{Base, Recovered, RecoveredError};
pub use message::{DecodeError, Message};
pub use replica::{AppendError, ChangeError, NotLeader, ReceiveError, ReplaceError, Replica};
pub use settings::{Settings, SettingsError};
