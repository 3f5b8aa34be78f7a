//! The part of a scenario in which the node that owns the accounts is killed.

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::failover::CREDIT;

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
