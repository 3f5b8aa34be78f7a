//! The flags of `scurry-lab neighbours`.

use anyhow::{Result, ensure};
use clap::Args;

use super::common::seconds;
use super::{CommonArguments, HealthyArguments};
use crate::neighbours::{Neighbour, Scale};

const SECONDS_MAX: f64 = 600.0;
/// Connections of the idle neighbour at most: a server takes 10,000 unless told otherwise.
const IDLE_MAX: u32 = 20_000;
const PIPELINE_MAX: u32 = 10_000_000;
const STORM_MAX: u32 = 1_000_000;

/// `scurry-lab neighbours`.
#[derive(Clone, Debug, Args)]
pub struct NeighboursArguments {
    /// A neighbour; repeat it for several [default: all of them].
    #[arg(long = "neighbour", value_name = "NAME")]
    pub neighbours: Vec<Neighbour>,

    /// Seconds that each neighbour stays.
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub seconds: f64,

    /// Connections that do nothing.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub idle: u32,

    /// Commands of the long pipeline.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub pipeline: u32,

    /// Connections of the storm at most.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub storm: u32,

    /// The healthy client.
    #[command(flatten)]
    pub healthy: HealthyArguments,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl NeighboursArguments {
    /// The neighbours in their order, each once.
    pub fn chosen(&self) -> Vec<Neighbour> {
        let all = Neighbour::ALL.iter().copied();
        all.filter(|one| self.neighbours.is_empty() || self.neighbours.contains(one)).collect()
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn scale(&self) -> Result<Scale> {
        let bounds = [
            ("--idle", self.idle, IDLE_MAX),
            ("--pipeline", self.pipeline, PIPELINE_MAX),
            ("--storm", self.storm, STORM_MAX),
        ];
        for (flag, value, max) in bounds {
            ensure!((1..=max).contains(&value), "{flag} must be 1 to {max}");
        }
        let seconds = seconds("--seconds", self.seconds, SECONDS_MAX)?;
        let NeighboursArguments { idle, pipeline, storm, .. } = *self;
        Ok(Scale { idle, pipeline, storm, seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{LabCommand, parse_words};

    fn parse(line: &str) -> Result<NeighboursArguments> {
        let LabCommand::Neighbours(found) = parse_words(&format!("neighbours {line}"))? else {
            anyhow::bail!("not neighbours");
        };
        found.scale()?;
        found.healthy.plan()?;
        Ok(found)
    }

    #[test]
    fn all_come_unless_some_are_named() {
        assert_eq!(parse("").unwrap().chosen(), Neighbour::ALL);
        let two = parse("--neighbour storm --neighbour idle").unwrap();
        assert_eq!(two.chosen(), [Neighbour::Idle, Neighbour::Storm]);
        assert_eq!(parse("--idle 7").unwrap().scale().unwrap().idle, 7);
    }

    #[test]
    fn mistakes_are_refused_in_words() {
        for (line, expected) in [
            ("--neighbour loud", "loud"),
            ("--idle 0", "--idle must be"),
            ("--pipeline 0", "--pipeline must be"),
            ("--seconds 0", "--seconds must be"),
            ("--rate 0", "--rate must be"),
            ("--connections 0", "--connections must be"),
            ("--accounts 0", "--accounts must be"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
