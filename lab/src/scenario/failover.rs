//! The part of a scenario in which a node fails or hands over in the middle of the load.

use anyhow::{Result, ensure};
use scurry_ledger::Name;
use scurry_service::Request;
use serde::Deserialize;

use crate::requests::{self, MAIN};

/// Credit of an account: more than its requests consume when each is executed three times.
pub const CREDIT: i64 = 10_000;

/// Event on a node in the middle of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// SIGKILL of the node that owns the accounts; it is restarted after another node has taken over.
    #[default]
    Kill,
    /// Planned transfer of the accounts to another node.
    Transfer,
    /// SIGKILL of a node that owns no account, and loss of its directory: an empty node replaces it.
    Replace,
}

/// Charging while a node fails or hands over.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failover {
    /// Unit of every amount.
    #[serde(deserialize_with = "super::name")]
    pub unit: Name,
    /// Rating group of the one item of a session.
    pub item_key: u32,
    /// Copies required for an acknowledgement, for targets where a client has to request them.
    pub copies: u32,
    /// Event on a node.
    #[serde(default)]
    pub event: Event,
}

impl Failover {
    /// Returns the CREATE of an account.
    pub fn create(&self, account: &[u8]) -> Request {
        requests::create(account, &[requests::bucket(MAIN, self.unit, CREDIT, None)])
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!((1..=2).contains(&self.copies), "failover.copies must be 1 or 2");
        Ok(())
    }
}
