//! A simulated host of one shard: its state, its clients' state and its disk. The other modules have the steps.

use crate::job::SnapshotJob;
use crate::world::World;
use crate::{Plan, SimDisk, Theme};
use scurry_engine::{APART_LEN, Batch, Commits, Config, HashKey, LogId, LogWriter, Shard};
use scurry_ledger::{Answer, Time};
use scurry_model::{ChainOp, Generator, Op, Random};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// Counts of the events of a run. Tests check them to prove that runs cover enough.
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
    /// Commands that were refused because the log might not have room for them.
    pub no_room: u64,
    pub snapshots: u64,
    pub duplicates: u64,
    pub releases: u64,
    /// Segments that were made from spares with old frames.
    pub reused: u64,
    /// Segments that were made from spares filled with zeros.
    pub filled: u64,
    /// Orderly stops of the host.
    pub stops: u64,
    /// Starts before which files were removed or changed.
    pub tampered: u64,
    /// Starts that were refused because the store noticed that files were removed or changed.
    pub missed: u64,
    /// Chains of several commands that were committed.
    pub chains: u64,
}

impl Counts {
    /// Adds the counts of another run.
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

/// An answer that is not sent before the log has its records.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Sequence that the reply shows.
    pub(crate) sequence: u64,
    /// The request on an account, and its answer if it was committed.
    pub(crate) request: Option<(usize, Op, Option<Answer>)>,
    /// The version that an entity was given.
    pub(crate) version: u64,
}

/// An answered request.
#[derive(Clone, Debug)]
pub(crate) struct AnsweredRequest {
    pub(crate) sequence: u64,
    pub(crate) account: usize,
    pub(crate) op: Op,
    pub(crate) answer: Answer,
}

/// A batch that the shard has handed out. `outcome` is None until the batch is run.
#[derive(Debug)]
pub(crate) struct InFlightBatch {
    pub(crate) batch: Batch,
    pub(crate) outcome: Option<io::Result<()>>,
}

pub(crate) struct Sim {
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) disk: SimDisk,
    pub(crate) log: LogId,
    pub(crate) config: Config,
    /// The number of recoveries so far.
    starts: u64,
    pub(crate) shard: Shard,
    pub(crate) commits: Commits,
    pub(crate) writer: LogWriter<SimDisk>,
    pub(crate) flight: Option<InFlightBatch>,
    pub(crate) job: Option<SnapshotJob>,
    /// The log has failed: nothing is answered before a restart.
    pub(crate) has_failed: bool,
    /// The last run ended with an orderly stop, and everything is on the disk.
    pub(crate) has_stopped: bool,
    /// The machine's clock, milliseconds. It may go back.
    pub(crate) clock: i64,
    /// The latest time that the shard was told or has recovered, milliseconds.
    pub(crate) latest: i64,
    pub(crate) world: World,
    /// Worlds after each sequence; several where records were lost and the sequence was used again.
    pub(crate) history: BTreeMap<u64, Vec<World>>,
    pub(crate) generators: [Generator; 3],
    pub(crate) pending: VecDeque<Pending>,
    /// The greatest sequence that a sent answer shows.
    pub(crate) acked: u64,
    pub(crate) version_acked: u64,
    pub(crate) done: Vec<AnsweredRequest>,
    /// Chains that clients have sent.
    pub(crate) chains: Vec<ChainOp>,
    pub(crate) in_doubt: Vec<(usize, Op)>,
    /// The store has refused to start, so the run ends.
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
            // Not drawn from `random`, so that the seeds of named tests keep their runs.
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

    /// Returns the configuration of a shard that is about to recover: as in a real host, each start has a new hash key.
    pub(crate) fn fresh_config(&mut self) -> Config {
        self.starts += 1;
        Config { hash_key: HashKey::known(!self.starts), ..self.config.clone() }
    }

    /// Returns the time that the host passes to the shard. It never goes back.
    pub(crate) fn now(&mut self) -> Time {
        self.latest = self.latest.max(self.clock);
        Time(self.latest)
    }
}
