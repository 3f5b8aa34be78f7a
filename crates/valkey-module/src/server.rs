//! Safe wrappers for the part of the server's API that this crate uses. No pointer leaves them for longer than the
//! server keeps it valid.

mod api;
mod chain;
mod clock;
mod context;
mod exclusive;
mod info;
mod key;
mod kind;
mod name;
mod reply;
mod scan;
mod section;
mod subscribe;
#[cfg(feature = "test-clock")]
pub(crate) mod test_clock;

pub(crate) use api::{call, missing};
pub(crate) use chain::tell_keys;
pub(crate) use context::{Context, Level, log};
pub(crate) use exclusive::Exclusive;
pub(crate) use info::{create_category, create_command};
pub(crate) use key::{Mode, OpenKey};
pub(crate) use kind::{Rewrite, TypeCell, ValueKind, create_type};
pub(crate) use name::{Name, OwnedName, arguments};
pub(crate) use reply::{test_raw_replies, test_reply};
pub(crate) use section::{FieldValue, create_section};
pub(crate) use subscribe::{subscribe, subscribe_to_keys};
