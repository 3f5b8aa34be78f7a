//! The load during which a node fails or hands over.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::system::System;
use super::{Bench, settle};
use crate::audit::balances;
use crate::failover::{Answered, FailoverPlan, NodeEvent, Outcome, STEPS, run};
use crate::figures::{per, rounded};
use crate::fleet::Fleet;
use crate::latency::LatencyRecorder;
use crate::loader::{OperationResult, Second};
use crate::names::account_text;
use crate::populate::create_accounts;
use crate::progress::Progress;
use crate::row::{Figures, Loss, Run};
use crate::scenario::Event;
use crate::target::probe_charging;

const SECOND_NS: u64 = 1_000_000_000;

impl Bench<'_> {
    /// Probes, fills, charges during the event, and audits when all nodes are connected again.
    pub(super) fn failover(
        &self,
        number: u32,
        system: &mut System,
        progress: &Progress,
    ) -> Result<Run> {
        let scenario = self.scenario;
        let failover =
            scenario.failover.as_ref().context("nothing becomes of a node in the scenario")?;
        let dialect = self.target.dialect().context("this target does no charging")?;
        let client = &mut system.connect()?;
        self.target.prepare(scenario.kind, client, self.library)?;
        if let Err(error) = probe_charging(client, dialect) {
            return Ok(Run::failed(number, format!("failed audit: probe: {error:#}")));
        }
        let accounts = scenario.accounts;
        let filling = self.fill(system, client, accounts, progress, |client, progress| {
            create_accounts(client, dialect, &failover.create(&account_text(0)), accounts, progress)
        })?;
        let fleet =
            system.fleet_mut().context("the lab does nothing to a node that it has not started")?;
        fleet.wait_until_equal(self.interrupted)?;
        let all: Vec<u32> = (0..accounts).collect();
        // Only accounts of one owner are charged, so that the event affects all of them.
        let charged = owned_with_the_first(fleet, &all)?;
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds);
        let (warmup, length) = (scenario.warmup_seconds, scenario.seconds);
        let doors = fleet.doors();
        let plan = FailoverPlan {
            failover,
            dialect,
            doors: &doors,
            accounts: &charged,
            copies: self.copies.acknowledged.unwrap_or(1),
            clients: scenario.connections,
            rate: scenario.rate.context("the scenario has no rate")?,
            begin_at: seconds(warmup + length / 2.0)?,
            length: seconds(warmup + length)?,
            interrupted: self.interrupted,
        };
        plan.check()?;
        let mut scene = FleetEvent { bench: self, fleet, event: failover.event, node: 0 };
        let outcome = run(&plan, &mut scene)?;
        // After a kill a cluster may need longer to recover than a short load lasts; the gap and the losses are known
        // anyway.
        ensure!(
            failover.event == Event::Kill || u128::from(outcome.whole_at) <= plan.length.as_nanos(),
            "the load ended before all nodes were together again: use more --seconds"
        );
        // Connect again: the old connection may have ended with the node.
        let client = &mut system.connect()?;
        let balances = balances(client, dialect, &all, failover.unit.as_str())?;
        let (loss, audit) = outcome.judge(|account| balances[account as usize]);
        let mut run = self.charged(number, &outcome)?;
        run.loss = Some(with_client_latencies(loss, &outcome)?);
        let words = self.verdict(&run.errors, || audit);
        settle(&mut run, words, filling.as_ref(), progress);
        Ok(run)
    }

    /// Returns the figures of the measured interval.
    fn charged(&self, number: u32, outcome: &Outcome) -> Result<Run> {
        let nanos = |seconds: f64| -> Result<u64> {
            Ok(u64::try_from(Duration::try_from_secs_f64(seconds)?.as_nanos())?)
        };
        let begin = nanos(self.scenario.warmup_seconds)?;
        let end = begin + nanos(self.scenario.seconds)?;
        let length = self.scenario.seconds;
        let mut names: Vec<&str> = STEPS.iter().map(|step| step.name()).collect();
        names.sort_unstable();
        names.dedup();
        let mut kinds = Vec::new();
        for name in names {
            kinds.push((name, LatencyRecorder::new()?));
        }
        let mut whole = LatencyRecorder::new()?;
        let mut seconds: Vec<LatencyRecorder> = Vec::new();
        for answered in &outcome.answers {
            if !(begin..end).contains(&answered.at) {
                continue;
            }
            whole.record(answered.latency);
            let name = STEPS[answered.step].name();
            if let Some((_, kind)) = kinds.iter_mut().find(|(known, _)| *known == name) {
                kind.record(answered.latency);
            }
            let second = usize::try_from((answered.at - begin) / SECOND_NS)?;
            while seconds.len() <= second {
                seconds.push(LatencyRecorder::new()?);
            }
            seconds[second].record(answered.latency);
        }
        let second = |(index, recorder): (usize, &LatencyRecorder)| Second {
            elapsed: rounded(self.scenario.warmup_seconds + index as f64 + 1.0, 3),
            ops_per_s: recorder.count() as f64,
            p50_us: rounded(recorder.quantile_us(0.5), 2),
            p99_us: rounded(recorder.quantile_us(0.99), 2),
            errors: 0,
            measured: true,
        };
        let operation = |(name, recorder): (&str, LatencyRecorder)| OperationResult {
            operation: name.to_owned(),
            count: recorder.count(),
            latency_us: recorder.summary(),
        };
        Ok(Run {
            run: number,
            figures: Figures {
                business_ops_per_s: Some(rounded(per(whole.count(), length), 1)),
                latency_us: Some(whole.summary()),
                operations: Some(whole.count()),
                not_enough_copies: self.copies.acknowledged.map(|_| outcome.not_enough),
                ..Figures::default()
            },
            timeline: seconds.iter().enumerate().map(second).collect(),
            by_operation: kinds.into_iter().map(operation).collect(),
            ..Run::default()
        })
    }
}

