//! The durability modes as words.

use clap::ValueEnum;
use scurry_server::Durability;
use serde::Deserialize;

/// How durable a change is before its answer leaves.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// In memory alone: nothing survives a restart.
    None,
    /// In the page cache: it survives the process, and what the machine had not written within
    /// about a second does not survive a power failure.
    Write,
    /// On the device: it survives a power failure.
    #[default]
    Fsync,
}

impl From<Mode> for Durability {
    fn from(mode: Mode) -> Durability {
        match mode {
            Mode::None => Durability::None,
            Mode::Write => Durability::Write,
            Mode::Fsync => Durability::Fsync,
        }
    }
}
