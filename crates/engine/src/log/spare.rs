//! Spares: files that become segments. Their blocks were written before, so that a sync of the
//! log has no metadata to write, which costs several times as much where the file system keeps a
//! journal. What is in them counts for nothing, whether zeros or old frames.
//!
//! A start removes them all: what a power failure left in one may be frames of a history that
//! was cut off, with sequences that are given again.

use super::segment_name;
use crate::{Disk, File};
use std::io;

const PREFIX: &str = "spare-";
/// A spare whose name as a segment may not be gone on the device yet.
const RETIRED: &str = "spare-old-";
/// The one that the log goes on with: its writer's alone.
pub(super) const NEXT: &str = "spare-next";
/// Segments that are kept when nothing needs them any more: as much as the log grows by between
/// two snapshots, so that all of them are used again and nothing has to be filled.
const SPARES_MAX: usize = 16;

/// True for a file that may become a segment, or was about to.
pub fn is_spare(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// A spare that may be taken.
fn spare_name(number: u64) -> String {
    format!("{PREFIX}{number:020}")
}

fn is_ready(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|digits| digits.parse::<u64>().is_ok())
}

/// Takes segments away that nothing needs any more, in their order, and makes that durable. Some
/// become spares.
pub(super) fn retire<D: Disk>(disk: &mut D, segments: &[u64]) -> io::Result<()> {
    let names = disk.list()?;
    let spares = names.iter().filter(|name| is_spare(name) && *name != NEXT).count();
    // The youngest are kept, so that the log has no gap at any time.
    let removed = segments.len().saturating_sub(SPARES_MAX.saturating_sub(spares));
    let mut retired: Vec<u64> =
        names.iter().filter_map(|name| name.strip_prefix(RETIRED)?.parse().ok()).collect();
    for (index, &first) in segments.iter().enumerate() {
        let name = segment_name(first);
        if index < removed {
            disk.remove(&name)?;
        } else {
            disk.rename(&name, &format!("{RETIRED}{first:020}"))?;
            retired.push(first);
        }
    }
    disk.sync_dir()?;
    // Only now may they be written to: no power failure brings back a segment with another's
    // bytes.
    for first in retired {
        disk.rename(&format!("{RETIRED}{first:020}"), &spare_name(first))?;
    }
    Ok(())
}

/// Makes a spare of this length the next segment. None when there is none; those of another
/// length are removed.
pub(super) fn claim<D: Disk>(disk: &mut D, len: u64) -> io::Result<Option<D::File>> {
    let mut names = disk.list()?;
    names.retain(|name| is_ready(name));
    names.sort_unstable();
    for name in names {
        let found = disk.open(&name).and_then(|mut file| Ok((file.len()? == len).then_some(file)));
        match found {
            // Once it has this name nobody else gives it up.
            Ok(Some(file)) if disk.rename(&name, NEXT).is_ok() => return Ok(Some(file)),
            Ok(Some(_)) => {}
            // A segment whose end was cut off, or one that cannot be read, or is gone.
            Ok(None) | Err(_) => {
                let _ = disk.remove(&name);
            }
        }
    }
    Ok(None)
}

/// Removes the spares that the log does not go on with, because their room is needed elsewhere.
/// Returns how many; one that was claimed meanwhile is none of them.
pub fn give_up_spares<D: Disk>(disk: &mut D) -> io::Result<usize> {
    let names = disk.list()?;
    let mut removed = 0;
    for name in names.iter().filter(|name| is_ready(name)) {
        removed += usize::from(disk.remove(name).is_ok());
    }
    Ok(removed)
}

/// Removes all spares.
pub(super) fn clear<D: Disk>(disk: &mut D) -> io::Result<()> {
    for name in disk.list()?.iter().filter(|name| is_spare(name)) {
        disk.remove(name)?;
    }
    Ok(())
}