/// Returns the accounts that have the same owner as the first one.
fn owned_with_the_first(fleet: &Fleet, all: &[u32]) -> Result<Vec<u32>> {
    let owners = fleet.owners_of(all.iter().map(|number| account_text(*number)))?;
    let of_first = |(_, owner): &(&u32, &usize)| Some(*owner) == owners.first();
    Ok(all.iter().zip(&owners).filter(of_first).map(|(number, _)| *number).collect())
}

/// Adds the latencies of clients before and during the event to the loss.
fn with_client_latencies(loss: Loss, outcome: &Outcome) -> Result<Loss> {
    let p99_us = |begin: u64, end: u64| -> Result<f64> {
        let mut recorder = LatencyRecorder::new()?;
        let is_within = |answered: &&Answered| (begin..end).contains(&answered.at);
        outcome.answers.iter().filter(is_within).for_each(|one| recorder.record(one.latency));
        Ok(rounded(recorder.quantile_us(0.99), 1))
    };
    let (begun, whole) = (outcome.begun_at, outcome.whole_at);
    Ok(Loss {
        whole_ms: rounded((whole - begun) as f64 / 1e6, 1),
        p99_before_us: p99_us(0, begun)?,
        p99_meanwhile_us: p99_us(begun, whole)?,
        ..loss
    })
}

/// Scene that applies the event to a node.
struct FleetEvent<'k, 'b> {
    bench: &'k Bench<'b>,
    fleet: &'k mut Fleet,
    event: Event,
    /// Number of the affected node.
    node: usize,
}

impl NodeEvent for FleetEvent<'_, '_> {
    fn begin(&mut self) -> Result<()> {
        let owner = self.fleet.owner_of(&account_text(0), None)?;
        match self.event {
            Event::Kill => {
                self.node = owner;
                self.fleet.kill(owner)
            }
            Event::Transfer => {
                self.node = owner;
                self.fleet.transfer(owner)
            }
            Event::Replace => {
                self.node = self.fleet.another(owner)?;
                self.fleet.kill(self.node)
            }
        }
    }

    fn mend(&mut self) -> Result<()> {
        let interrupted = self.bench.interrupted;
        match self.event {
            Event::Kill => {
                self.fleet.wait_until_taken_over(&account_text(0), self.node, interrupted)?;
                self.fleet.start_again(self.node, interrupted)
            }
            Event::Transfer => {
                self.fleet.wait_until_taken_over(&account_text(0), self.node, interrupted)
            }
            Event::Replace => self.fleet.replace(self.node, interrupted),
        }
    }
}
