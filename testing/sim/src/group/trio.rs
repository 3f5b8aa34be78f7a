//! The whole simulated group: nodes, network, clients, and the state that they must show.

use super::asks::Client;
use super::counts::GroupCounts;
use super::machine::Machine;
use super::plan::{GroupPlan, GroupTheme};
use super::truth::CommittedHistory;
use crate::Trace;
use crate::world::{CheckResult, World};
use scurry_consensus::replica::NodeId;
use scurry_engine::{APART_LEN, Config, HashKey, LogId};
use scurry_model::{Generator, Random};
use scurry_replicas::Network;
use std::collections::BTreeMap;

/// The number of nodes of the group.
pub(super) const NODES: usize = 3;
/// The number of clients. Each waits for one answer at a time.
const CLIENTS: usize = 4;
/// Tells the draws of versions from all others of a seed.
const VERSIONS: u64 = 0x7665_7273_696f_6e73;
pub(super) struct GroupSim {
    pub(super) plan: GroupPlan,
    pub(super) random: Random,
    /// Draws the versions of nodes.
    pub(super) versions: Random,
    pub(super) trace: Trace,
    pub(super) config: Config,
    pub(super) log: LogId,
    pub(super) network: Network,
    pub(super) truth: CommittedHistory,
    pub(super) machines: BTreeMap<NodeId, Machine>,
    pub(super) clients: Vec<Client>,
    pub(super) generators: [Generator; 3],
    /// The number of nodes that were ever added.
    pub(super) nodes: u64,
    /// True while no faults are injected: before the first and after the last step.
    pub(super) is_calm: bool,
    /// True while recoveries of shards are postponed.
    pub(super) rebuilds_wait: bool,
    /// The node whose memory was altered.
    pub(super) altered: Option<NodeId>,
    pub(super) counts: GroupCounts,
}

impl GroupSim {
    pub(super) fn new(theme: GroupTheme, seed: u64) -> GroupSim {
        let mut random = Random::new(seed);
        let plan = GroupPlan::new(theme, &mut random);
        let (limits, first) = Generator::new(random.next_u64());
        let config = Config {
            limits: limits.clone(),
            node: u16::try_from(random.below(512)).unwrap_or(0),
            entity_index: true,
            entity_tombstone_ms: random.pick(&[1, 40, 500]),
            version_ahead_ms_max: random.pick(&[0, 20, 1_000]),
            apart_len: random.pick(&[APART_LEN, 0, 100, 1_000]),
            ..Config::default()
        };
        let log = LogId { id: random.next_u64(), core: 0 };
        // The nodes of a group share it.
        let config = Config { hash_key: HashKey::of_group(log.id), ..config };
        let mut others = || Generator::new(random.next_u64()).1;
        let generators = [first, others(), others()];
        let truth = CommittedHistory::new(World::new(&limits, &config));
        let (network, machines) = (Network::default(), BTreeMap::new());
        let clients = (0..CLIENTS).map(|_| Client::default()).collect();
        let counts = GroupCounts::default();
        let trace = Trace::default();
        GroupSim {
            plan,
            random,
            versions: Random::new(seed ^ VERSIONS),
            trace,
            config,
            log,
            network,
            truth,
            machines,
            clients,
            generators,
            nodes: 0,
            is_calm: true,
            rebuilds_wait: false,
            altered: None,
            counts,
        }
    }

    pub(super) fn ids(&self, holds: impl Fn(&Machine) -> bool) -> Vec<NodeId> {
        let machines = self.machines.values().filter(|machine| holds(machine));
        machines.map(|machine| machine.id).collect()
    }

    /// Returns a random node for which `holds` is true.
    pub(super) fn one(&mut self, holds: impl Fn(&Machine) -> bool) -> Option<NodeId> {
        let ids = self.ids(holds);
        (!ids.is_empty()).then(|| self.random.pick(&ids))
    }

    /// Returns the node that leads in the greatest term, among the nodes that run and are not paused.
    pub(super) fn leader(&self) -> Option<NodeId> {
        let up = self.machines.values().filter(|machine| machine.is_up());
        let term = |machine: &Machine| {
            let (lead, _) = machine.running.as_ref()?.lead.as_ref()?;
            Some((lead.term, machine.id))
        };
        up.filter_map(term).max().map(|(_, id)| id)
    }

    /// Runs `what` on a node. Ends the node if its disk has stopped in the meantime, or if its group is broken.
    pub(super) fn with<R: Default>(
        &mut self,
        id: NodeId,
        what: impl FnOnce(&mut GroupSim, &mut Machine) -> Result<R, String>,
    ) -> Result<R, String> {
        let Some(mut machine) = self.machines.remove(&id) else { return Ok(R::default()) };
        let done = what(self, &mut machine);
        let done = match (machine.disk.is_off(), done) {
            // The machine is off: its last result is void.
            (true, _) => {
                machine.end();
                Ok(R::default())
            }
            (false, done) => done,
        };
        let broken = machine.running.as_ref().and_then(|running| running.group.broken.clone());
        let done = match broken {
            // A group may break only because of an error of its disk.
            Some(why) if machine.disk.errors() == 0 => Err(format!("{id} stops: {why}")),
            Some(why) => {
                self.trace.add(format!("{id} stops: {why}"));
                self.counts.failed += 1;
                machine.end();
                done
            }
            None => done,
        };
        self.machines.insert(id, machine);
        done
    }

    pub(super) fn act(&mut self, id: NodeId) -> CheckResult {
        self.with(id, |trio, machine| match machine.running.as_mut() {
            Some(running) => running.act(&mut trio.network, &mut trio.truth, &mut trio.counts),
            None => Ok(()),
        })
    }

    /// Draws whether a host processes more inputs before it acts on the earlier ones.
    pub(super) fn is_lazy(&mut self) -> bool {
        self.plan.is_lazy && !self.is_calm && self.random.one_in(2)
    }
}
