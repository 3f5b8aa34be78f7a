//! A scenario: what is run, read from a TOML file and overridden by the command line.

mod charging;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::names::ACCOUNTS_MAX;
pub use charging::{Bucket, Charging, Operation, Phase};

const BUILT_IN: &[&str] =
    &[include_str!("../scenarios/moaf-scur.toml"), include_str!("../scenarios/kv.toml")];

/// Connections of one loader at most: every target takes 10,000, and the lab keeps some itself.
pub const CONNECTIONS_MAX: u32 = 9_900;
/// Sessions at a time at most.
pub const SESSIONS_MAX: u32 = 1_000_000;
/// Requests per second at most.
pub const RATE_MAX: f64 = 10_000_000.0;
/// Bytes of one value at most.
pub const VALUE_SIZE_MAX: usize = 1_048_576;

/// One scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name on the command line and in every row.
    pub name: String,
    /// What kind of load it is.
    pub kind: Kind,
    /// One line for `scurry-lab list`.
    pub description: String,
    /// Sessions at a time, each with at most one request in flight.
    pub sessions: u32,
    /// Connections that the sessions share.
    pub connections: u32,
    /// Requests in flight on one connection at most.
    pub depth: u32,
    /// Requests per second, by the clock (an open loop); a closed loop without.
    pub rate: Option<f64>,
    /// Accounts, for charging.
    #[serde(default)]
    pub accounts: u32,
    /// Measured time.
    pub seconds: f64,
    /// Time under load before measuring.
    pub warmup_seconds: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// The charging loop.
    pub charging: Option<Charging>,
    /// The key-value mix.
    pub kv: Option<KeyValue>,
}

/// What kind of load a scenario is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Charging sessions.
    Charging,
    /// Plain key-value commands.
    Kv,
}

/// The key-value mix.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyValue {
    /// How many keys.
    pub keys: u32,
    /// Bytes of every value.
    pub value_size: usize,
    /// Share of GET, as a weight.
    pub get_share: u32,
    /// Share of SET, as a weight.
    pub set_share: u32,
    /// Share of DEL, as a weight.
    pub del_share: u32,
}

impl Scenario {
    /// Every scenario that the lab ships.
    ///
    /// # Errors
    /// When a shipped file is broken, which a test excludes.
    pub fn all() -> Result<Vec<Scenario>> {
        BUILT_IN.iter().map(|text| Scenario::parse(text)).collect()
    }

    /// A shipped scenario by name.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn built_in(name: &str) -> Result<Scenario> {
        let all = Scenario::all()?;
        let names: Vec<String> = all.iter().map(|scenario| scenario.name.clone()).collect();
        let found = all.into_iter().find(|scenario| scenario.name == name);
        found.with_context(|| format!("no scenario `{name}`: there are {}", names.join(", ")))
    }

    /// Reads a scenario.
    ///
    /// # Errors
    /// When it is not TOML of this shape, or its values contradict each other.
    pub fn parse(text: &str) -> Result<Scenario> {
        let scenario: Scenario = toml::from_str(text).context("reading a scenario file")?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// The first that does not hold, in words.
    pub fn check(&self) -> Result<()> {
        let bounds = [
            ("sessions", self.sessions, 1, SESSIONS_MAX),
            ("connections", self.connections, 1, CONNECTIONS_MAX),
            ("depth", self.depth, 1, 10_000),
        ];
        for (name, value, min, max) in bounds {
            ensure!((min..=max).contains(&value), "{name} is {value}: it must be {min} to {max}");
        }
        ensure!(
            self.connections <= self.sessions,
            "{} connections for {} sessions: some would never be used; lower --connections",
            self.connections,
            self.sessions
        );
        ensure!(
            self.rate.is_none_or(|rate| (1.0..=RATE_MAX).contains(&rate)),
            "the rate must be 1 to {RATE_MAX} requests per second"
        );
        ensure!(self.seconds > 0.0 && self.seconds <= 86_400.0, "seconds must be above 0");
        ensure!((0.0..=86_400.0).contains(&self.warmup_seconds), "warmup must not be negative");
        match (self.kind, &self.charging, &self.kv) {
            (Kind::Charging, Some(charging), None) => {
                ensure!(
                    (1..=ACCOUNTS_MAX).contains(&self.accounts),
                    "accounts is {}: it must be 1 to {ACCOUNTS_MAX}",
                    self.accounts
                );
                charging.check()
            }
            (Kind::Kv, None, Some(kv)) => {
                ensure!((1..=ACCOUNTS_MAX).contains(&kv.keys), "keys must be 1 to {ACCOUNTS_MAX}");
                ensure!(
                    kv.value_size <= VALUE_SIZE_MAX,
                    "the value size is above {VALUE_SIZE_MAX}"
                );
                let shares = [kv.get_share, kv.set_share, kv.del_share];
                ensure!(shares.iter().all(|share| *share <= 1_000_000), "a share is above 1000000");
                ensure!(shares.iter().any(|share| *share > 0), "all shares are 0: nothing to do");
                Ok(())
            }
            _ => bail!("a scenario has exactly the part that its kind names"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_scenarios_are_sound() {
        let names: Vec<String> = Scenario::all().unwrap().into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["moaf-scur", "kv"]);
        assert!(Scenario::built_in("moaf").is_err());
    }

    #[test]
    fn contradictions_are_refused_in_words() {
        let kv = include_str!("../scenarios/kv.toml");
        let refusals = [
            (kv.replace("depth = 1", "depth = 0"), "depth is 0"),
            (kv.replace("sessions = 600", "sessions = 10"), "lower --connections"),
            (
                kv.replace("get_share = 50\nset_share = 50", "get_share = 0\nset_share = 0"),
                "nothing to do",
            ),
            (kv.replace("kind = \"kv\"", "kind = \"charging\""), "its kind names"),
            (kv.replace("seed = 1", "sede = 1"), "reading a scenario file"),
        ];
        for (text, expected) in refusals {
            let error = Scenario::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
