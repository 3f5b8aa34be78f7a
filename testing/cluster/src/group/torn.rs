//! Writes that a power cut tears: of the sectors that were written and not synced, a device may have kept any.

use anyhow::{Context, Result};
use scurry_model::Random;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Length that a device writes whole, bytes.
const SECTOR: usize = 512;

/// A file as processes saw it before the power cut.
pub(crate) struct Written {
    path: PathBuf,
    /// What tells the file from a later one of its name.
    identity: (u64, Option<SystemTime>),
    bytes: Vec<u8>,
}

/// How many sectors were not synced, and how many of these were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TornSectors {
    pub(crate) unsynced: usize,
    pub(crate) kept: usize,
}

/// Reads all files below a directory through the page cache. No process may write them.
pub(crate) fn read(dir: &Path, found: &mut Vec<Written>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("{}", dir.display()))? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            read(&path, found)?;
        } else if kind.is_file() {
            let identity = identity(&entry.metadata()?);
            found.push(Written { bytes: fs::read(&path)?, path, identity });
        }
    }
    Ok(())
}

fn identity(of: &Metadata) -> (u64, Option<SystemTime>) {
    (of.ino(), of.created().ok())
}

/// Writes back some of the sectors that the power cut took. A file whose end was not synced gets a part of that.
pub(crate) fn keep_some(before: &[Written], random: &mut Random) -> Result<TornSectors> {
    let mut torn = TornSectors::default();
    for written in before {
        let Ok(metadata) = fs::metadata(&written.path) else { continue };
        // A new file of this name is whole or not there: names are not torn.
        if identity(&metadata) == written.identity {
            let own = keep_some_of(written, random)?;
            torn.unsynced += own.unsynced;
            torn.kept += own.kept;
        }
    }
    Ok(torn)
}

fn keep_some_of(written: &Written, random: &mut Random) -> Result<TornSectors> {
    let mut now = fs::read(&written.path)?;
    let mut end = written.bytes.len();
    if end > now.len() {
        end -= random.below(end - now.len());
        now.resize(end, 0);
    }
    let mut torn = TornSectors::default();
    let shares = random.pick(&[1, 2, 3]);
    let file = File::options().write(true).open(&written.path)?;
    let pairs = written.bytes[..end].chunks(SECTOR).zip(now.chunks(SECTOR)).enumerate();
    for (at, (then, _)) in pairs.filter(|(_, (then, now))| **then != now[..then.len()]) {
        torn.unsynced += 1;
        if random.below(4) < shares {
            torn.kept += 1;
            file.write_all_at(then, (at * SECTOR) as u64)?;
        }
    }
    Ok(torn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn torn(before: &[u8], after: &[u8], seed: u64) -> (TornSectors, Vec<u8>) {
        let dir = TempDir::new().expect("a directory");
        let path = dir.path().join("log");
        fs::write(&path, before).expect("written");
        let mut written = Vec::new();
        read(dir.path(), &mut written).expect("read");
        // The same file, as a mount after a power cut shows it.
        let file = File::options().write(true).open(&path).expect("it is there");
        file.set_len(after.len() as u64).expect("a length");
        file.write_all_at(after, 0).expect("written");
        let torn = keep_some(&written, &mut Random::new(seed)).expect("torn");
        (torn, fs::read(&path).expect("read"))
    }

    #[test]
    fn only_sectors_that_differ_come_back_and_each_as_a_whole() {
        let (old, new) = ([1_u8; 4 * SECTOR], [2_u8; 3 * SECTOR]);
        let written = [&new[..], &old[3 * SECTOR..]].concat();
        let mut seen = [false; 4];
        for seed in 0..40 {
            let (torn, shown) = torn(&written, &old, seed);
            assert_eq!(torn.unsynced, 3);
            let kept = shown.chunks(SECTOR).filter(|sector| sector[0] == 2);
            assert_eq!(kept.count(), torn.kept);
            assert!(shown.chunks(SECTOR).all(|sector| sector.iter().all(|it| *it == sector[0])));
            assert_eq!(shown[3 * SECTOR..], old[3 * SECTOR..]);
            seen[torn.kept] = true;
        }
        assert_eq!(seen, [true; 4], "some, all and none are kept");
    }

    #[test]
    fn the_end_of_a_file_comes_back_in_part() {
        let mut lengths = Vec::new();
        for seed in 0..40 {
            let (torn, shown) = torn(&[3; 3 * SECTOR], &[3; SECTOR + 7], seed);
            assert!(shown[..SECTOR + 7].iter().all(|byte| *byte == 3), "what was synced stays");
            assert!(torn.unsynced >= 1 && shown.len() >= SECTOR + 7 && shown.len() <= 3 * SECTOR);
            lengths.push(shown.len());
        }
        lengths.sort_unstable();
        lengths.dedup();
        assert!(lengths.len() > 5, "{lengths:?}");
    }
}
