//! Files of events. The name of a file is the range of positions that it has, of one thread of a store:
//!
//! ```text
//! events-00c0ffee00c0ffee-1.0-00000000000000000001.0-00000000000000004711.0.jsonl
//!        store            |   from                   to, the first position that it does not have
//!                         generation.thread
//! ```
//!
//! A file is written under a name that ends with `.part`, synced and renamed. So the names say what was delivered, and
//! each event is in one file.

mod columns;
mod directory;
mod event_table;
mod lines;
mod name;
mod sink;

pub use columns::EVENTS;
pub use directory::Directory;
pub use event_table::EventTable;
pub use lines::Lines;
pub use name::{FileKind, FileName};
pub use sink::{FileSink, FileWriter, Layout};
