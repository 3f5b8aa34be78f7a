//! Groups of one node and of two nodes, with devices that the tests control.

use super::*;
use crate::replica::Settings;
use crate::shard::channel::Progress;
use crate::shard::state_check::Verdict;
use scurry_codec::{FrameWriter, LogFormat};
use scurry_engine::LogId;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Messages for other nodes, with their frames, and the bytes of frames that a link takes at a time, if there is a bound.
#[derive(Default)]
struct Post(Vec<(Message, Vec<FrameBytes>)>, Option<u64>);

impl HostActions for Post {
    fn send(&mut self, _: u16, message: &Message, bodies: Vec<FrameBytes>) -> bool {
        self.0.push((message.clone(), bodies));
        true
    }
    fn room(&self, _: NodeId) -> ByteCount {
        ByteCount(self.1.unwrap_or(u64::MAX))
    }
    fn read(&mut self, _: u16, _: Sequence) -> Option<FrameBytes> {
        None
    }
    fn renewed(&mut self, _: u16) {}
    fn catch_up(&mut self, _: u16, _: NodeId, _: SnapshotOffer) {}
    fn is_sending(&self, _: u16) -> bool {
        false
    }
    fn answer(&mut self, _: u16, _: NodeId, _: u64, _: SnapshotMessage) {}
    fn report(&mut self, _: u16, _: NodeId, _: &DigestReport) {}
    fn tell_committed(&mut self, _: u16, _: NodeId, _: Term, _: Sequence) {}
    fn keep_copies(&mut self, _: u16, _: &Verdict) {}
    fn rebuild(&mut self, _: u16, _: LogPosition) {}
}

struct Alone {
    group: ShardGroup,
    tasks: Receiver<Task>,
    orders: Receiver<ToCore>,
}

impl Alone {
    fn new() -> Alone {
        Alone::of(1, &[1])
    }

    /// Creates a node of a group of these voters, with an empty device.
    fn of(node: u64, voters: &[u64]) -> Alone {
        let node = NodeId::new(node).unwrap();
        let log = LogId { id: 7, core: 0 };
        let seal = log.seal_in(LogFormat::Replicated);
        let (store, tasks) = channel();
        let (to_core, orders) = channel();
        let base =
            LogBase { chain: seal.chain_start(), voters: voters.to_vec(), ..LogBase::default() };
        let recovered = Recovered {
            vote: crate::replica::Vote::default(),
            base: base_from(&base).unwrap(),
            entries: Vec::new(),
            committed: Index(0),
        };
        let replica = Replica::new(Settings::new(node, 1), recovered).unwrap();
        let end =
            End { index: Index(0), sequence: Sequence(0), at: Time(0), chain: seal.chain_start() };
        let ring = Arc::new(|| {});
        let group = ShardGroup::new(InitialState {
            shard: 0,
            replica,
            bodies: EntryFrames::new(seal, end),
            core: HostEnd { orders: to_core, ring, progress: Arc::new(Progress::default()) },
            store,
            applied: LogPosition::default(),
            named: None,
            base,
            snapshot: None,
            shows: None,
        });
        Alone { group, tasks, orders }
    }

    /// Completes all orders to the device.
    fn store(&mut self) {
        self.group.act(&mut Post::default());
        while let Ok(task) = self.tasks.try_recv() {
            if let Task::Store(Order { ticket, last, .. }) = task {
                self.group.stored(Stored::Done { ticket, last: Some(last) });
                self.group.act(&mut Post::default());
            }
        }
    }

    /// Completes the first order only.
    fn store_one(&mut self) {
        self.group.act(&mut Post::default());
        let task = self.tasks.try_iter().find_map(|task| match task {
            Task::Store(order) => Some(order),
            _ => None,
        });
        let Order { ticket, last, .. } = task.expect("something is to be stored");
        self.group.stored(Stored::Done { ticket, last: Some(last) });
        self.group.act(&mut Post::default());
    }

