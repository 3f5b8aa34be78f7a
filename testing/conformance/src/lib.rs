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
    Door, ScriptStore, engine::EngineDoor, library::LibraryDoor, node::NodeDoor, server::ServerDoor,
};
pub use kept::Argument;
pub use load::{Source, scripts};
pub use pattern::{Pattern, Remainder};
pub use run::{Mismatch, Outcome, run, update};
pub use script::{BadLine, Event, Expected, Script, ScriptLine};
pub use text::START;
pub use value::Value;
