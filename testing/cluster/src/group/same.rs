//! Checks that all nodes hold the same data: each becomes leader in turn and shows everything.

use super::{Group, NODES};
use crate::audit::sums_agree;
use anyhow::{Context, Result, ensure};
use scurry_conformance::Value;
use scurry_crash::views;
use scurry_crash::wire::{RequestWords, words};

/// All keys ever created in this group.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) accounts: Vec<String>,
    pub(crate) values: Vec<String>,
}

impl Group {
    /// Asks one node, which is made leader for that. Another node does not lead meanwhile.
    pub(crate) fn asked_of(
        &mut self,
        node: usize,
        requests: &[RequestWords],
    ) -> Result<Vec<Value>> {
        loop {
            self.transfer(node)?;
            let led = |group: &Group| group.nodes[node].status().ok()?.led();
            let before = led(self);
            let replies = self.nodes[node].wire().and_then(|mut wire| wire.ask_all(requests));
            let is_early = |reply: &Value| {
                matches!(reply, Value::Error(_)) && reply.to_string().contains("try again")
            };
            let is_early = replies.as_ref().is_ok_and(|replies| replies.iter().any(is_early));
            // Repeats the reads if another node took over meanwhile, or this one had not fully taken over.
            if before.is_some() && before == led(self) && !is_early {
                return replies;
            }
        }
    }
}

impl Known {
    /// Reads the content of one node, which is made leader for that: each account's image, each value, the number of
    /// keys, and the totals.
    fn shown(&self, group: &mut Group, node: usize) -> Result<Vec<(String, Value)>> {
        let dumps = self.accounts.iter().map(|id| format!("SCUR.DUMP {id}"));
        let gets = self.values.iter().map(|key| format!("GET {key}"));
        let rest = ["DBSIZE", "SCUR.TOTALS"].map(str::to_owned);
        let lines: Vec<String> = dumps.chain(gets).chain(rest).collect();
        let requests: Vec<RequestWords> = lines.iter().map(|line| words(line)).collect();
        let mut replies = group.asked_of(node, &requests)?;
        replies.iter_mut().for_each(sort_units);
        Ok(lines.into_iter().zip(replies).collect())
    }

    /// Checks that TOTALS equal the sum of the accounts and that all accounts are intact.
    pub(crate) fn sums_agree(&self, group: &mut Group) -> Result<()> {
        group.until("the totals are the sum of the accounts", |group| {
            let leader = group.leader_of(&(0..NODES).collect::<Vec<_>>());
            let leader = leader.context("no node leads")?;
            let mut wire = group.nodes[leader].wire()?;
            let audits: Vec<RequestWords> =
                self.accounts.iter().map(|id| views::audit(id)).collect();
            let audits = wire.ask_all(&audits)?;
            let audits: Vec<_> = self.accounts.iter().cloned().zip(audits).collect();
            sums_agree(&[wire.ask(&words("SCUR.TOTALS"))?], &audits)
        })
    }

    /// Checks that all nodes hold the same bytes.
    pub(crate) fn same_everywhere(&self, group: &mut Group) -> Result<()> {
        let (first, others) = group.parts()?;
        let theirs = self.shown(group, first)?;
        for (line, reply) in &theirs {
            ensure!(!matches!(reply, Value::Error(_)), "{line}: {reply}");
        }
        for node in others {
            let its = self.shown(group, node)?;
            for ((line, one), (_, other)) in theirs.iter().zip(&its) {
                ensure!(one == other, "{line}: node {first} says {one}, and node {node} {other}");
            }
        }
        group.until_whole()?;
        Ok(())
    }
}

/// Sorts the units of TOTALS, whose order depends on when a node first saw them.
fn sort_units(totals: &mut Value) {
    let Value::Map(entries) = totals else { return };
    for (_, units) in entries {
        if let Value::Array(units) = units {
            units.sort_by_key(Value::to_string);
        }
    }
}