    /// Advances time by this many ticks, during which the device completes nothing.
    fn pass(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.group.tick();
            self.group.act(&mut Post::default());
        }
    }

    /// Lets the core execute something.
    fn execute(&mut self, turn: u64, epoch: u64) {
        self.says(turn, epoch);
        self.group.act(&mut Post::default());
    }

    /// Lets the core execute something in its first leadership, and collects the messages in `post`.
    fn execute_to(&mut self, post: &mut Post) {
        self.says(1, 1);
        self.group.act(post);
    }

    fn says(&mut self, turn: u64, epoch: u64) {
        let seal = LogId { id: 7, core: 0 }.seal_in(LogFormat::Replicated);
        let next = self.group.bodies.end().sequence.next().0;
        let mut writer = FrameWriter::new(seal, next);
        writer.group(&[]);
        writer.seal(0, Time(1));
        let mut frames = Vec::new();
        writer.take_sealed(&mut frames);
        self.group.core.progress.sent(ByteCount::of(&frames));
        self.group.on_core_message(FromCore::Frames {
            epoch: Epoch(epoch),
            turn: Turn(turn),
            frames,
        });
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
    assert!(alone.group.view().serves && !alone.group.is_node_stalled(own), "nothing waits");
    alone.execute(1, 1);
    alone.pass(STILL_TICKS);
    assert!(!alone.group.is_node_stalled(own));
    alone.pass(2);
    assert!(alone.group.is_node_stalled(own) && alone.group.is_node_behind(own));
    alone.store();
    alone.pass(1);
    assert!(!alone.group.is_node_stalled(own) && !alone.group.is_node_behind(own), "it goes on");
    alone.execute(2, 1);
    alone.pass(STUCK_TICKS);
    assert!(alone.group.view().serves && !alone.is_told_to_resign());
    alone.pass(2);
    assert!(!alone.group.view().serves && alone.is_told_to_resign());
    assert!(!alone.group.could_lead(), "its memory shows what nobody has committed");
    // Its device works again: the node leads again, after its executed entries, which were committed in the end.
    alone.group.on_core_message(FromCore::Resigned { executed: alone.group.bodies.end().sequence });
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
    alone.group.on_core_message(FromCore::Paused { epoch: Epoch(1) });
    alone.group.act(&mut Post::default());
    // The start of the change is committed, and its end is not.
    alone.store_one();
    assert_eq!(alone.group.committed_sequence, executed.next());
    alone.group.replica.step_down();
    alone.group.act(&mut Post::default());
    assert!(alone.is_told_to_resign());
    // The core was paused and does not have that entry.
    alone.group.on_core_message(FromCore::Resigned { executed });
    alone.group.act(&mut Post::default());
    let given = alone.orders.try_iter().map(|order| match order {
        ToCore::Apply(frames) => frames.len(),
        _ => 0,
    });
    assert_eq!(given.sum::<usize>(), 1);
}

/// Lets two nodes tick, store and exchange messages.
fn go_on(nodes: &mut [Alone; 2]) {
    go_on_by(nodes, None);
}

/// Does the same by links that take so many bytes at a time. Returns the most entries of an append.
fn go_on_by(nodes: &mut [Alone; 2], room: Option<u64>) -> usize {
    let mut longest = 0;
    for at in 0..2 {
        let (mut post, other) = (Post(Vec::new(), room), 1 - at);
        nodes[at].group.tick();
        nodes[at].group.act(&mut post);
        let tasks: Vec<Task> = nodes[at].tasks.try_iter().collect();
        for task in tasks {
            if let Task::Store(Order { ticket, last, .. }) = task {
                nodes[at].group.stored(Stored::Done { ticket, last: Some(last) });
            }
        }
        nodes[at].group.act(&mut post);
        for (message, bodies) in post.0 {
            longest = longest.max(message.entries().len());
            // Refused messages are logged by the node.
            let _ = nodes[other].group.receive(message, bodies);
        }
    }
    longest
}

/// Lets two nodes go on until one serves, and returns its place.
fn elect(nodes: &mut [Alone; 2]) -> usize {
    let leader = (0..1_000).find_map(|_| {
        go_on(nodes);
        (0..2).find(|at| nodes[*at].group.view().serves)
    });
    leader.expect("one is elected")
}

/// With a log shorter than the one it had confirmed, the node would help to elect a leader that lacks committed
/// entries.
#[test]
fn a_node_that_has_lost_what_it_had_stored_takes_no_part_any_more() {
    let mut nodes = [Alone::of(1, &[1, 2]), Alone::of(2, &[1, 2])];
    let leader = elect(&mut nodes);
    let follower = 1 - leader;
    (0..10).for_each(|_| go_on(&mut nodes));
    assert!(nodes.iter().all(|node| node.group.broken.is_none()));
    nodes[follower] = Alone::of(follower as u64 + 1, &[1, 2]);
    (0..100).for_each(|_| go_on(&mut nodes));
    let broken = nodes[follower].group.broken.clone().expect("it has noticed");
    assert!(
        matches!(&broken, StopReason::Retires(why) if why.contains("join again")),
        "{broken:?}"
    );
}

