//! A host of one shard: all that it has, and what clients and the disk know of it. What it does is in the files above.

use crate::job::Job;
use crate::world::World;
use crate::{Plan, SimDisk, Theme};
use scurry_engine::{APART_LEN, Batch, Commits, Config, HashKey, LogId, LogWriter, Shard};
use scurry_ledger::{Answer, Time};
use scurry_model::{ChainOp, Generator, Op, Random};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// Counts of what a run has done, so that tests can demand that it was worth something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "plain counts of what they are called")]
pub struct Counts {
    pub commits: u64,
    pub answers: u64,
    pub crashes: u64,
    pub recoveries: u64,
    pub from_snapshot: u64,
    pub passed_over: u64,
    pub cuts: u64,
    pub lost: u64,
    pub refused: u64,
    pub failures: u64,
    pub full: u64,
    /// Commands that were refused because the log might not take them.
    pub no_room: u64,
    pub snapshots: u64,
    pub duplicates: u64,
    pub releases: u64,
    /// Segments that were made of old ones.
    pub reused: u64,
    /// Segments that were filled before.
    pub filled: u64,
    /// The host has stopped as it should.
    pub stops: u64,
    /// Files were removed or changed while nothing ran.
    pub tampered: u64,
    /// Losses that were noticed, and the start refused.
    pub missed: u64,
    /// Chains of several commands that were committed.
    pub chains: u64,
}

impl Counts {
    /// Adds those of another run.
    pub fn add(&mut self, other: &Counts) {
        self.commits += other.commits;
        self.answers += other.answers;
        self.crashes += other.crashes;
        self.recoveries += other.recoveries;
        self.from_snapshot += other.from_snapshot;
        self.passed_over += other.passed_over;
        self.cuts += other.cuts;
        self.lost += other.lost;
        self.refused += other.refused;
        self.failures += other.failures;
        self.full += other.full;
        self.no_room += other.no_room;
        self.snapshots += other.snapshots;
        self.duplicates += other.duplicates;
        self.releases += other.releases;
        self.reused += other.reused;
        self.filled += other.filled;
        self.stops += other.stops;
        self.tampered += other.tampered;
        self.missed += other.missed;
        self.chains += other.chains;
    }
}

/// An answer that waits for its records.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Sequence that the reply shows.
    pub(crate) sequence: u64,
    /// The request on an account, and its answer if it was committed.
    pub(crate) request: Option<(usize, Op, Option<Answer>)>,
    /// The version that an entity was given.
    pub(crate) version: u64,
}

/// A request whose answer has left.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) sequence: u64,
    pub(crate) account: usize,
    pub(crate) op: Op,
    pub(crate) answer: Answer,
}

/// A batch that was given out, and what became of it if it was run already.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) batch: Batch,
    pub(crate) outcome: Option<io::Result<()>>,
}

pub(crate) struct Sim {
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) disk: SimDisk,
    pub(crate) log: LogId,
    pub(crate) config: Config,
    /// Recoveries so far.
    starts: u64,
    pub(crate) shard: Shard,
    pub(crate) commits: Commits,
    pub(crate) writer: LogWriter<SimDisk>,
    pub(crate) flight: Option<Flight>,
    pub(crate) job: Option<Job>,
    /// Nothing more may be answered before a restart.
    pub(crate) has_failed: bool,
    /// The last run has ended by itself, and everything is on the disk.
    pub(crate) has_stopped: bool,
    /// Time that the machine's clock shows.
    pub(crate) clock: i64,
    /// The latest time that was seen or recovered.
    pub(crate) latest: i64,
    pub(crate) world: World,
    /// Worlds that each sequence left; more than one where history was lost and made anew.
    pub(crate) history: BTreeMap<u64, Vec<World>>,
    pub(crate) generators: [Generator; 3],
    pub(crate) pending: VecDeque<Pending>,
    /// The greatest sequence that an answer has shown.
    pub(crate) acked: u64,
    pub(crate) version_acked: u64,
    pub(crate) done: Vec<Done>,
    /// Chains that were asked for.
    pub(crate) chains: Vec<ChainOp>,
    pub(crate) in_doubt: Vec<(usize, Op)>,
    /// The store has refused to start.
    pub(crate) is_over: bool,
    pub(crate) counts: Counts,
}

impl Sim {
    pub(crate) fn new(theme: Theme, seed: u64) -> Sim {
        let mut random = Random::new(seed);
        let plan = Plan::new(theme, &mut random);
        let (limits, first) = Generator::new(random.next_u64());
        let config = Config {
            limits: limits.clone(),
            hash_key: HashKey::known(seed),
            node: u16::try_from(random.below(512)).unwrap_or(0),
            entity_index: true,
            entity_tombstone_ms: random.pick(&[1, 40, 500]),
            version_ahead_ms_max: random.pick(&[0, 20, 1_000]),
            // Without a draw: a seed that has a name stays what it was.
            apart_len: [APART_LEN, 0, 100, 1_000][seed as usize % 4],
            ..Config::default()
        };
        let mut others = || Generator::new(random.next_u64()).1;
        let generators = [first, others(), others()];
        let log = LogId { id: random.next_u64(), core: 0 };
        let disk = SimDisk::new(seed, plan.faults);
        let world = World::new(&limits, &config);
        let mut shard = Shard::new(config.clone());
        shard.keep_journal(log, 1);
        Sim {
            writer: LogWriter::new(disk.clone(), log, plan.segment_len),
            commits: Commits::new(plan.durability, 0),
            history: BTreeMap::from([(0, vec![world.clone()])]),
            clock: 1_700_000_000_000,
            latest: 0,
            flight: None,
            job: None,
            has_failed: false,
            has_stopped: false,
            pending: VecDeque::new(),
            acked: 0,
            version_acked: 0,
            done: Vec::new(),
            chains: Vec::new(),
            in_doubt: Vec::new(),
            is_over: false,
            counts: Counts::default(),
            plan,
            random,
            disk,
            log,
            config,
            starts: 0,
            shard,
            world,
            generators,
        }
    }

    /// Of a shard that is about to recover: a host draws the secret of its table anew each time.
    pub(crate) fn fresh_config(&mut self) -> Config {
        self.starts += 1;
        Config { hash_key: HashKey::known(!self.starts), ..self.config.clone() }
    }

    /// The time that the host tells the shard: never less than before.
    pub(crate) fn now(&mut self) -> Time {
        self.latest = self.latest.max(self.clock);
        Time(self.latest)
    }
}
