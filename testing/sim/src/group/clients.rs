//! The clients' behaviour: which requests they send, to which node, and how they repeat requests with unclear outcomes.

use super::asks::{Reply, Request, RequestContent, RequestOutcome};
use super::machine::Machine;
use super::trio::GroupSim;
use crate::model_checked_shard::id;
use crate::world::{ACCOUNTS, CheckResult};
use scurry_consensus::replica::NodeId;
use scurry_model::{ChainOp, CommandOrTick, Event};

impl GroupSim {
    /// Sends a request of a client that is idle. A waiting client sometimes gives up and asks again.
    pub(super) fn ask(&mut self, client: usize) -> CheckResult {
        if self.clients[client].sent.is_some() && !self.random.one_in(8) {
            return Ok(());
        }
        if let Some(request) = self.clients[client].sent.take() {
            self.clients[client].again = Some(request.ask).filter(RequestContent::is_safe);
        }
        let Some(to) = self.pick_target() else { return Ok(()) };
        let again = self.clients[client].again.take();
        self.counts.again += u64::from(again.is_some());
        let ask = match again {
            Some(again) => again,
            None => self.fresh(client, to),
        };
        self.send(client, to, ask);
        Ok(())
    }

    /// Puts a request into a node's inbox. If the node is down, the client repeats the request later.
    pub(super) fn send(&mut self, client: usize, to: NodeId, ask: RequestContent) {
        let Some(machine) = self.machines.get_mut(&to).filter(|machine| machine.running.is_some())
        else {
            self.clients[client].again = Some(ask).filter(RequestContent::is_safe);
            return;
        };
        let own = &mut self.clients[client];
        own.number += 1;
        let request = Request { client, number: own.number, ask };
        own.sent = Some(request.clone());
        machine.inbox.push_back(request);
    }

    /// Picks the node to ask: mostly the leader, sometimes a former leader or any node.
    fn pick_target(&mut self) -> Option<NodeId> {
        let leader = self.leader();
        match self.random.below(6) {
            0 => self.one(Machine::leads),
            1 => self.one(|machine| machine.running.is_some()),
            _ => leader,
        }
    }

    fn fresh(&mut self, client: usize, to: NodeId) -> RequestContent {
        match self.random.below(12) {
            0 | 1 => return RequestContent::Read,
            2 if self.random.one_in(3) => return RequestContent::Audit,
            3..6 => return RequestContent::Key,
            // Repeats a request that was answered.
            6 if let Some(ask) = &self.clients[client].answered => return ask.clone(),
            _ => {}
        }
        let Some(machine) = self.machines.get_mut(&to) else { return RequestContent::Read };
        let newest = self.truth.newest();
        let lead = machine.running.as_ref().and_then(|running| running.lead.as_ref());
        let world = lead.map_or(&*newest, |(_, world)| world);
        let mut chain = ChainOp::new();
        let is_chain = self.plan.chain > 0 && self.random.one_in(self.plan.chain);
        let first = self.random.below(ACCOUNTS.len());
        let count = if is_chain { self.random.pick(&[2, 2, 3]) } else { 1 };
        for number in 0..count {
            let index = (first + number) % ACCOUNTS.len();
            let (generator, pair) = (&mut self.generators[index], &world.pairs[index]);
            generator.set_clock(machine.clock);
            let (at, op) = match is_chain {
                true => generator.link(pair),
                false => match generator.next(pair) {
                    Event { at, what: CommandOrTick::Do(op) } => (at, op),
                    // The generator lets time pass instead of sending a command.
                    Event { at, what: CommandOrTick::Tick } => {
                        machine.clock = at;
                        return RequestContent::Read;
                    }
                },
            };
            machine.clock = at;
            if !is_chain {
                return RequestContent::Account(index, Box::new(op));
            }
            chain.push((id(index), op));
        }
        RequestContent::Chain(chain)
    }

    /// Ends a request: the client is idle again, and later repeats the request if it was not answered.
    pub(super) fn ends(&mut self, request: &Request, fate: RequestOutcome) {
        match fate {
            RequestOutcome::Answered => {}
            RequestOutcome::Refused => self.counts.refused += 1,
            RequestOutcome::Lost => self.counts.lost += 1,
        }
        let client = &mut self.clients[request.client];
        if client.sent.as_ref().is_none_or(|sent| sent.number != request.number) {
            // The client has given this request up, and waits for another one.
            return;
        }
        client.sent = None;
        let ask = Some(request.ask.clone()).filter(RequestContent::is_safe);
        match fate {
            RequestOutcome::Answered => client.answered = ask.or(client.answered.take()),
            RequestOutcome::Refused | RequestOutcome::Lost => client.again = ask,
        }
    }

    /// Sends an answer. The state that it shows must be committed, and must have been the newest when it was formed.
    pub(super) fn answered(&mut self, reply: &Reply) -> CheckResult {
        let Reply { request, lead, shows, known, is_new } = reply;
        if !self.truth.is_state_committed(*lead, *shows) {
            let committed = self.truth.sequence();
            return Err(format!("{reply:?} is answered, and committed is {committed}"));
        }
        if shows < known {
            return Err(format!("{reply:?} shows what was old when it was formed"));
        }
        self.counts.answers += u64::from(*is_new);
        self.counts.reads += u64::from(!*is_new);
        self.ends(request, RequestOutcome::Answered);
        Ok(())
    }

    /// Reports whether no client waits for an answer.
    pub(super) fn is_answered(&self) -> bool {
        self.clients.iter().all(|client| client.sent.is_none())
    }

    /// Lets all clients give up waiting.
    pub(super) fn give_up(&mut self) {
        for client in &mut self.clients {
            if let Some(request) = client.sent.take() {
                client.again = Some(request.ask).filter(RequestContent::is_safe);
            }
        }
    }
}
