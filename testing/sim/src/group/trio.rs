//! The nodes, the network between them, and the scheduler that the seed draws.

use super::asks::Client;
use super::machine::Machine;
use super::plan::{GroupPlan, GroupTheme};
use super::report::GroupCounts;
use super::running::{Input, Running, Terms};
use super::truth::Truth;
use crate::run::Checked;
use crate::world::World;
use crate::{Crash, Faults, SimDisk, Trace};
use scurry_engine::{APART_LEN, Config, HashKey, LogId};
use scurry_group::recover_to;
use scurry_model::{Generator, Random};
use scurry_replica::{NodeId, Settings};
use scurry_replicas::{Network, node};
use std::collections::BTreeMap;

/// Nodes of the group.
pub(super) const NODES: usize = 3;
/// Clients, each of which waits for one answer at a time.
const CLIENTS: usize = 4;
/// Steps of a node that starts one after another and is stopped each time, at most.
const STARTS_MAX: usize = 4;

pub(super) struct Trio {
    pub(super) plan: GroupPlan,
    pub(super) random: Random,
    pub(super) trace: Trace,
    pub(super) config: Config,
    pub(super) log: LogId,
    pub(super) network: Network,
    pub(super) truth: Truth,
    pub(super) machines: BTreeMap<NodeId, Machine>,
    pub(super) clients: Vec<Client>,
    pub(super) generators: [Generator; 3],
    /// Nodes so far.
    nodes: u64,
    /// Nothing fails: not yet, or not any more.
    pub(super) is_calm: bool,
    /// Shards that are to be recovered wait.
    pub(super) rebuilds_wait: bool,
    pub(super) counts: GroupCounts,
}

impl Trio {
    pub(super) fn new(theme: GroupTheme, seed: u64) -> Trio {
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
        let mut others = || Generator::new(random.next_u64()).1;
        let generators = [first, others(), others()];
        let log = LogId { id: random.next_u64(), core: 0 };
        let truth = Truth::new(World::new(&limits, &config));
        let (network, machines) = (Network::default(), BTreeMap::new());
        let clients = (0..CLIENTS).map(|_| Client::default()).collect();
        let counts = GroupCounts::default();
        let trace = Trace::default();
        Trio {
            plan,
            random,
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
            counts,
        }
    }

    pub(super) fn run(&mut self) -> Checked {
        for _ in 0..NODES {
            self.add_node()?;
        }
        self.settle()?;
        self.is_calm = false;
        for machine in self.machines.values() {
            machine.disk.inject(self.plan.faults);
        }
        for _ in 0..self.plan.steps {
            self.step()?;
        }
        if self.plan.loses {
            self.lose_one_more()?;
        }
        self.heal()?;
        self.counts.entries = self.truth.len();
        Ok(())
    }

    /// One more empty node, which is started.
    pub(super) fn add_node(&mut self) -> Checked {
        self.nodes += 1;
        let id = node(self.nodes);
        let faults = Faults { room: self.plan.faults.room, ..Faults::default() };
        let seed = self.random.next_u64();
        let disk = SimDisk::traced(seed, faults, self.trace.clone(), format!("    {id}: "));
        let clock = 1_700_000_000_000 + self.random.between(-500, 500);
        let machine = Machine::new(id, disk, self.log, clock).map_err(|error| error.to_string())?;
        self.machines.insert(id, machine);
        self.start(id)
    }

    pub(super) fn ids(&self, holds: impl Fn(&Machine) -> bool) -> Vec<NodeId> {
        let machines = self.machines.values().filter(|machine| holds(machine));
        machines.map(|machine| machine.id).collect()
    }

    /// One of the nodes for which this holds.
    pub(super) fn one(&mut self, holds: impl Fn(&Machine) -> bool) -> Option<NodeId> {
        let ids = self.ids(holds);
        (!ids.is_empty()).then(|| self.random.pick(&ids))
    }

    /// The node that leads in the greatest term, among those that take part.
    pub(super) fn leader(&self) -> Option<NodeId> {
        let up = self.machines.values().filter(|machine| machine.is_up());
        let term = |machine: &Machine| {
            let (lead, _) = machine.running.as_ref()?.lead.as_ref()?;
            Some((lead.term, machine.id))
        };
        up.filter_map(term).max().map(|(_, id)| id)
    }

