//! A disk in memory that fails in the ways of real disks. Writes go to a cache. A sync of a file makes its sectors
//! durable; a sync of the directory makes names durable. When the power fails, each sector that was not synced is
//! kept or lost independently, and changes of names are kept in order up to a random point.

mod faults;
mod inode;
mod names;

pub use faults::Faults;

use crate::Trace;
use inode::Inode;
use names::Names;
use scurry_engine::{Disk, File, is_spare, segment_of};
use scurry_model::Random;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a machine ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The process dies. Its writes stay in the cache.
    Process,
    /// The power fails. Everything that was not synced may be lost.
    Power,
}

/// A handle to the disk. A clone is another handle to the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk(Arc<Mutex<DiskState>>);

/// An open file.
#[derive(Debug)]
pub struct SimFile {
    disk: SimDisk,
    inode: usize,
    name: String,
}

#[derive(Clone, Debug)]
struct DiskState {
    random: Random,
    faults: Faults,
    inodes: Vec<Inode>,
    names: Names,
    trace: Trace,
    /// Prefix of the disk's lines in the trace.
    name: String,
    /// Operations until the machine stops; None if no stop is set.
    left: Option<u64>,
    is_off: bool,
    /// The number of writes and creates that will still fail because the disk is full.
    full: usize,
    /// Other programs have taken the unused space, so no file can grow.
    is_crowded: bool,
    /// The number of injected errors of all kinds.
    errors: u64,
    /// A fault was injected that a store need not survive.
    is_unsound: bool,
    /// The number of calls that changed files or names.
    changes: u64,
    /// Spares that became segments: the number with old frames, and the number with zeros.
    taken: (u64, u64),
}

impl SimDisk {
    /// Creates an empty disk.
    pub fn new(seed: u64, faults: Faults) -> SimDisk {
        SimDisk::traced(seed, faults, Trace::default(), String::new())
    }

    /// Creates an empty disk that shares a trace with others. Its lines begin with `name`.
    pub(crate) fn traced(seed: u64, faults: Faults, trace: Trace, name: String) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(DiskState {
            random: Random::new(seed ^ 0xd15c_d15c_d15c_d15c),
            faults,
            inodes: Vec::new(),
            names: Names::default(),
            trace,
            name,
            left: None,
            is_off: false,
            full: 0,
            is_crowded: false,
            errors: 0,
            is_unsound: false,
            changes: 0,
            taken: (0, 0),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to the trace.
    pub fn note(&self, line: impl FnOnce() -> String) {
        self.lock().add(line());
    }

    /// Returns the trace of the disk's operations.
    pub fn trace(&self) -> Trace {
        self.lock().trace.clone()
    }

    /// Returns an independent copy of the disk, without faults and with an empty trace.
    pub fn fork(&self) -> SimDisk {
        let mut copy = self.lock().clone();
        (copy.faults, copy.trace) = (Faults::default(), Trace::default());
        (copy.left, copy.is_off, copy.full, copy.is_crowded) = (None, false, 0, false);
        SimDisk(Arc::new(Mutex::new(copy)))
    }

    /// Stops the machine after this number of further operations.
    pub fn stop_after(&self, operations: u64) {
        self.lock().left = Some(operations);
    }

    /// Reports whether the machine has stopped.
    pub fn is_off(&self) -> bool {
        self.lock().is_off
    }

    /// Reports whether a fault was injected that a store need not survive.
    pub fn is_unsound(&self) -> bool {
        self.lock().is_unsound
    }

    /// Returns the number of errors that were injected so far.
    pub fn errors(&self) -> u64 {
        self.lock().errors
    }

    /// Returns the number of calls that changed something so far.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// Returns the number of spares that became segments: with old frames, and with zeros.
    pub fn claimed_spares(&self) -> (u64, u64) {
        self.lock().taken
    }

    /// Injects these faults from now on, instead of the former ones.
    pub fn inject(&self, faults: Faults) {
        let mut platter = self.lock();
        (platter.faults, platter.full, platter.is_crowded) = (faults, 0, false);
    }

    /// Injects no faults from now on.
    pub fn clear_faults(&self) {
        self.inject(Faults::default());
    }

    /// Ends the machine in this way, and starts it again.
    pub fn restart(&self, crash: Crash) {
        let platter = &mut *self.lock();
        if crash == Crash::Power {
            // Of 4 sectors that were not synced, about this many survive.
            let keep = platter.random.pick(&[0, 1, 2, 2, 3, 4]);
            for inode in &mut platter.inodes {
                inode.lose(&mut platter.random, keep);
            }
            platter.names.lose(&mut platter.random);
        }
        (platter.left, platter.is_off) = (None, false);
    }

    /// Changes one bit of one file. Returns false if all files are empty or zeros.
    pub fn flip(&self) -> bool {
        let platter = &mut *self.lock();
        let names: Vec<(String, usize)> = platter.names.iter().collect();
        let used = |at: usize| platter.inodes[at].used();
        let names: Vec<_> = names.into_iter().filter(|&(_, at)| used(at) > 0).collect();
        if names.is_empty() {
            return false;
        }
        let (name, at) = &names[platter.random.below(names.len())];
        let byte = platter.random.below(platter.inodes[*at].used());
        let bit = platter.random.below(8);
        platter.is_unsound = true;
        platter.flip(name, *at, (byte, bit));
        true
    }

    /// Changes one bit of a file, if the file exists.
    pub fn flip_bit(&self, name: &str, byte: usize, bit: usize) {
        let platter = &mut *self.lock();
        if let Some(at) = platter.names.get(name) {
            platter.flip(name, at, (byte, bit));
        }
    }

    /// Returns the names and bytes of all files, as a program reads them.
    pub fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let platter = self.lock();
        platter.names.iter().map(|(name, at)| (name, platter.inodes[at].bytes().to_vec())).collect()
    }
}

impl DiskState {
    fn add(&self, line: String) {
        self.trace.add(match self.name.is_empty() {
            true => line,
            false => format!("{}{line}", self.name),
        });
    }

