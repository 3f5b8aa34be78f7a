//! Measures the cost of a Change at recovery: CPU time of one core, files in memory, the mix of the lab's `moaf-scur`.
//! With `--records N` a log of exactly N records is recovered once, for a profiler that counts instructions.

mod sessions;

use scurry_engine::{
    Commits, Config, Disk, Durability, File, HashKey, LogId, LogWriter, Piece, Progress,
    RecoveryEnd, RequiredExtent, SEGMENT_LEN_MAX, Shard, Snapshot, SnapshotWriter, recover,
};
use sessions::{NOW, Sessions, cpu_time, populate, run};
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const LOG: LogId = LogId { id: 1, core: 0 };
const SEED: u64 = 7;
const RECORDS: u64 = 2_000_000;
/// Changes of a frame.
const FRAME: u64 = 64;
const RUNS: usize = 7;

/// A directory in memory, where every write counts as durable at once.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Names>>);

type Bytes = Arc<Mutex<Vec<u8>>>;
type Names = BTreeMap<String, Bytes>;

/// One of its files.
struct MemoryFile(Bytes);

impl Memory {
    fn names<T>(&self, look: impl FnOnce(&mut Names) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl MemoryFile {
    fn bytes<T>(&self, look: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Disk for Memory {
    type File = MemoryFile;

    fn create(&mut self, name: &str, _room: u64) -> io::Result<MemoryFile> {
        let file = Arc::default();
        self.names(|names| names.insert(name.to_owned(), Arc::clone(&file)));
        Ok(MemoryFile(file))
    }

    fn open(&mut self, name: &str) -> io::Result<MemoryFile> {
        let found = self.names(|names| names.get(name).cloned());
        found.map(MemoryFile).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&mut self) -> io::Result<Vec<String>> {
        Ok(self.names(|names| names.keys().cloned().collect()))
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let file = self.names(|names| names.remove(from)).ok_or(io::ErrorKind::NotFound)?;
        self.names(|names| names.insert(to.to_owned(), file));
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.names(|names| names.remove(name));
        Ok(())
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl File for MemoryFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        self.bytes(|file| {
            let len = file.len().max(from + bytes.len());
            file.resize(len, 0);
            file[from..from + bytes.len()].copy_from_slice(bytes);
        });
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        Ok(self.bytes(|file| {
            let rest = file.get(from..).unwrap_or(&[]);
            let len = rest.len().min(buffer.len());
            buffer[..len].copy_from_slice(&rest[..len]);
            len
        }))
    }

    fn len(&mut self) -> io::Result<u64> {
        Ok(self.bytes(|file| file.len()) as u64)
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).map_err(io::Error::other)?;
        self.bytes(|file| file.resize(len, 0));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let number = |flag: &str| {
        let mut rest = std::env::args().skip_while(|argument| argument != flag).skip(1);
        rest.next().map(|number| number.parse::<u64>()).transpose()
    };
    let accounts = number("--accounts")?.unwrap_or(1_000_000);
    let records = number("--records")?;
    let disk = Memory::default();
    write(&disk, accounts, records.unwrap_or(RECORDS))?;
    let mut runs = Vec::new();
    for _ in 0..if records.is_some() { 1 } else { RUNS } {
        let mut shard = Shard::new(Config { hash_key: HashKey::known(SEED), ..Config::default() });
        // The time of the snapshot's part is subtracted. Under a profiler the clock may be missing.
        let mut clock = records.is_none().then(Duration::default);
        let look = |progress: &Progress| match &mut clock {
            Some(begin) if begin.is_zero() && progress.entries == progress.entries_all => {
                *begin = cpu_time();
            }
            _ => {}
        };
        let found = recover(
            &mut disk.clone(),
            LOG,
            RecoveryEnd::End(RequiredExtent::default()),
            &mut shard,
            look,
        )?;
        let spent = clock.map_or(Duration::ZERO, |begin| cpu_time() - begin);
        runs.push(spent.as_nanos() / u128::from(found.read.records.max(1)));
    }
    runs.sort_unstable();
    if records.is_none() {
        println!(
            "{RECORDS} Changes of {accounts} accounts: {} ns/Change of CPU, {} to {}",
            runs[RUNS / 2],
            runs[0],
            runs[RUNS - 1]
        );
    }
    Ok(())
}

/// Writes a snapshot of accounts, and a log of this many Changes after it.
fn write(disk: &Memory, accounts: u64, records: u64) -> Result<(), Box<dyn Error>> {
    let mut shard = Shard::new(Config { hash_key: HashKey::known(SEED), ..Config::default() });
    populate(&mut shard, accounts)?;
    shard.keep_journal(LOG, 1);
    let mut snapshot = Snapshot::begin(&mut shard, LOG, NOW);
    let mut writer = SnapshotWriter::new(disk.clone(), snapshot.begun())?;
    while let Some(piece) = snapshot.piece(&mut shard, Vec::new(), NOW) {
        match piece {
            Piece::Bytes(bytes) | Piece::Last { bytes, .. } => writer.write(&bytes)?,
            Piece::Void => return Err("the shard was cleared".into()),
        }
    }
    writer.sync()?;
    writer.publish()?;
    let mut commits = Commits::new(Durability::Fsync, 0);
    let mut writer = LogWriter::new(disk.clone(), LOG, SEGMENT_LEN_MAX);
    let mut sessions = Sessions::new(accounts);
    while shard.sequence() < records {
        let session = sessions.next();
        let key = shard.key(&session.account);
        if !run(&mut shard, sessions.now(), key, &session) {
            return Err("an answer is not OK: use more accounts".into());
        }
        while shard.sequence() >= commits.written() + FRAME
            && let Some(mut batch) = commits.batch(&mut shard, sessions.now())
        {
            let outcome = batch.run(&mut writer);
            commits.done(batch, outcome)?;
        }
    }
    Ok(())
}