    /// Has a node do something. A node whose disk has gone off meanwhile, or that cannot go on, ends.
    pub(super) fn with<R: Default>(
        &mut self,
        id: NodeId,
        what: impl FnOnce(&mut Trio, &mut Machine) -> Result<R, String>,
    ) -> Result<R, String> {
        let Some(mut machine) = self.machines.remove(&id) else { return Ok(R::default()) };
        let done = what(self, &mut machine);
        let done = match (machine.disk.is_off(), done) {
            // Nothing that it has found out counts.
            (true, _) => {
                machine.end();
                Ok(R::default())
            }
            (false, done) => done,
        };
        let broken = machine.running.as_ref().and_then(|running| running.group.broken.clone());
        let done = match broken {
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

    /// Starts a node that is down, with what is on its disk.
    pub(super) fn start(&mut self, id: NodeId) -> Checked {
        for attempt in 0.. {
            let off = self.machines.get(&id).is_some_and(|machine| machine.disk.is_off());
            if off {
                let crash = self.random.pick(self.plan.crashes);
                self.machines[&id].disk.restart(crash);
            }
            let Some(machine) = self.machines.get_mut(&id) else { return Ok(()) };
            if machine.running.is_some() {
                return Ok(());
            }
            if attempt == STARTS_MAX {
                machine.disk.mend();
            } else if !self.is_calm
                && machine.starts > 0
                && self.plan.crash > 0
                && self.random.one_in(4)
            {
                machine.disk.stop_after(self.random.below(40) as u64);
            }
            machine.starts += 1;
            let key = HashKey::known(id.get() << 32 | machine.starts);
            let seed = id.get() << 48 ^ machine.starts << 32 ^ self.log.id;
            let settings = Settings { window: self.plan.window, ..Settings::new(id, seed) };
            let errors = machine.disk.errors();
            let terms = Terms {
                log: self.log,
                config: Config { hash_key: key, ..self.config.clone() },
                founder: node(1),
                settings,
                segment_len: self.plan.segment_len,
                truth: &mut self.truth,
            };
            match Running::start(machine, terms) {
                _ if machine.disk.is_off() => {}
                Ok(running) => {
                    machine.running = Some(Box::new(running));
                    self.trace.add(format!("{id} starts"));
                    return self.act(id);
                }
                Err(why) if machine.disk.errors() > errors => {
                    self.trace.add(format!("{id} does not start: {why}"));
                }
                Err(why) => return Err(format!("{id} does not start: {why}")),
            }
        }
        Ok(())
    }

    /// A node ends, and is started again some time later.
    pub(super) fn crash(&mut self, id: NodeId, crash: Crash) {
        let Some(machine) = self.machines.get_mut(&id) else { return };
        self.trace.add(format!("{id} ends: {crash:?}"));
        machine.end();
        machine.disk.restart(crash);
        self.counts.crashes += 1;
    }

    fn step(&mut self) -> Checked {
        self.fail()?;
        match self.random.below(20) {
            0 | 1 => self.tick_one(),
            2..6 => {
                for _ in 0..3 {
                    self.deliver()?;
                }
                Ok(())
            }
            6..9 => match self.one(|machine| machine.is_up() && !machine.is_stalled) {
                Some(id) => self.work(id),
                None => Ok(()),
            },
            9..13 => match self.one(Machine::is_up) {
                Some(id) => self.hear(id),
                None => Ok(()),
            },
            13..16 => match self.one(Machine::is_up) {
                Some(id) => self.turn(id),
                None => Ok(()),
            },
            16 => self.background(),
            _ => {
                let client = self.random.below(self.clients.len());
                self.ask(client)
            }
        }
    }

    fn tick_one(&mut self) -> Checked {
        let Some(id) = self.one(Machine::is_up) else { return Ok(()) };
        self.tick(id)
    }

    /// Time of a node's host goes on, and it looks around.
    pub(super) fn tick(&mut self, id: NodeId) -> Checked {
        let clock = self.random.pick(&[1, 5, 30]);
        if let Some(machine) = self.machines.get_mut(&id) {
            machine.clock += clock;
            if let Some(running) = machine.running.as_mut() {
                running.group.tick();
            }
        }
        self.look_around(id);
        self.act(id)
    }

    pub(super) fn act(&mut self, id: NodeId) -> Checked {
        self.with(id, |trio, machine| match machine.running.as_mut() {
            Some(running) => running.act(&mut trio.network, &mut trio.truth, &mut trio.counts),
            None => Ok(()),
        })
    }

    /// One of the oldest packets comes.
    fn deliver(&mut self) -> Checked {
        let double = self.plan.double > 0 && self.random.one_in(self.plan.double);
        let machines = &self.machines;
        // What is sent to a node that stands still waits.
        let takes = |to| machines.get(&to).is_some_and(|machine: &Machine| !machine.is_paused);
        let reach = self.plan.reach;
        let packet = self.network.take(&mut self.random, reach, double, takes);
        let Some(packet) = packet else { return Ok(()) };
        self.receive(packet.from, packet.to, &packet.bytes)?;
        if self.is_lazy() || self.random.one_in(4) { Ok(()) } else { self.act(packet.to) }
    }

    pub(super) fn receive(&mut self, from: NodeId, to: NodeId, bytes: &[u8]) -> Checked {
        let Some(machine) = self.machines.get_mut(&to) else { return Ok(()) };
        let Some(running) = machine.running.as_mut() else {
            // The connection is not there, and the sender knows it.
            let source = self.machines.get_mut(&from).and_then(|source| source.running.as_mut());
            if let Some(source) = source {
                source.group.replica.unreachable(to);
            }
            return Ok(());
        };
        running.receive(bytes, &self.trace)
    }

    /// The device of a node does what waits for it.
    pub(super) fn work(&mut self, id: NodeId) -> Checked {
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

    /// The host of a node takes what cores and threads have said, and does what comes of it.
    pub(super) fn hear(&mut self, id: NodeId) -> Checked {
        let most = self.random.pick(&[1, 3, 100]);
        self.with(id, |trio, machine| {
            let Some(running) = machine.running.as_mut() else { return Ok(()) };
            for _ in 0..most {
                let from_core = running.from_core.try_recv().ok();
                let has_said = from_core.is_some();
                if let Some(news) = from_core {
                    running.group.core_says(news);
                }
                match running.inputs.pop_front() {
                    Some(Input::Stored(stored)) => running.group.stored(stored),
                    Some(Input::Rebuilt { index, outcome }) => {
                        running.group.rebuilt(outcome, index)
                    }
                    Some(Input::Came(came)) if running.receives(&came) => {
                        running.group.take_snapshot(*came);
                    }
                    // Another one is received by now, in the place of its file.
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

    /// True where a host takes more in before it does what comes of it.
    fn is_lazy(&mut self) -> bool {
        self.plan.is_lazy && !self.is_calm && self.random.one_in(2)
    }

    /// Something that a thread beside does: a shard is recovered, or a snapshot goes on.
    fn background(&mut self) -> Checked {
        if let Some(id) = self.one(|machine| {
            machine.is_up() && machine.running.as_ref().is_some_and(|r| r.rebuild.is_some())
        }) && (self.plan.rebuild == 0 || self.random.one_in(self.plan.rebuild))
        {
            self.rebuild(id)?;
        }
        let sendings = self.sendings();
        if !sendings.is_empty() {
            let (from, to) = self.random.pick(&sendings);
            self.send_part(from, to);
            // A disk may have gone off.
            self.act(to)?;
        }
        Ok(())
    }

    /// A shard is recovered up to what is committed.
    pub(super) fn rebuild(&mut self, id: NodeId) -> Checked {
        if self.rebuilds_wait {
            return Ok(());
        }
        let config = self.config.clone();
        self.with(id, |trio, machine| {
            let Some(running) = machine.running.as_mut() else { return Ok(()) };
            let Some((index, sequence)) = running.rebuild.take() else { return Ok(()) };
            let key = HashKey::known(trio.random.next_u64());
            let config = Config { hash_key: key, ..config };
            let mut disk = machine.disk.clone();
            let shard = recover_to(&mut disk, trio.log, config, sequence);
            trio.trace.add(format!("{} is recovered up to {index}, {sequence}", machine.id));
            let outcome = shard.map_err(|error| error.to_string());
            running.inputs.push_back(Input::Rebuilt { index, outcome });
            Ok(())
        })
    }
}
