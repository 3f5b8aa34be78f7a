//! What a seed is about: how many nodes, what fails and how often.

use crate::world::node;
use scurry_model::Random;
use scurry_replica::{Members, Settings};

/// The plan of a run. What happens once in so many steps is 0 when it never does.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The nodes.
    pub settings: Vec<Settings>,
    /// The members at the beginning.
    pub members: Members,
    /// Steps in which everything may fail.
    pub steps: usize,
    /// Of the oldest packets one of so many is delivered.
    pub reach: usize,
    /// A packet is lost.
    pub lose: usize,
    /// A packet is delivered twice.
    pub double: usize,
    /// A node is cut off or all cuts end.
    pub cut: usize,
    /// A node is paused or goes on.
    pub pause: usize,
    /// A node's power fails, and it is started again.
    pub crash: usize,
    /// Leadership is handed over, or a node stands for election.
    pub lead: usize,
    /// Other members.
    pub change: usize,
    /// A log is compacted.
    pub compact: usize,
    /// The share of steps in which a disk finishes stores, of 16.
    pub disk: usize,
    /// The share of steps in which a leader is asked for something, of 16.
    pub ask: usize,
    /// Steps after which those who write pause, and after as many go on.
    pub idle: usize,
    /// A node begins to let others lead, or ends to.
    pub yields: usize,
    /// A node whose disk stands still for most of the run.
    pub stalled: Option<usize>,
}

impl Plan {
    /// The plan of a seed.
    pub fn new(random: &mut Random) -> Plan {
        let nodes = if random.one_in(3) { 5 } else { 3 };
        let voters = random.pick(&[1, 3, 3, 3]).min(nodes);
        let election_ticks = random.pick(&[5, 10]);
        let preferred = random.below(nodes as usize * 2);
        let settings = (0..nodes)
            .map(|at| Settings {
                election_ticks,
                heartbeat_ticks: random.pick(&[1, 2]),
                patience: if usize::try_from(at) == Ok(preferred) {
                    0
                } else {
                    random.pick(&[0, 3])
                },
                window: random.pick(&[1, 2, 16]),
                append_bytes: random.pick(&[1, 500, 5_000]),
                uncommitted_bytes: random.pick(&[1_500, 20_000]),
                ..Settings::new(node(at + 1), random.next_u64())
            })
            .collect();
        let mut often = |of: &[usize]| random.pick(of);
        Plan {
            settings,
            members: Members::new((1..=voters).map(node), []).expect("at least one"),
            steps: often(&[2_000, 4_000, 8_000]),
            reach: often(&[1, 4, 300]),
            lose: often(&[0, 20, 100]),
            double: often(&[0, 5, 50]),
            cut: often(&[0, 150, 500]),
            pause: often(&[0, 150, 500]),
            crash: often(&[0, 300, 900]),
            lead: often(&[0, 150, 500]),
            change: if nodes > voters || often(&[0, 1]) == 1 { often(&[100, 300]) } else { 0 },
            compact: often(&[0, 50, 200]),
            disk: often(&[1, 3, 5]),
            ask: often(&[1, 3]),
            idle: often(&[0, 200, 600]),
            stalled: Some(often(&[0, 1, 2, 9, 9, 9])).filter(|at| *at < 3),
            yields: often(&[0, 200, 600]),
        }
    }
}
