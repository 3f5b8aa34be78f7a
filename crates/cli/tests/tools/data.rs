//! Data directories, written as a server writes them.

use scurry_codec::{ChunkWriter, Chunked, Positions, Seal, read_chunk};
use scurry_disk::{Directory, Manifest, Store};
use scurry_engine::{
    Commits, Config, Durability, Expiry, HashKey, LogId, LogRetention, LogWriter, Outcome, Piece,
    RecoveryEnd, RequiredExtent, Sequence, Shard, Snapshot, SnapshotWriter, checksum, forget,
    recover,
};
use scurry_ledger::{
    BucketAttributes, Command, Create, ItemRequest, Name, NewBucket, SessionRequest, Time,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fmt, fs};
use tempfile::TempDir;

pub(crate) const START: Time = Time(1_700_000_000_000);
const HASH_SEED: u64 = 77;
/// Small, so that there are several segments.
const SEGMENT_LEN: u64 = 1_500;

/// A data directory.
pub(crate) struct Data {
    pub(crate) place: TempDir,
    pub(crate) manifest: Manifest,
    pub(crate) cores: Vec<Core>,
}

/// One of its cores, with the state that a server has.
pub(crate) struct Core {
    pub(crate) path: PathBuf,
    shard: Shard,
    commits: Commits,
    writer: LogWriter<Directory>,
    log: LogId,
    pub(crate) now: Time,
}

/// Contents of a shard, too long to be printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Image(BTreeSet<String>);

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries", self.0.len())
    }
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn config() -> Config {
    Config { hash_key: HashKey::known(HASH_SEED), ..Config::default() }
}

impl Data {
    /// Makes an empty data directory.
    pub(crate) fn new(threads: u16) -> Data {
        let place = TempDir::new().expect("a place for files");
        let manifest = Manifest { store: 0xc0ffee, generation: 1, threads, restored: 0 };
        let path = place.path().join("data");
        let store = Store::open(&path).expect("opened");
        store.write_manifest(&manifest).expect("written");
        let core = |core| {
            let directory = store.core(1, core).expect("made");
            let log = manifest.log(core);
            Core::new(path.join(format!("g1/{core}")), directory, Shard::new(config()), log, 1)
        };
        let cores = (0..threads).map(core).collect();
        Data { place, manifest, cores }
    }

    /// Makes a data directory with everything: accounts, values, snapshots, several segments.
    pub(crate) fn full() -> Data {
        let mut data = Data::new(1);
        let core = data.core();
        core.fill("a", 12);
        core.snapshot();
        core.fill("b", 12);
        core.snapshot();
        core.fill("c", 12);
        core.mark();
        data
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.place.path().join("data")
    }

    /// Returns a path beside it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Returns the first core.
    pub(crate) fn core(&mut self) -> &mut Core {
        &mut self.cores[0]
    }
}

impl Core {
    fn new(path: PathBuf, directory: Directory, mut shard: Shard, log: LogId, next: u64) -> Core {
        shard.keep_journal(log, next);
        let commits = Commits::new(Durability::Fsync, next - 1);
        let writer = LogWriter::new(directory, log, SEGMENT_LEN);
        Core { path, shard, commits, writer, log, now: START }
    }

    /// Recovers a core as a server does, and continues it.
    pub(crate) fn start(data: &Path, manifest: &Manifest, core: u16) -> Core {
        let path = data.join(format!("g{}/{core}", manifest.generation));
        let (mut shard, log) = (Shard::new(config()), manifest.log(core));
        let mut directory = Directory::open(&path).expect("it is there");
        let found = recover(
            &mut directory,
            log,
            RecoveryEnd::End(RequiredExtent::default()),
            &mut shard,
            |_| {},
        )
        .expect("it is recovered");
        Core::new(path, directory, shard, log, found.next)
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) {
        let key = self.shard.key(key.as_bytes());
        self.shard.set(self.now, key, value.as_bytes(), Expiry::Never).expect("set");
    }

    pub(crate) fn create(&mut self, account: &str, amount: i64) {
        let bucket = NewBucket {
            bucket: name("main"),
            unit: name("EUR"),
            amount,
            attributes: BucketAttributes::default(),
        };
        let buckets = [bucket];
        let create = Create::active(&buckets);
        self.execute(account, &Command::Create(create));
    }

