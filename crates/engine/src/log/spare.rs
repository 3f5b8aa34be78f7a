//! Spares: old or prefilled files that become segments. Their blocks were written before, so a sync of the log has no
//! metadata to write, which costs several times as much on a journaling file system. Their content is ignored, whether
//! zeros or old frames.
//!
//! A start removes all spares: after a power failure one may hold frames of a history that was cut off, with sequences
//! that are given again.

use super::segment_name;
use crate::{Disk, File};
use std::io;

const PREFIX: &str = "spare-";
/// Prefix of a spare whose old name as a segment may still be on the device.
const RETIRED: &str = "spare-old-";
/// The next segment, used by the log's writer alone.
pub(super) const NEXT: &str = "spare-next";
/// Most spares kept: as many segments as the log grows by between two snapshots, so that all are reused and none has to
/// be filled.
const SPARES_MAX: usize = 16;

/// Reports whether a file is a spare in any state.
pub fn is_spare(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Returns the name of a spare that is ready for use.
fn spare_name(number: u64) -> String {
    format!("{PREFIX}{number:020}")
}

fn is_ready(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|digits| digits.parse::<u64>().is_ok())
}

/// Removes segments that are no longer needed, in their order, durably. Some become spares.
pub(super) fn retire<D: Disk>(disk: &mut D, segments: &[u64]) -> io::Result<()> {
    let names = disk.list()?;
    let spares = names.iter().filter(|name| is_spare(name) && *name != NEXT).count();
    // The oldest are deleted and the youngest become spares, so that the log never has a gap.
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
    // Only now may they be overwritten: the directory is synced, so a power failure cannot bring back a segment name
    // with other bytes.
    for first in retired {
        disk.rename(&format!("{RETIRED}{first:020}"), &spare_name(first))?;
    }
    Ok(())
}

/// Claims a spare of this length as the next segment, None when no spare is left. Spares of another length are removed.
pub(super) fn claim<D: Disk>(disk: &mut D, len: u64) -> io::Result<Option<D::File>> {
    let mut names = disk.list()?;
    names.retain(|name| is_ready(name));
    names.sort_unstable();
    for name in names {
        let found = disk.open(&name).and_then(|mut file| Ok((file.len()? == len).then_some(file)));
        match found {
            // Once renamed, [`remove_unclaimed_spares`] no longer removes it.
            Ok(Some(file)) if disk.rename(&name, NEXT).is_ok() => return Ok(Some(file)),
            Ok(Some(_)) => {}
            // A truncated segment, or a spare that cannot be read or is gone.
            Ok(None) | Err(_) => {
                let _ = disk.remove(&name);
            }
        }
    }
    Ok(None)
}

/// Removes the spares that the log has not claimed, to free disk space. Returns how many were removed.
pub fn remove_unclaimed_spares<D: Disk>(disk: &mut D) -> io::Result<usize> {
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
