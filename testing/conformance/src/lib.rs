//! The scenario language and the doors that scripts run through. README.md describes the language; scenarios/ contains
//! the scripts.
#![forbid(unsafe_code)]

mod check;
mod door;
mod kept;
mod load;
mod oracle;
mod pattern;
mod run;
mod script;
mod text;
mod value;

pub use door::{
    Door, Visit, engine::EngineDoor, library::LibraryDoor, node::NodeDoor, server::ServerDoor,
};
pub use kept::Argument;
pub use load::{Source, scripts};
pub use pattern::{More, Pattern};
pub use run::{Mismatch, Outcome, run, update};
pub use script::{BadLine, Event, Expected, Line, Script};
pub use text::START;
pub use value::Value;