    /// Counts and traces the start of an operation. Fails if the machine is off.
    fn enter(&mut self, operation: impl FnOnce() -> String) -> io::Result<()> {
        if let Some(left) = &mut self.left {
            self.is_off |= *left == 0;
            *left = left.saturating_sub(1);
        }
        if self.is_off {
            return Err(io::Error::other("the machine is off"));
        }
        self.add(operation());
        Ok(())
    }

    /// Draws whether to inject an error, with a chance of one in `n`, and counts it; never if `n` is 0.
    fn chance(&mut self, n: usize) -> bool {
        let hit = n > 0 && self.random.one_in(n);
        self.errors += u64::from(hit);
        hit
    }

    /// Reports whether no file may grow, because others have taken all space, including space that files gave back.
    fn is_crowded(&mut self) -> bool {
        if self.faults.filled_by_others > 0 && self.random.one_in(self.faults.filled_by_others) {
            self.is_crowded = !self.is_crowded;
        }
        self.is_crowded
    }

    /// Reports whether the disk is full for this write or create. Once full, it stays full for 1 to 6 of them.
    fn is_full(&mut self) -> bool {
        if self.full == 0 && self.chance(self.faults.full) {
            self.full = 1 + self.random.below(6);
        }
        let is_full = self.full > 0;
        self.full = self.full.saturating_sub(1);
        is_full
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn flip(&mut self, name: &str, at: usize, (byte, bit): (usize, usize)) {
        self.inodes[at].flip(byte, bit);
        self.add(format!("flip bit {bit} of byte {byte} of {name}"));
    }

    fn failed(&mut self, what: &str) -> io::Error {
        self.add(format!("  fails: {what}"));
        io::Error::other(what.to_owned())
    }

    fn no_room(&mut self) -> io::Error {
        self.errors += 1;
        self.add("  fails: no room".to_owned());
        io::Error::from(io::ErrorKind::StorageFull)
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn create(&mut self, name: &str, room: u64) -> io::Result<SimFile> {
        let platter = &mut *self.lock();
        platter.enter(|| format!("create {name}"))?;
        let is_crowded = platter.is_crowded() && room > 0;
        if is_crowded || platter.is_full() {
            return Err(platter.no_room());
        }
        let room = if platter.faults.room { usize::try_from(room).unwrap_or(0) } else { 0 };
        platter.inodes.push(Inode::new(room));
        platter.changes += 1;
        let inode = platter.inodes.len() - 1;
        platter.names.link(name, inode);
        Ok(SimFile { disk: self.clone(), inode, name: name.to_owned() })
    }

    fn open(&mut self, name: &str) -> io::Result<SimFile> {
        let platter = &mut *self.lock();
        platter.enter(|| format!("open {name}"))?;
        let inode = platter.find(name)?;
        Ok(SimFile { disk: self.clone(), inode, name: name.to_owned() })
    }

    fn list(&mut self) -> io::Result<Vec<String>> {
        let platter = &mut *self.lock();
        platter.enter(|| "list".to_owned())?;
        Ok(platter.names.iter().map(|(name, _)| name).collect())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let platter = &mut *self.lock();
        platter.enter(|| format!("rename {from} to {to}"))?;
        let inode = platter.find(from)?;
        platter.changes += 1;
        // A spare becomes a segment of the log: count whether it has old frames or zeros.
        if is_spare(from) && segment_of(to).is_some() {
            let file = &platter.inodes[inode];
            platter.taken.0 += u64::from(file.used() > 0);
            platter.taken.1 += u64::from(file.used() == 0 && file.is_written());
        }
        platter.names.rename(from, to);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let platter = &mut *self.lock();
        platter.enter(|| format!("remove {name}"))?;
        platter.find(name)?;
        platter.changes += 1;
        platter.names.unlink(name);
        Ok(())
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        let platter = &mut *self.lock();
        platter.enter(|| "sync names".to_owned())?;
        if platter.chance(platter.faults.sync) {
            return Err(platter.failed("sync of names"));
        }
        platter.names.sync();
        Ok(())
    }
}

impl File for SimFile {
    /// Small, because the segments of the simulator are small, too.
    const BLOCK_LEN: u64 = 64;

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let platter = &mut *self.disk.lock();
        platter.enter(|| format!("write {} bytes at {offset} of {}", bytes.len(), self.name))?;
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        platter.changes += 1;
        let grows = offset + bytes.len() > platter.inodes[self.inode].bytes().len();
        let is_full = platter.is_crowded() && grows || platter.is_full();
        if is_full || platter.chance(platter.faults.write) {
            // A failed write may have written a part of the bytes.
            let part = platter.random.below(bytes.len() + 1);
            platter.inodes[self.inode].write(offset, &bytes[..part]);
            return Err(if is_full { platter.no_room() } else { platter.failed("write") });
        }
        platter.inodes[self.inode].write(offset, bytes);
        Ok(())
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let platter = &mut *self.disk.lock();
        platter.enter(|| format!("read {} bytes at {offset} of {}", buffer.len(), self.name))?;
        if platter.chance(platter.faults.read) {
            return Err(platter.failed("read"));
        }
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        Ok(platter.inodes[self.inode].read(offset, buffer))
    }

    fn len(&mut self) -> io::Result<u64> {
        let platter = &mut *self.disk.lock();
        platter.enter(|| format!("length of {}", self.name))?;
        Ok(platter.inodes[self.inode].bytes().len() as u64)
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let platter = &mut *self.disk.lock();
        platter.enter(|| format!("set length of {} to {len}", self.name))?;
        platter.changes += 1;
        platter.inodes[self.inode].set_len(usize::try_from(len).map_err(io::Error::other)?);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let platter = &mut *self.disk.lock();
        platter.enter(|| format!("sync {}", self.name))?;
        if platter.chance(platter.faults.sync) {
            platter.inodes[self.inode].fail_sync(&mut platter.random);
            return Err(platter.failed("sync"));
        }
        if platter.chance(platter.faults.lie) {
            platter.is_unsound = true;
            platter.add("  lies".to_owned());
            return Ok(());
        }
        if platter.chance(platter.faults.misdirect) && platter.misdirect(self.inode) {
            platter.is_unsound = true;
        }
        platter.inodes[self.inode].sync();
        Ok(())
    }
}

impl DiskState {
    /// Writes one dirty sector to another place, in any file. Returns false if there is no dirty sector or no file.
    fn misdirect(&mut self, from: usize) -> bool {
        let Some(sector) = self.inodes[from].take_sector(&mut self.random) else { return false };
        let all: Vec<(String, usize)> = self.names.iter().collect();
        if all.is_empty() {
            return false;
        }
        let (name, to) = &all[self.random.below(all.len())];
        let at = self.inodes[*to].misplace(&mut self.random, &sector);
        self.add(format!("  a sector lands at {at} of {name}"));
        true
    }
}
