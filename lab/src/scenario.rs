//! A scenario: the load and its targets, read from a TOML file and overridden by the command line.

mod charging;
mod failover;
mod key_value;
mod live;
mod search;
mod steps;
mod usage;

use anyhow::{Context, Result, bail, ensure};
use scurry_ledger::Name;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::names::ACCOUNTS_MAX;
use crate::slow_disk::SlowDisk;
use steps::File;
pub use steps::Form;

pub use charging::{Bucket, Charging, Operation};
pub use failover::{CREDIT, Event, Failover};
pub use key_value::{KeyValue, Order};
pub use live::{AccountChoice, Live};
pub use search::Search;
pub use usage::Usage;

const BUILT_IN: &[(&str, &str)] = &[
    ("moaf-scur", include_str!("../scenarios/moaf-scur.toml")),
    ("moaf-scur-pipelined", include_str!("../scenarios/moaf-scur-pipelined.toml")),
    ("two-phase", include_str!("../scenarios/two-phase.toml")),
    ("diameter-gy", include_str!("../scenarios/diameter-gy.toml")),
    ("nchf", include_str!("../scenarios/nchf.toml")),
    ("kv", include_str!("../scenarios/kv.toml")),
    ("kts-persistence", include_str!("../scenarios/kts-persistence.toml")),
    ("kts-index", include_str!("../scenarios/kts-index.toml")),
    ("kts-replication", include_str!("../scenarios/kts-replication.toml")),
    ("kts-batches", include_str!("../scenarios/kts-batches.toml")),
    ("charglt", include_str!("../scenarios/charglt.toml")),
    ("charging-live", include_str!("../scenarios/charging-live.toml")),
    ("charging-failover", include_str!("../scenarios/charging-failover.toml")),
    ("charging-transfer", include_str!("../scenarios/charging-transfer.toml")),
    ("charging-replace", include_str!("../scenarios/charging-replace.toml")),
    ("slow-disk", include_str!("../scenarios/slow-disk.toml")),
    ("charging-hot", include_str!("../scenarios/charging-hot.toml")),
    ("growth-accounts", include_str!("../scenarios/growth-accounts.toml")),
    ("growth-sessions", include_str!("../scenarios/growth-sessions.toml")),
    ("growth-connections", include_str!("../scenarios/growth-connections.toml")),
    ("ndb-30-records", include_str!("../scenarios/ndb-30-records.toml")),
    ("entity-quorum", include_str!("../scenarios/entity-quorum.toml")),
    ("ncache-80-20", include_str!("../scenarios/ncache-80-20.toml")),
];

/// Most connections of one loader: the number of files that a process may open on most systems, less the files that
/// loader and target need otherwise.
pub const CONNECTIONS_MAX: u32 = 19_500;
/// Most concurrent sessions.
pub const SESSIONS_MAX: u32 = 1_000_000;
/// Most requests per second.
pub const RATE_MAX: f64 = 10_000_000.0;
/// Most bytes of one value.
pub const VALUE_SIZE_MAX: usize = 1_048_576;
/// Most servers that share the keys.
pub const NODES_MAX: u32 = 5;

