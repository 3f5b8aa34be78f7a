//! The interface between doors (protocol front ends) and stores. A door translates its protocol into a [`Request`],
//! and a [`Reply`] into its protocol. A [`Service`] carries the request out: in this process by a message to the core
//! that owns the account, or over RESP on another server. Requests and replies are the ledger's own types, so that
//! each rule and each field is defined once.
#![forbid(unsafe_code)]

mod arguments;
mod command;
mod encode;
mod error;
mod event;
mod follow;
mod holds;
mod position;
mod reply;
mod request;
mod service;
mod store_read;
mod view;

pub use arguments::Arguments;
pub use command::CommandBuf;
pub use encode::{encode, encode_chain};
pub use error::{CallError, Refusal};
pub use event::{Event, EventCommit, EventField, EventId};
pub use follow::{Events, Follow, FollowFrom};
pub use holds::{BalanceView, HoldView, HoldsView, PartView, TransactionView};
pub use position::{Position, WatchStart};
pub use reply::denied;
pub use reply::{Answered, Reply};
pub use request::{Read, Request, SessionStep, Write, command_name, with_links};
pub use service::{Call, EventsCall, Service, StoreCall};
pub use store_read::{
    AccountList, FoundAccounts, ListCursor, ListRead, ListedAccount, Statement, StatementRead,
    StoreRead, StoreReply,
};
pub use view::*;
