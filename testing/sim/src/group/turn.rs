//! A turn of a node's core, in the same order as in a server: it processes the host's orders, sends replies, executes
//! requests, runs timers, and passes the executed records to the host.

use super::asks::{Reply, Request, RequestContent, RequestOutcome};
use super::machine::Machine;
use super::running::NodeProcess;
use super::trio::GroupSim;
use super::truth::Leadership;
use crate::audit::audit;
use crate::job::SnapshotJob;
use crate::model_checked_shard::ModelCheckedShard;
use crate::world::CheckResult;
use scurry_consensus::replica::NodeId;
use scurry_engine::{Disk, snapshot_name};
use scurry_ledger::Time;
use scurry_model::{ChainResult, StepResult};

/// The most requests of a turn.
const REQUESTS_MAX: usize = 4;

impl NodeProcess {
    /// Returns the time that the core shows. It never goes back.
    fn now(&mut self, clock: i64) -> Time {
        self.latest = self.latest.max(clock);
        Time(self.latest)
    }
}

impl GroupSim {
    pub(super) fn turn(&mut self, id: NodeId) -> CheckResult {
        self.with(id, |trio, machine| {
            trio.commit(machine)?;
            trio.execute_some(machine)?;
            trio.run_timers(machine)?;
            trio.commit(machine)?;
            trio.step_snapshot(machine);
            Ok(())
        })
    }

    /// Ends a turn: passes the executed records to the host, carries out the host's orders, and sends the replies that
    /// need not wait any more.
    fn commit(&mut self, machine: &mut Machine) -> CheckResult {
        let Some(running) = machine.running.as_mut() else { return Ok(()) };
        let now = running.now(machine.clock);
        running.core.end_turn(&mut running.shard, now);
        while self.carry_out_some(machine, now)? {}
        self.release(machine)?;
        self.look_at_follower(machine)
    }

    /// Lets a core carry out some of its orders. Returns false when none waits.
    fn carry_out_some(&mut self, machine: &mut Machine, now: Time) -> Result<bool, String> {
        let Some(running) = machine.running.as_mut() else { return Ok(false) };
        let led = running.core.leads();
        let Some((is_void, has_digest)) = running.carry_out_some(now) else { return Ok(false) };
        if is_void && let Some(job) = running.job.take() {
            job.abandon();
        }
        if let Some(floor) = running.core.take_floor() {
            running.latest = running.latest.max(floor.0);
        }
        // The core became leader in this call, and may already have begun to resign.
        if !led && (running.core.leads() || running.core.resigns()) {
            let term = running.next_term().ok_or("a core leads that was not told to")?;
            let from = running.shard.sequence();
            let world = self.truth.world(from).ok_or_else(|| {
                format!("{} leads behind {from}, which is not committed", machine.id)
            })?;
            self.trace.add(format!("{} leads in term {term} behind {from}", machine.id));
            running.lead = Some((Leadership { term, from }, (*world).clone()));
        }
        if !running.core.leads() {
            running.lead = None;
        }
        if has_digest && let Some((lead, world)) = &running.lead {
            // It takes a sequence and changes nothing.
            self.truth.record_executed(*lead, running.shard.sequence(), world);
            self.counts.digests += 1;
        }
        Ok(true)
    }

    fn release(&mut self, machine: &mut Machine) -> CheckResult {
        let Some(running) = machine.running.as_mut() else { return Ok(()) };
        while let Some((turn, _)) = running.held.front() {
            let leaves = *turn <= running.core.confirmed().get();
            if !leaves && !running.core.resigns() {
                return Ok(());
            }
            let Some((_, reply)) = running.held.pop_front() else { return Ok(()) };
            // A leader that resigns drops the replies that are not confirmed. Their clients do not know the outcome.
            if leaves {
                self.answered(&reply)?;
            } else {
                self.ends(&reply.request, RequestOutcome::Lost);
            }
        }
        if running.core.resigns() {
            running.core.finish_resignation(&running.shard);
            running.is_in_doubt = true;
        }
        Ok(())
    }

    /// Checks, now and then, that a following shard shows exactly the committed state.
    fn look_at_follower(&mut self, machine: &mut Machine) -> CheckResult {
        let Some(running) = machine.running.as_mut() else { return Ok(()) };
        if running.core.leads()
            || running.is_in_doubt
            || self.altered.is_some()
            || !self.random.one_in(12)
        {
            return Ok(());
        }
        let sequence = running.shard.sequence();
        if sequence == 0 {
            // The shard waits for a snapshot, or for the first entry.
            return Ok(());
        }
        let world = self
            .truth
            .world(sequence)
            .ok_or_else(|| format!("{} shows {sequence}, which is not committed", machine.id))?;
        let now = Time(running.latest.max(world.at));
        audit(&mut running.shard, &world, now)
            .map_err(|why| format!("{} follows, at sequence {sequence}: {why}", machine.id))
    }