    pub(crate) fn reserve(&mut self, account: &str, session: &str, amount: i64) {
        let item = ItemRequest {
            key: 1.into(),
            unit: name("EUR"),
            used: None,
            requested: Some(amount),
            min: None,
        };
        self.execute(
            account,
            &Command::Reserve(SessionRequest {
                session: session.as_bytes(),
                request: 0,
                items: &[item],
                ..SessionRequest::default()
            }),
        );
    }

    fn execute(&mut self, account: &str, command: &Command<'_>) {
        let outcome = self.shard.execute(self.now, self.shard.key(account.as_bytes()), command);
        assert!(matches!(outcome, Outcome::Answer { replayed: false, .. }), "{outcome:?}");
    }

    /// Writes accounts with one session each, and values, in frames of three records.
    pub(crate) fn fill(&mut self, prefix: &str, count: usize) {
        for at in 0..count {
            self.create(&format!("{prefix}{at}"), 100);
            self.reserve(&format!("{prefix}{at}"), "s", 40);
            self.set(&format!("value-{prefix}{at}"), "text");
            self.commit();
        }
    }

    /// Writes and syncs the changes as one frame.
    pub(crate) fn commit(&mut self) {
        self.now = self.now.plus_ms(1);
        let batch = self.commits.batch(&mut self.shard, self.now);
        self.run(batch);
    }

    /// Writes a mark that everything was synced.
    pub(crate) fn mark(&mut self) {
        let batch = self.commits.mark(&mut self.shard, self.now);
        assert!(batch.is_some(), "a mark is due");
        self.run(batch);
    }

    fn run(&mut self, batch: Option<scurry_engine::Batch>) {
        let Some(mut batch) = batch else { return };
        let outcome = batch.run(&mut self.writer);
        self.commits.done(batch, outcome).expect("written");
    }

    /// Writes a snapshot, and removes files that are no longer needed.
    pub(crate) fn snapshot(&mut self) {
        let mut snapshot = Snapshot::begin(&mut self.shard, self.log, self.now);
        let mut writer =
            SnapshotWriter::new(self.directory(), snapshot.begun()).expect("a new file");
        while let Some(piece) = snapshot.piece(&mut self.shard, Vec::new(), self.now) {
            match piece {
                Piece::Bytes(bytes) | Piece::Last { bytes, .. } => {
                    writer.write(&bytes).expect("written");
                }
                Piece::Void => panic!("nobody clears it"),
            }
        }
        writer.sync().expect("synced");
        let oldest = writer.publish().expect("published");
        forget(&mut self.directory(), self.log, Sequence(oldest), LogRetention::Nothing, self.now)
            .expect("forgotten");
    }

    fn directory(&self) -> Directory {
        Directory::open(&self.path).expect("it is there")
    }

    /// Returns the sequence of the last record.
    pub(crate) fn last(&self) -> u64 {
        self.shard.sequence()
    }

    /// Returns everything in the shard as bytes, sorted: the order of the table depends on its history.
    pub(crate) fn image(&self) -> Image {
        let seal = Seal::new(checksum, 0);
        let mut chunk = ChunkWriter::new(seal);
        let next = self.shard.copy_chunk(0, usize::MAX, &mut chunk);
        assert_eq!(next, 0, "all of it");
        chunk.seal(Positions { from: 0, to: 0 }, 0);
        let mut bytes = Vec::new();
        chunk.take_sealed(&mut bytes);
        let Chunked::Chunk(chunk) = read_chunk(seal, &bytes) else { panic!("a chunk") };
        let entries = chunk.entries().map(|entry| format!("{:?}", entry.expect("readable")));
        Image(entries.collect())
    }

    /// Returns the files with this prefix, in order.
    pub(crate) fn files(&self, prefix: &str) -> Vec<PathBuf> {
        files(&self.path, prefix)
    }
}

pub(crate) fn files(path: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).expect("it is there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| name_of(path).starts_with(prefix)).collect();
    files.sort();
    files
}

pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().expect("a name").to_str().expect("text").to_owned()
}

/// Changes one byte.
pub(crate) fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("read");
    bytes[at] ^= 0x10;
    fs::write(path, bytes).expect("written");
}
