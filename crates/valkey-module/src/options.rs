//! The module's options: names and values that follow its path when it is loaded.

use crate::server::Name;
use scurry_engine::{ACCOUNT_LEN_MAX, APART_LEN, Config, NODE_MAX, WorkingAccount};
use scurry_ledger::Limits;
use scurry_resp::{LIMIT_MS_MAX, LimitFault, check_limits, set_limit};
use thiserror::Error;

/// Settings of the module on this node.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Bounds and defaults of accounts.
    pub(crate) limits: Limits,
    /// Number of this node in versions of entities.
    pub(crate) node: u16,
    /// Time that a deleted entity is remembered, ms.
    pub(crate) entity_tombstone_ms: i64,
    /// How far a writer's version may be ahead of the clock, ms.
    pub(crate) version_ahead_ms_max: i64,
}

impl Default for Options {
    fn default() -> Options {
        let config = Config::default();
        Options {
            limits: config.limits,
            node: config.node,
            entity_tombstone_ms: config.entity_tombstone_ms,
            version_ahead_ms_max: config.version_ahead_ms_max,
        }
    }
}

/// Reason why the module does not load with these options.
#[derive(Debug, Error)]
pub(crate) enum OptionFault {
    #[error("{0} has no value: options are names and values, as in `tombstone_ms 240000`")]
    NoValue(String),
    #[error("{0} must be 0 to {1}")]
    OutOfRange(&'static str, i64),
    #[error("{0}: say an option of docs/cluster.md, or none")]
    Limit(#[from] LimitFault),
}

impl Options {
    /// Returns a working account for these settings.
    pub(crate) fn working(&self) -> WorkingAccount {
        WorkingAccount::new(self.limits.clone(), APART_LEN, ACCOUNT_LEN_MAX)
    }

    /// Reads names and values.
    pub(crate) fn read(words: &[Name<'_>]) -> Result<Options, OptionFault> {
        let mut options = Options::default();
        for pair in words.chunks(2) {
            let name = String::from_utf8_lossy(pair[0].bytes());
            let Some(value) = pair.get(1) else {
                return Err(OptionFault::NoValue(name.into_owned()));
            };
            let value = String::from_utf8_lossy(value.bytes());
            let number = |name, most| {
                let number = value.parse::<i64>().ok().filter(|number| (0..=most).contains(number));
                number.ok_or(OptionFault::OutOfRange(name, most))
            };
            match &*name {
                "node" => {
                    let node = number("node", i64::from(NODE_MAX))?;
                    options.node = u16::try_from(node).unwrap_or(NODE_MAX);
                }
                "entity_tombstone_ms" => {
                    options.entity_tombstone_ms = number("entity_tombstone_ms", LIMIT_MS_MAX)?;
                }
                name => set_limit(&mut options.limits, name, &value)?,
            }
        }
        check_limits(&options.limits)?;
        Ok(options)
    }
}
