//! `scurry-lab ammo`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};

/// Requests at most: a file of some gigabytes.
const REQUESTS_MAX: u32 = 10_000_000;
const KEYS_MAX: u32 = 100_000_000;
const VALUE_SIZE_MAX: usize = 1_048_576;

/// A format of ammunition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AmmoFormat {
    /// Whole requests with their length before them: phantom and pandora's `raw`.
    Raw,
    /// Headers, then one path per line: phantom and pandora's `uri`. GET only.
    Uri,
    /// One JSON object per line: pandora's `http/json`.
    HttpJson,
}

/// `scurry-lab ammo`.
#[derive(Debug, Args)]
pub struct AmmoArguments {
    /// The format.
    #[arg(long, value_enum)]
    pub format: AmmoFormat,

    /// How many requests.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub requests: u32,

    /// The HTTP door that they are for: their Host header.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    pub door: SocketAddr,

    /// Share of GET, as a weight.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub get_share: u32,

    /// Share of PUT, as a weight.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub put_share: u32,

    /// Share of DELETE, as a weight.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub delete_share: u32,

    /// Entities that are chosen from uniformly.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub keys: u32,

    /// Bytes of every value.
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    pub value_size: usize,

    /// Of every request, as ack/from [default: the door's own].
    #[arg(long, value_name = "ACK/FROM")]
    pub replicas: Option<String>,

    /// Seed of every random choice.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// The file [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl AmmoArguments {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn check(&self) -> Result<()> {
        let bounds = [("--requests", self.requests, REQUESTS_MAX), ("--keys", self.keys, KEYS_MAX)];
        for (flag, value, max) in bounds {
            ensure!((1..=max).contains(&value), "{flag} must be 1 to {max}");
        }
        ensure!(
            (1..=VALUE_SIZE_MAX).contains(&self.value_size),
            "--value-size must be 1 to {VALUE_SIZE_MAX}"
        );
        let is_share = |share: u32| share <= 1_000_000;
        let shares = [self.get_share, self.put_share, self.delete_share];
        ensure!(
            shares.into_iter().all(is_share) && shares.iter().any(|share| *share > 0),
            "the shares must be 0 to 1000000, and one of them above 0"
        );
        ensure!(
            self.format != AmmoFormat::Uri || self.put_share == 0 && self.delete_share == 0,
            "--format uri has GET only: say --put-share 0 --delete-share 0, or --format raw"
        );
        if let Some(replicas) = &self.replicas {
            let number = |text: &str| text.parse::<u32>().ok();
            let parts = replicas.split_once('/').map(|(ack, from)| (number(ack), number(from)));
            let is_quorum = matches!(parts, Some((Some(ack), Some(from))) if 1 <= ack && ack <= from && from <= 255);
            ensure!(is_quorum, "--replicas must be ack/from, for instance 2/3");
        }
        Ok(())
    }
}