/// One scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name on the command line and in every row.
    pub name: String,
    /// Step, for a scenario with several.
    #[serde(skip)]
    pub step: Option<String>,
    /// Kind of load.
    pub kind: ScenarioKind,
    /// One line for `scurry-lab list`.
    pub description: String,
    /// Published tables that it reproduces, by id.
    #[serde(default)]
    pub published: Vec<String>,
    /// Targets that are measured unless the command line names others.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Servers that share the keys; clients know which server has which part.
    #[serde(default = "one")]
    pub nodes: u32,
    /// Replicas of each primary; a target without replicas is not measured.
    #[serde(default)]
    pub replicas: u32,
    /// Cores of the system under test, including the loader's where there are too few. The default is one, or for
    /// scurry the number of its threads.
    pub target_cores: Option<u32>,
    /// Concurrent sessions, each with at most one request in flight.
    pub sessions: u32,
    /// Connections that the sessions share.
    pub connections: u32,
    /// Most requests in flight on one connection.
    pub depth: u32,
    /// Requests per second of a paced load (an open loop); None for a closed loop.
    pub rate: Option<f64>,
    /// Number of accounts, for charging.
    #[serde(default)]
    pub accounts: u32,
    /// Measured seconds.
    pub seconds: f64,
    /// Seconds under load before measuring.
    pub warmup_seconds: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Charging loop.
    pub charging: Option<Charging>,
    /// Key-value mix.
    pub kv: Option<KeyValue>,
    /// Usage reports and refills.
    pub usage: Option<Usage>,
    /// Live sessions.
    pub live: Option<Live>,
    /// Charging while a node fails or hands over.
    pub failover: Option<Failover>,
    /// Disk of the last server.
    pub slow_disk: Option<SlowDisk>,
    /// Search for the highest rate, instead of one rate.
    pub search: Option<Search>,
}

fn one() -> u32 {
    1
}

/// Reads a name of the ledger.
fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    let text = String::deserialize(from)?;
    Name::new(text.as_bytes())
        .ok_or_else(|| D::Error::custom(format!("{text:?} is no name: 1 to 16 printable bytes")))
}

/// Kind of load of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScenarioKind {
    /// Charging sessions.
    Charging,
    /// Plain key-value commands.
    Kv,
    /// Records that are written by key and found by their value.
    Index,
    /// Usage reports and refills.
    Usage,
    /// Live charging sessions.
    Live,
    /// Charging while a node fails or hands over.
    Failover,
}

impl ScenarioKind {
    /// Reports whether the target needs the charging rules.
    pub fn is_charging(self) -> bool {
        matches!(
            self,
            ScenarioKind::Charging
                | ScenarioKind::Usage
                | ScenarioKind::Live
                | ScenarioKind::Failover
        )
    }
}

impl Scenario {
    /// Returns every scenario that the lab ships, without its steps.
    ///
    /// # Errors
    /// When a shipped file is broken, which a test excludes.
    pub fn all() -> Result<Vec<Scenario>> {
        BUILT_IN.iter().map(|(_, text)| Scenario::parse(text)).collect()
    }

    /// Returns a shipped scenario by name, without its steps.
    ///
    /// # Errors
    /// When no scenario has this name.
    pub fn built_in(name: &str) -> Result<Scenario> {
        Scenario::parse(built_in_text(name)?)
    }

    /// Returns every step of a shipped scenario; one without a name where it has no steps.
    ///
    /// # Errors
    /// When no scenario has this name.
    pub fn built_in_steps(name: &str, form: Form, set: &[String]) -> Result<Vec<Scenario>> {
        Scenario::parse_steps(built_in_text(name)?, form, set)
    }

    /// Parses a scenario without its steps.
    ///
    /// # Errors
    /// When the text is not TOML of this shape, or its values contradict each other.
    pub fn parse(text: &str) -> Result<Scenario> {
        File::read(text)?.plain()
    }

