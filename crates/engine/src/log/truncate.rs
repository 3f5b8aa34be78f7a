//! Cuts uncommitted entries off the end of a replicated log.

use super::window::Window;
use super::{LogError, segment_name, segment_of};
use crate::log_id::{LogId, checksum};
use crate::{Disk, File};
use scurry_codec::{Index, SegmentHeader};
use std::io;

/// The part of a segment that a cut keeps.
enum KeptPart {
    /// All of it: the cut is later in the log.
    All,
    /// The bytes before this offset.
    Part(u64),
    /// Nothing.
    None,
}

/// Cuts off the entries from an index on, the newest segment first, so that a crash in between leaves a longer log
/// without a gap. A removed segment never becomes a spare: the sequences of its frames will be given to other entries.
pub(super) fn truncate<D: Disk>(disk: &mut D, log: LogId, index: Index) -> io::Result<()> {
    let names = disk.list()?;
    let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_of(name)).collect();
    segments.sort_unstable();
    for first in segments.into_iter().rev() {
        let name = segment_name(first);
        let mut file = disk.open(&name)?;
        match rest_of(disk.open(&name)?, &name, log, index).map_err(io::Error::other)? {
            KeptPart::All => break,
            KeptPart::Part(len) => {
                file.set_len(len)?;
                file.sync()?;
                break;
            }
            KeptPart::None => {
                disk.remove(&name)?;
                disk.sync_dir()?;
            }
        }
    }
    Ok(())
}

/// Finds where a segment is to be cut.
fn rest_of<F: File>(
    mut file: F,
    name: &str,
    log: LogId,
    index: Index,
) -> Result<KeptPart, LogError> {
    let mut head = [0; SegmentHeader::LEN];
    let len = file.read_at(0, &mut head).map_err(LogError::io(name))?;
    let Ok(header) = SegmentHeader::decode(checksum, &head[..len]) else {
        // It was created and not written yet.
        return Ok(KeptPart::None);
    };
    let seal = log.seal_in(header.format);
    let mut window = Window::new(name.to_owned(), file, SegmentHeader::LEN as u64)?;
    let mut is_needed = false;
    while let Ok(len) = window.frame_len(seal)? {
        let offset = window.offset();
        let Some(frame) = window.next_frame(seal, len) else { break };
        let place = frame.entry().filter(|_| frame.count() > 0);
        match place {
            Some(place) if place.index >= index => {
                return Ok(if is_needed { KeptPart::Part(offset) } else { KeptPart::None });
            }
            Some(_) => is_needed = true,
            // A mark, or a frame from before the store had a group.
            None => is_needed |= frame.count() > 0,
        }
    }
    // Marks alone record nothing that earlier segments lack.
    Ok(if is_needed { KeptPart::All } else { KeptPart::None })
}
