//! The work of a node's threads other than its core: the host, the log's device, and the thread that recovers a shard.

use super::running::Input;
use super::trio::GroupSim;
use super::versions::check_version;
use crate::world::CheckResult;
use scurry_consensus::replica::NodeId;
use scurry_consensus::shard::{FromCore, recover_to};

impl GroupSim {
    /// Advances the time of a node and ticks its host, which may then change the members.
    pub(super) fn tick(&mut self, id: NodeId) -> CheckResult {
        let clock = self.random.pick(&[1, 5, 30]);
        self.allow_digests(id);
        if let Some(machine) = self.machines.get_mut(&id) {
            machine.clock += clock;
            if let Some(running) = machine.running.as_mut() {
                running.group.tick();
            }
        }
        self.propose_membership(id);
        self.act(id)
    }

    pub(super) fn receive(&mut self, from: NodeId, to: NodeId, bytes: &[u8]) -> CheckResult {
        let Some(machine) = self.machines.get_mut(&to) else { return Ok(()) };
        let Some(running) = machine.running.as_mut() else {
            // There is no connection to a node that is down, and the sender notices that.
            let source = self.machines.get_mut(&from).and_then(|source| source.running.as_mut());
            if let Some(source) = source {
                source.group.replica.unreachable(to);
            }
            return Ok(());
        };
        running.receive(from, bytes, &self.trace)
    }

    /// Executes a task of a node's device.
    pub(super) fn work(&mut self, id: NodeId) -> CheckResult {
        let orders = self.random.pick(&[0, 1, 30]);
        if self.plan.crash > 0
            && !self.is_calm
            && self.random.one_in(6 * self.plan.crash)
            && let Some(machine) = self.machines.get(&id)
        {
            machine.disk.stop_after(self.random.below(14) as u64);
        }
        self.with(id, |_, machine| {
            if let Some(running) = machine.running.as_mut() {
                running.work(orders);
            }
            Ok(())
        })
    }

    /// Passes messages of the core and of the threads to a node's host, and carries out the effects.
    pub(super) fn process_inputs(&mut self, id: NodeId) -> CheckResult {
        let most = self.random.pick(&[1, 3, 100]);
        self.with(id, |trio, machine| {
            let Some(running) = machine.running.as_mut() else { return Ok(()) };
            for _ in 0..most {
                let from_core = running.from_core.try_recv().ok();
                let has_said = from_core.is_some();
                if let Some(news) = from_core {
                    if let FromCore::Compared(compared) = &news {
                        check_version(machine.speaks, id)?;
                        trio.look_at_comparison(id, compared)?;
                    }
                    running.group.on_core_message(news);
                }
                match running.inputs.pop_front() {
                    Some(Input::Stored(stored)) => running.group.stored(stored),
                    Some(Input::Rebuilt { index, outcome }) => {
                        running.group.rebuilt(outcome, index)
                    }
                    Some(Input::Came(came)) if running.receives(&came) => {
                        running.group.take_snapshot(*came);
                    }
                    // Another snapshot is being received by now, and its file has replaced this one's.
                    Some(Input::Came(_)) => {}
                    Some(Input::Sent { to, outcome: Ok(index) }) => {
                        running.group.caught_up(to, index);
                    }
                    Some(Input::Sent { to, outcome: Err(why) }) => {
                        running.group.not_caught_up(to, &why);
                    }
                    None if has_said => {}
                    None => break,
                }
            }
            if trio.is_lazy() {
                return Ok(());
            }
            running.act(&mut trio.network, &mut trio.truth, &mut trio.counts)
        })
    }

    /// Recovers a shard up to the position that the host has requested.
    pub(super) fn rebuild(&mut self, id: NodeId) -> CheckResult {
        if self.rebuilds_wait {
            return Ok(());
        }
        let config = self.config.clone();
        self.with(id, |trio, machine| {
            let Some(running) = machine.running.as_mut() else { return Ok(()) };
            let Some(to) = running.rebuild.take() else { return Ok(()) };
            let (index, sequence) = (to.index, to.sequence.get());
            let mut disk = machine.disk.clone();
            let shard = recover_to(&mut disk, trio.log, config, to.sequence);
            trio.trace.add(format!(
                "{} is recovered up to {}, {sequence}",
                machine.id,
                index.get()
            ));
            let outcome = shard.map_err(|error| error.to_string());
            running.inputs.push_back(Input::Rebuilt { index, outcome });
            Ok(())
        })
    }
}