    fn execute_some(&mut self, machine: &mut Machine) -> CheckResult {
        for _ in 0..self.random.below(REQUESTS_MAX + 1) {
            let Some(running) = machine.running.as_mut() else { return Ok(()) };
            if running.core.is_congested() {
                return Ok(());
            }
            let Some(request) = machine.inbox.pop_front() else { return Ok(()) };
            if running.core.leads() {
                self.execute(machine, request)?;
            } else {
                self.ends(&request, RequestOutcome::Refused);
            }
            if self.random.one_in(4) {
                // As a server does when many records wait for the log: pass them on within the turn.
                self.commit(machine)?;
            }
        }
        Ok(())
    }

    fn execute(&mut self, machine: &mut Machine, request: Request) -> CheckResult {
        let Some(running) = machine.running.as_mut() else { return Ok(()) };
        let now = running.now(machine.clock);
        let known = self.truth.sequence();
        let before = running.shard.sequence();
        let Some((lead, world)) = running.lead.as_mut() else { return Ok(()) };
        let mut beside = ModelCheckedShard {
            shard: &mut running.shard,
            world,
            random: &mut self.random,
            trace: self.trace.clone(),
            now,
        };
        let records = match &request.ask {
            RequestContent::Account(index, op) => match beside.execute(*index, op)? {
                StepResult::Commit(_) => 1..=1,
                StepResult::Replay(_) | StepResult::Reject(_) | StepResult::Ticked(_) => 0..=0,
            },
            RequestContent::Chain(chain) => match beside.chain(&self.config.limits, chain)? {
                (ChainResult::Commit(_), _) => {
                    self.counts.chains += 1;
                    chain.len() as u64..=chain.len() as u64
                }
                _ => 0..=0,
            },
            RequestContent::Key => {
                beside.key_command()?;
                // A second record may remove an expired entry of the key first.
                0..=2
            }
            RequestContent::Read => {
                beside.read()?;
                0..=0
            }
            RequestContent::Audit => {
                audit(beside.shard, beside.world, now)?;
                0..=0
            }
        };
        running.core.note_shown();
        let shows = running.shard.sequence();
        if !records.contains(&(shows - before)) {
            return Err(format!("{} records were written, not {records:?}", shows - before));
        }
        let lead = *lead;
        if shows > before {
            world.at = now.0;
            self.truth.record_executed(lead, shows, world);
            self.counts.executed += 1;
            // A host seals a frame that has become long.
            if self.random.one_in(4)
                && let Some(journal) = running.shard.journal()
            {
                journal.seal(0, now);
            }
        }
        let reply = Reply { request, lead, shows, known, is_new: shows > before };
        match running.core.pending() {
            Some(turn) => running.held.push_back((turn.get(), reply)),
            None => self.answered(&reply)?,
        }
        Ok(())
    }

    fn run_timers(&mut self, machine: &mut Machine) -> CheckResult {
        let Some(running) = machine.running.as_mut() else { return Ok(()) };
        if !running.core.takes_commits() || !self.random.one_in(3) {
            return Ok(());
        }
        let now = running.now(machine.clock);
        let Some((lead, world)) = running.lead.as_mut() else { return Ok(()) };
        let (lead, truth, counts) = (*lead, &mut self.truth, &mut self.counts);
        let mut beside = ModelCheckedShard {
            shard: &mut running.shard,
            world,
            random: &mut self.random,
            trace: self.trace.clone(),
            now,
        };
        beside.tick(|sequence, world| {
            truth.record_executed(lead, sequence, world);
            counts.releases += 1;
        })
    }

    fn step_snapshot(&mut self, machine: &mut Machine) {
        let Some(running) = machine.running.as_mut() else { return };
        let now = running.now(machine.clock);
        let Some(mut job) = running.job.take() else {
            if self.plan.snapshot > 0 && self.random.one_in(self.plan.snapshot / 4) {
                if !running.core.shows_the_log() {
                    return;
                }
                // No second snapshot of the same state, so that the nodes come to rest at the end of a run.
                let name = snapshot_name(running.shard.sequence());
                if self.is_calm && machine.disk.list().is_ok_and(|names| names.contains(&name)) {
                    return;
                }
                let (shard, chunk_len) = (&mut running.shard, self.plan.chunk_len);
                running.job = SnapshotJob::begin((shard, self.log), &machine.disk, chunk_len, now);
            }
            return;
        };
        let Some(as_of) = job.as_of() else {
            match job.write_piece(&mut machine.disk, &mut running.shard, now) {
                Ok(()) => running.job = Some(job),
                Err(_) => job.abandon(),
            }
            return;
        };
        // The snapshot may show records that are not committed. It is published once they are.
        if running.core.committed().get() < as_of {
            running.job = Some(job);
            return;
        }
        if let Ok((shown, needless)) = job.publish() {
            self.counts.snapshots += 1;
            running.core.tell_snapshot(shown, needless);
        }
    }
}
