//! A group of one node, whose device stores what it is told to.

use super::*;
use crate::channel::Progress;
use scurry_codec::{FrameWriter, LogFormat};
use scurry_engine::LogId;
use scurry_replica::Settings;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Other nodes, of which there are none.
struct Nobody;

impl Outlet for Nobody {
    fn send(&mut self, _: u16, _: &Message, _: Vec<Body>) -> bool {
        false
    }
    fn read(&mut self, _: u16, _: u64) -> Option<Body> {
        None
    }
    fn renewed(&mut self, _: u16) {}
    fn catch_up(&mut self, _: u16, _: NodeId, _: Offer) {}
    fn is_sending(&self, _: u16) -> bool {
        false
    }
    fn answer(&mut self, _: u16, _: NodeId, _: u64, _: Word) {}
    fn rebuild(&mut self, _: u16, _: u64, _: u64) {}
}

struct Alone {
    group: ShardGroup,
    tasks: Receiver<Task>,
    orders: Receiver<ToCore>,
}

impl Alone {
    fn new() -> Alone {
        let node = NodeId::new(1).unwrap();
        let log = LogId { id: 7, core: 0 };
        let seal = log.seal_in(LogFormat::Replicated);
        let (store, tasks) = channel();
        let (to_core, orders) = channel();
        let base =
            LogBase { chain: seal.chain_start(), voters: vec![node.get()], ..LogBase::default() };
        let recovered = Recovered {
            vote: scurry_replica::Vote::default(),
            base: base_from(&base).unwrap(),
            entries: Vec::new(),
            committed: Index(0),
        };
        let replica = Replica::new(Settings::new(node, 1), recovered).unwrap();
        let end = End { index: 0, sequence: 0, at: Time(0), chain: seal.chain_start() };
        let ring = Arc::new(|| {});
        let group = ShardGroup::new(Beginning {
            shard: 0,
            replica,
            bodies: Bodies::new(seal, end),
            core: HostEnd { orders: to_core, ring, progress: Arc::new(Progress::default()) },
            store,
            applied: (0, 0),
            named: None,
            base,
            snapshot: None,
            shows: None,
        });
        Alone { group, tasks, orders }
    }

    /// Stores everything that was ordered.
    fn store(&mut self) {
        self.group.act(&mut Nobody);
        while let Ok(task) = self.tasks.try_recv() {
            if let Task::Store(Order { ticket, last, .. }) = task {
                self.group.stored(Stored::Done { ticket, last: Some(last) });
                self.group.act(&mut Nobody);
            }
        }
    }

    /// Stores what was ordered first, and no more.
    fn store_one(&mut self) {
        self.group.act(&mut Nobody);
        let task = self.tasks.try_iter().find_map(|task| match task {
            Task::Store(order) => Some(order),
            _ => None,
        });
        let Order { ticket, last, .. } = task.expect("something is to be stored");
        self.group.stored(Stored::Done { ticket, last: Some(last) });
        self.group.act(&mut Nobody);
    }

    /// Lets so many ticks pass, in which the device does nothing.
    fn pass(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.group.tick();
            self.group.act(&mut Nobody);
        }
    }

    /// The core has executed something.
    fn execute(&mut self, turn: u64, epoch: u64) {
        let seal = LogId { id: 7, core: 0 }.seal_in(LogFormat::Replicated);
        let next = self.group.bodies.end().sequence + 1;
        let mut writer = FrameWriter::new(seal, next);
        writer.group(&[]);
        writer.seal(0, Time(1));
        let mut frames = Vec::new();
        writer.take(&mut frames);
        self.group.core_says(FromCore::Frames { epoch: Epoch(epoch), turn, frames });
        self.group.act(&mut Nobody);
    }

    fn is_told_to_resign(&self) -> bool {
        self.orders.try_iter().any(|order| matches!(order, ToCore::Resign))
    }
}

#[test]
fn a_leader_that_gets_nothing_committed_lets_nobody_wait_for_long() {
    let mut alone = Alone::new();
    alone.store();
    assert!(alone.group.view().serves);
    let own = NodeId::new(1).unwrap();
    alone.pass(2 * STUCK_TICKS);
    assert!(alone.group.view().serves && !alone.group.stands_still(own), "nothing waits");
    alone.execute(1, 1);
    alone.pass(STILL_TICKS);
    assert!(!alone.group.stands_still(own));
    alone.pass(2);
    assert!(alone.group.stands_still(own));
    alone.store();
    alone.pass(1);
    assert!(!alone.group.stands_still(own), "it goes on");
    alone.execute(2, 1);
    alone.pass(STUCK_TICKS);
    assert!(alone.group.view().serves && !alone.is_told_to_resign());
    alone.pass(2);
    assert!(!alone.group.view().serves && alone.is_told_to_resign());
    // Its device goes on: it leads again, behind what was executed, which was committed after all.
    alone.group.core_says(FromCore::Resigned { executed: alone.group.bodies.end().sequence });
    for _ in 0..200 {
        alone.store();
        alone.pass(1);
    }
    assert!(alone.group.leads());
}

#[test]
fn a_leader_deposed_while_members_change_is_given_the_change() {
    let mut alone = Alone::new();
    alone.store();
    let executed = alone.group.bodies.end().sequence;
    let (own, other) = (NodeId::new(1).unwrap(), NodeId::new(2).unwrap());
    let members = Members::new([own], [other]).unwrap();
    let record = GroupMembers { members: Vec::new() };
    alone.group.plan(Plan::Change { members, record });
    alone.group.core_says(FromCore::Paused { epoch: Epoch(1) });
    alone.group.act(&mut Nobody);
    // Its beginning is committed, and its end is not.
    alone.store_one();
    assert_eq!(alone.group.committed_sequence, executed + 1);
    alone.group.replica.step_down();
    alone.group.act(&mut Nobody);
    assert!(alone.is_told_to_resign());
    // The core was still, and knows nothing of it.
    alone.group.core_says(FromCore::Resigned { executed });
    alone.group.act(&mut Nobody);
    let given = alone.orders.try_iter().map(|order| match order {
        ToCore::Apply(frames) => frames.len(),
        _ => 0,
    });
    assert_eq!(given.sum::<usize>(), 1);
}
