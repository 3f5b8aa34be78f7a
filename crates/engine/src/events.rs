//! What commits mean to those who follow a store: every change of a balance, every expiry, each
//! crossing of a threshold, in the order of the log. Nothing is stored for it: events are read out
//! of the log's records, so that a position in the log is a position among them, before a crash
//! and after it. docs/events.md is for readers.

mod crossing;
mod derive;
mod event;
mod reader;

pub use crossing::Low;
pub use derive::events_of;
pub use event::{Ending, Event, Movement};
pub use reader::{EventAt, EventReader, Found, Read, ReadEventsError, Stop, Wanted};
