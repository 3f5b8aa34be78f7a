//! The parameters that a seed draws: how many nodes there are, and which failures happen how often.

use crate::world::node;
use scurry_consensus::replica::{ByteCount, Members, Settings};
use scurry_model::Random;

/// Plan of a run. A rate of N means once in N steps; 0 means never.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Settings of each node.
    pub settings: Vec<Settings>,
    /// Members at the beginning.
    pub members: Members,
    /// Steps in which everything may fail.
    pub steps: usize,
    /// How many of the oldest packets one is picked from for delivery.
    pub reach: usize,
    /// Rate at which a packet is lost.
    pub lose: usize,
    /// Rate at which a packet is delivered twice.
    pub double: usize,
    /// Rate at which a node is cut off, or all cuts end.
    pub cut: usize,
    /// Rate at which a node is paused or resumed.
    pub pause: usize,
    /// Rate at which a node loses power and is restarted.
    pub crash: usize,
    /// Rate at which leadership is transferred, or a node starts an election.
    pub lead: usize,
    /// Rate at which the membership changes.
    pub change: usize,
    /// Rate at which a log is compacted.
    pub compact: usize,
    /// Share of steps, in sixteenths, in which a disk finishes stores.
    pub disk: usize,
    /// Share of steps, in sixteenths, in which a client sends a request.
    pub ask: usize,
    /// Steps after which writers pause, and after as many again resume; 0 means no pauses.
    pub idle: usize,
    /// Rate at which a node starts or stops yielding leadership.
    pub yields: usize,
    /// A node with a disk that makes no progress for most of the run.
    pub stalled: Option<usize>,
}

impl Plan {
    /// Draws the plan of a seed.
    pub fn new(random: &mut Random) -> Plan {
        let nodes = if random.one_in(3) { 5 } else { 3 };
        let voters = random.pick(&[1, 3, 3, 3]).min(nodes);
        let election_ticks = random.pick(&[5, 10]);
        let preferred = random.below(nodes as usize * 2);
        let settings = (0..nodes)
            .map(|at| Settings {
                election_ticks,
                heartbeat_ticks: random.pick(&[1, 2]),
                extra_election_ticks: if usize::try_from(at) == Ok(preferred) {
                    0
                } else {
                    random.pick(&[0, 3])
                },
                window: random.pick(&[1, 2, 16]),
                append_bytes: ByteCount(random.pick(&[1, 500, 5_000])),
                uncommitted_bytes: ByteCount(random.pick(&[1_500, 20_000])),
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