/// Each batch of reads makes a round of heartbeats: behind a thin link they left no room for entries.
#[test]
fn a_node_without_a_vote_gets_one_heartbeat_in_a_tick() {
    let mut alone = Alone::of(1, &[1, 2]);
    let sent = |alone: &mut Alone, to| {
        let mut post = Post::default();
        (0..5).for_each(|_| alone.group.send(&heartbeat(1, to, 1), &mut post));
        post.0.len()
    };
    assert_eq!((sent(&mut alone, 2), sent(&mut alone, 3)), (5, 1));
    assert_eq!(sent(&mut alone, 3), 0);
    alone.group.tick();
    assert_eq!(sent(&mut alone, 3), 1);
}

#[test]
fn an_append_has_as_many_entries_as_the_link_takes() {
    let mut nodes = [Alone::of(1, &[1, 2]), Alone::of(2, &[1, 2])];
    let leader = elect(&mut nodes);
    (0..10).for_each(|_| go_on(&mut nodes));
    // These are lost on the way.
    (0..3).for_each(|_| nodes[leader].execute(1, 1));
    let mut longest = 0;
    for _ in 0..50 {
        longest = longest.max(go_on_by(&mut nodes, Some(1)));
    }
    assert_eq!(longest, 1);
    let committed = nodes.each_ref().map(|node| node.group.committed_sequence);
    assert_eq!(committed, [nodes[leader].group.bodies.end().sequence; 2]);
}

/// Returns a heartbeat from its bytes: docs/formats/replica-messages.md.
fn heartbeat(from: u64, to: u64, term: u64) -> Message {
    let mut bytes = vec![1, 6];
    for number in [from, to, term, 0, 0] {
        bytes.extend(number.to_le_bytes());
    }
    Message::decode(&bytes).expect("it is one")
}

/// The old leader hears only from this node, and its frames may belong to another history by now.
#[test]
fn a_leader_that_was_overtaken_is_told_so_whatever_its_frames_are() {
    for is_right in [true, false] {
        let mut nodes = [Alone::of(1, &[1, 2, 3]), Alone::of(2, &[1, 2, 3])];
        let leader = elect(&mut nodes);
        let [old, node] = [leader as u64 + 1, 2 - leader as u64];
        let term = nodes[leader].group.view().term.get();
        let mut sent = Post::default();
        nodes[leader].execute_to(&mut sent);
        let append = sent.0.into_iter().find(|(message, _)| {
            message.to() == NodeId::new(node).unwrap() && !message.entries().is_empty()
        });
        let (append, frames) = append.expect("the entry is sent");
        let wrong = frames.iter().map(|frame| FrameBytes::new(frame[1..].to_vec())).collect();
        nodes[1 - leader].group.receive(heartbeat(3, node, term + 1), Vec::new()).unwrap();
        nodes[1 - leader].store();
        let told = nodes[1 - leader].group.receive(append, if is_right { frames } else { wrong });
        assert_eq!(told, Ok(()));
        let mut answers = Post::default();
        nodes[1 - leader].group.act(&mut answers);
        for (message, bodies) in answers.0 {
            if message.to() == NodeId::new(old).unwrap() {
                nodes[leader].group.receive(message, bodies).unwrap();
            }
        }
        nodes[leader].group.act(&mut Post::default());
        assert!(!nodes[leader].group.leads(), "it has heard of a newer term");
    }
}

/// By the time an append is sent, its frames may belong to another leader's entries.
#[test]
fn an_append_of_a_leadership_that_has_ended_does_not_leave() {
    let mut nodes = [Alone::of(1, &[1, 2, 3]), Alone::of(2, &[1, 2, 3])];
    let leader = elect(&mut nodes);
    let leader = &mut nodes[leader];
    let (own, term) = (leader.group.replica.id().get(), leader.group.view().term.get());
    // The host processes both inputs before it carries out their effects.
    leader.says(1, 1);
    leader.group.receive(heartbeat(3, own, term + 1), Vec::new()).unwrap();
    let mut post = Post::default();
    leader.group.act(&mut post);
    assert!(post.0.iter().all(|(message, _)| message.entries().is_empty()));
}
