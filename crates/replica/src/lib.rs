//! One replica of a shard's log: time, messages and outcomes of stores come in, messages, stores and the commit
//! index go out. No clock, no randomness that decides, no I/O, no thread.
//!
//! The consensus is that of the `raft` crate (docs/adr/0033-consensus-engine.md); its types do not leave this
//! crate. Entries are descriptors of frames: the bytes of a frame travel beside the messages, and an append is
//! handed to [`Replica::receive`] when the bodies of [`Message::entries`] are there and their checksums hold.
//!
//! After one or more inputs the host takes [`Replica::effects`], sends what is to be sent, and writes what is to
//! be stored, in the order of tickets; when a store is on the device it says so by [`Replica::stored`]. Messages
//! that depend on a store are not shown before that, so that none can leave too early.
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
