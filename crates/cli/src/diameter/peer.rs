//! A client of a Diameter server, for commands that ask it one thing and say what came back.

mod answer;
mod dialog;
mod options;
mod report;
mod steps;
mod wire;

pub(crate) use answer::Server;
pub(crate) use dialog::{Dialog, wall};
pub(crate) use options::PeerOptions;
pub(crate) use report::{Step, Verdict};
pub(crate) use steps::{answered, disconnect};
