//! The part of a scenario in which something becomes of a node in the middle.

use anyhow::{Result, ensure};
use serde::Deserialize;

/// Credit of an account: more than its requests consume when each is done three times.
pub const CREDIT: i64 = 10_000;

/// Change of a node in the middle of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// SIGKILL of the node that owns the accounts, which is started again when another owns them.
    #[default]
    Kill,
    /// Planned transfer of the accounts to another node.
    Transfer,
    /// SIGKILL of a node that owns none, and loss of its directory: an empty one takes its place.
    Replace,
}

/// Charging through the loss of a node.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failover {
    /// Unit of every amount.
    pub unit: String,
    /// Rating group of the one item of a session.
    pub item_key: u32,
    /// Copies behind an acknowledgement, where a client has to ask for them.
    pub copies: u32,
    /// The change of a node.
    #[serde(default)]
    pub event: Event,
}

impl Failover {
    /// The arguments of CREATE behind the account.
    pub fn create_arguments(&self) -> Vec<String> {
        ["BUCKET", "main", &self.unit, &CREDIT.to_string()].map(str::to_owned).to_vec()
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!((1..=2).contains(&self.copies), "failover.copies must be 1 or 2");
        Ok(())
    }
}