    /// Parses the steps of a scenario in this form; the values in `set` replace values of the file.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_steps(text: &str, form: Form, set: &[String]) -> Result<Vec<Scenario>> {
        File::read(text)?.steps(form, set)
    }

    /// Returns the requests per second of a paced load; None for a closed loop and for a search.
    pub fn clock_rate(&self) -> Option<f64> {
        self.rate.or_else(|| self.live.as_ref().map(|live| live.rate(self.sessions)))
    }

    /// Returns the number of accounts or keys.
    pub fn records(&self) -> u32 {
        self.kv.as_ref().map_or(self.accounts, |kv| kv.keys)
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// The first bound that does not hold, in words.
    pub fn check(&self) -> Result<()> {
        self.slow_disk.map_or(Ok(()), SlowDisk::check)?;
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
        ensure!((1..=NODES_MAX).contains(&self.nodes), "nodes must be 1 to {NODES_MAX}");
        ensure!(
            self.nodes == 1 || self.nodes <= self.connections,
            "{} nodes need at least as many connections",
            self.nodes
        );
        ensure!(self.replicas <= 1, "replicas must be 0 or 1");
        ensure!(
            self.search.is_none() || self.rate.is_none(),
            "a rate and a search for it contradict each other"
        );
        self.search.as_ref().map_or(Ok(()), Search::check)?;
        let is_kv = matches!(self.kind, ScenarioKind::Kv | ScenarioKind::Index);
        ensure!(is_kv || self.nodes == 1, "only plain keys are shared by nodes");
        let failover = self.failover.as_ref();
        match (self.kind, &self.charging, &self.kv, &self.usage, &self.live) {
            (ScenarioKind::Failover, None, None, None, None) if failover.is_some() => {
                self.check_failover()
            }
            _ if failover.is_some() => bail!(PARTS),
            (ScenarioKind::Charging, Some(charging), None, None, None) => {
                ensure!(
                    !charging.alone || self.sessions <= self.accounts / 2,
                    "{} sessions that may not meet on {} accounts: use more accounts",
                    self.sessions,
                    self.accounts
                );
                charging.check()
            }
            (ScenarioKind::Kv | ScenarioKind::Index, None, Some(kv), None, None) => {
                kv.check(self.kind)
            }
            (ScenarioKind::Usage, None, None, Some(usage), None) => {
                ensure!(
                    self.sessions <= self.accounts / 2,
                    "{} sessions for {} accounts: a user has one request on its way; use more \
                     accounts",
                    self.sessions,
                    self.accounts
                );
                usage.check()
            }
            (ScenarioKind::Live, None, None, None, Some(live)) => {
                let is_clear = self.rate.is_none() && self.search.is_none();
                ensure!(is_clear, "think_seconds says the rate: leave rate and search out");
                live.check()?;
                let rate = live.rate(self.sessions);
                ensure!(rate <= RATE_MAX, "{rate} requests per second are above {RATE_MAX}");
                Ok(())
            }
            _ => bail!(PARTS),
        }?;
        ensure!(
            is_kv || (1..=ACCOUNTS_MAX).contains(&self.accounts),
            "accounts is {}: it must be 1 to {ACCOUNTS_MAX}",
            self.accounts
        );
        Ok(())
    }

    /// Reports whether something happens to a node or its disk, which makes it a scenario of `scurry-lab faults`.
    pub fn is_fault(&self) -> bool {
        self.failover.is_some() || self.slow_disk.is_some()
    }

    fn check_failover(&self) -> Result<()> {
        ensure!(self.rate.is_some(), "{} goes by the clock: give it a rate", self.name);
        self.failover.as_ref().map_or(Ok(()), Failover::check)
    }
}

/// Error for a scenario with the parts of two kinds, or of none.
const PARTS: &str = "a scenario has exactly the part that its kind names";

/// Returns the text of a shipped scenario.
fn built_in_text(name: &str) -> Result<&'static str> {
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let found = BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    found.with_context(|| format!("no scenario `{name}`: there are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_scenarios_are_sound() {
        let names: Vec<String> = Scenario::all().unwrap().into_iter().map(|s| s.name).collect();
        let files: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, files);
        for name in files {
            for form in [Form::Long, Form::ShortSteps, Form::Short] {
                let steps = Scenario::built_in_steps(name, form, &[]).unwrap();
                assert!(!steps.is_empty(), "{name}");
                let seconds: f64 = steps.iter().map(|s| s.seconds + s.warmup_seconds).sum();
                assert!(form != Form::Short || seconds <= 60.0, "{name}: {seconds} s in short");
            }
        }
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
