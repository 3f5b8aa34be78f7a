//! A node's view of its group.

use anyhow::{Context, Result};
use std::collections::BTreeMap;

/// Parsed answer to SCUR.REPLICA STATUS.
#[derive(Debug)]
pub(crate) struct Status {
    pub(crate) id: String,
    /// How far its wall clock is ahead of the others', ms.
    pub(crate) clock_off_ms: i64,
    /// True if it reports that any one node may be lost without an interruption.
    pub(crate) can_lose: bool,
    pub(crate) members: Vec<Peer>,
    pub(crate) shards: Vec<Shard>,
}

/// A member as this node sees it.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) id: String,
    pub(crate) votes: bool,
    pub(crate) connected: bool,
    pub(crate) observes: bool,
    /// Entries that it lacks. None while that is unknown.
    pub(crate) lag: Option<u64>,
}

/// Log of a thread.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) leader: Option<String>,
    serves: bool,
    term: u64,
    pub(crate) committed: u64,
    pub(crate) applied: u64,
    /// Position from which on its log is kept.
    pub(crate) base: u64,
    /// How old its data are at most, ms. None while that is unknown.
    pub(crate) age_ms: Option<u64>,
}

impl Status {
    pub(crate) fn read(said: &str) -> Result<Status> {
        let lines: Vec<(&str, &str)> =
            said.lines().filter_map(|line| line.trim().split_once(':')).collect();
        let id = lines.iter().find(|(name, _)| *name == "scurry_group_node");
        let clock_off_ms = lines.iter().find(|(name, _)| *name == "clock_off_ms");
        let clock_off_ms =
            clock_off_ms.with_context(|| format!("no clock in {said}"))?.1.parse()?;
        let can_lose = lines.contains(&("can_lose_a_node", "yes"));
        let of = |kind: &'static str| {
            let is_one = move |name: &str| {
                name.strip_prefix(kind).is_some_and(|rest| rest.parse::<u32>().is_ok())
            };
            lines.iter().filter(move |(name, _)| is_one(name)).map(|(_, rest)| fields(rest))
        };
        let is = |fields: &BTreeMap<&str, &str>, name: &str| fields.get(name) == Some(&"yes");
        let members = of("member").map(|fields| Peer {
            id: fields.get("id").copied().unwrap_or_default().to_owned(),
            votes: is(&fields, "votes"),
            connected: is(&fields, "connected"),
            observes: is(&fields, "observes"),
            lag: fields.get("lag").and_then(|lag| lag.parse().ok()),
        });
        let number = |fields: &BTreeMap<&str, &str>, name: &str| -> Result<u64> {
            Ok(fields.get(name).with_context(|| format!("no {name} in {said}"))?.parse()?)
        };
        let shards = of("shard").map(|fields| {
            let leader = fields.get("leader").filter(|leader| **leader != "none");
            Ok(Shard {
                leader: leader.map(|leader| (*leader).to_owned()),
                serves: is(&fields, "serves"),
                term: number(&fields, "term")?,
                committed: number(&fields, "committed")?,
                applied: number(&fields, "applied")?,
                base: number(&fields, "base")?,
                age_ms: fields.get("age_ms").and_then(|age| age.parse().ok()),
            })
        });
        let (members, shards) = (members.collect(), shards.collect::<Result<_>>()?);
        let id = id.with_context(|| format!("no node in {said}"))?.1.to_owned();
        Ok(Status { id, clock_off_ms, can_lose, members, shards })
    }

    /// Returns the terms of all threads if the node executes commands of all of them.
    pub(crate) fn led(&self) -> Option<Vec<u64>> {
        self.serves().then(|| self.shards.iter().map(|shard| shard.term).collect())
    }

    /// Reports whether the node executes commands of all threads.
    pub(crate) fn serves(&self) -> bool {
        !self.shards.is_empty() && self.shards.iter().all(|shard| shard.serves)
    }
}

fn fields(of: &str) -> BTreeMap<&str, &str> {
    of.split(',').filter_map(|field| field.split_once('=')).collect()
}
