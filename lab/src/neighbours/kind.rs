//! The neighbours by name.

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;

use super::visit::Visit;
use super::{connections, giants, streams};

/// How much of everything.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scale {
    /// Connections that do nothing.
    pub idle: u32,
    /// Commands of the long pipeline.
    pub pipeline: u32,
    /// Connections of the storm at most.
    pub storm: u32,
    /// Seconds that each neighbour stays.
    pub seconds: f64,
}

/// A client that behaves badly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Neighbour {
    /// Nobody: the baseline.
    None,
    /// Many connections that do nothing.
    Idle,
    /// Clients that ask for much and read a trickle.
    SlowReader,
    /// Clients that never read their replies.
    NoReader,
    /// Clients that close their half at once and wait.
    HalfClosed,
    /// Clients that send one byte at a time.
    OneByte,
    /// One client that sends a long pipeline in one go.
    Pipeline,
    /// The longest arguments that are allowed.
    Giant,
    /// Arguments and requests above the limits.
    TooBig,
    /// Clients that connect and go, again and again.
    Storm,
}

impl Neighbour {
    /// All of them, in the order of the table.
    pub const ALL: &'static [Neighbour] = &[
        Neighbour::None,
        Neighbour::Idle,
        Neighbour::SlowReader,
        Neighbour::NoReader,
        Neighbour::HalfClosed,
        Neighbour::OneByte,
        Neighbour::Pipeline,
        Neighbour::Giant,
        Neighbour::TooBig,
        Neighbour::Storm,
    ];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Neighbour::None => "none",
            Neighbour::Idle => "idle",
            Neighbour::SlowReader => "slow-reader",
            Neighbour::NoReader => "no-reader",
            Neighbour::HalfClosed => "half-closed",
            Neighbour::OneByte => "one-byte",
            Neighbour::Pipeline => "pipeline",
            Neighbour::Giant => "giant",
            Neighbour::TooBig => "too-big",
            Neighbour::Storm => "storm",
        }
    }

    /// Misbehaves until its time is over, and says what happened to it.
    pub(super) fn visit(self, visit: &Visit) -> Result<String> {
        match self {
            Neighbour::None => {
                visit.stay();
                Ok("nobody".to_owned())
            }
            Neighbour::Idle => connections::idle(visit),
            Neighbour::SlowReader => streams::readers(visit, Some(streams::TRICKLE)),
            Neighbour::NoReader => streams::readers(visit, None),
            Neighbour::HalfClosed => connections::half_closed(visit),
            Neighbour::OneByte => streams::one_byte(visit),
            Neighbour::Pipeline => streams::pipeline(visit),
            Neighbour::Giant => giants::at_the_limit(visit),
            Neighbour::TooBig => giants::above_the_limit(visit),
            Neighbour::Storm => connections::storm(visit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_neighbour_is_listed_and_named_as_on_the_command_line() {
        assert_eq!(Neighbour::ALL, Neighbour::value_variants());
        for one in Neighbour::ALL {
            assert_eq!(one.to_possible_value().unwrap().get_name(), one.name());
        }
    }
}
