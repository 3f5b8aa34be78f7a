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
/// Its name as a segment may not be gone on the device yet.
const RETIRED: &str = "spare-old-";
/// It is not filled yet.
const UNFILLED: &str = "spare-new";
/// Bytes of zeros that are written at once: no batch waits for more.
const PIECE_LEN: usize = 1 << 20;
static ZEROS: [u8; PIECE_LEN] = [0; PIECE_LEN];
/// Segments that are kept when nothing needs them any more.
const SPARES_MAX: usize = 2;

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
    let spares = names.iter().filter(|name| is_spare(name) && *name != UNFILLED).count();
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

/// Gives a spare of this length the name of a segment. None when there is none; those of another
/// length are removed.
pub(super) fn take<D: Disk>(disk: &mut D, len: u64, segment: &str) -> io::Result<Option<D::File>> {
    for name in disk.list()?.into_iter().filter(|name| is_ready(name)) {
        let found = disk.open(&name).and_then(|mut file| Ok((file.len()? == len).then_some(file)));
        match found {
            Ok(Some(file)) => {
                disk.rename(&name, segment)?;
                return Ok(Some(file));
            }
            // A segment whose end was cut off, or one that cannot be read.
            Ok(None) | Err(_) => disk.remove(&name)?,
        }
    }
    Ok(None)
}

/// Removes all spares.
pub(super) fn clear<D: Disk>(disk: &mut D) -> io::Result<()> {
    for name in disk.list()?.iter().filter(|name| is_spare(name)) {
        disk.remove(name)?;
    }
    Ok(())
}

/// Fills a spare with zeros while a segment is written.
#[derive(Debug)]
pub(super) struct Filler<F> {
    /// Bytes of a segment.
    len: u64,
    state: State<F>,
}

#[derive(Debug)]
enum State<F> {
    /// Nothing was done for the segment that is written.
    Idle,
    /// So many bytes are on the device.
    Filling(F, u64),
    /// There is a spare, or it cannot be had: nothing more is done before the next segment.
    Done,
}

impl<F: File> Filler<F> {
    pub(super) fn new(len: u64) -> Filler<F> {
        Filler { len, state: State::Idle }
    }

    /// A segment was begun.
    pub(super) fn again(&mut self) {
        if matches!(self.state, State::Done) {
            self.state = State::Idle;
        }
    }

    /// Fills as far as the segment is written that is written now, so that the spare is there
    /// when it is full.
    pub(super) fn follow<D: Disk<File = F>>(&mut self, disk: &mut D, to: u64) -> io::Result<()> {
        let outcome = self.fill(disk, to.min(self.len));
        if outcome.is_err() {
            self.state = State::Done;
            // Its room is needed more elsewhere. When it cannot be removed the next one will be.
            let _ = disk.remove(UNFILLED);
        }
        outcome
    }

    fn fill<D: Disk<File = F>>(&mut self, disk: &mut D, to: u64) -> io::Result<()> {
        if matches!(self.state, State::Idle) {
            self.state = if disk.list()?.iter().any(|name| is_ready(name)) {
                State::Done
            } else {
                State::Filling(disk.create(UNFILLED, self.len)?, 0)
            };
        }
        let State::Filling(file, filled) = &mut self.state else { return Ok(()) };
        while *filled < to {
            let rest = usize::try_from(self.len - *filled).unwrap_or(PIECE_LEN);
            let piece = &ZEROS[..rest.min(PIECE_LEN)];
            file.write_at(*filled, piece)?;
            file.sync()?;
            *filled += piece.len() as u64;
        }
        if *filled == self.len {
            disk.rename(UNFILLED, &spare_name(0))?;
            self.state = State::Done;
        }
        Ok(())
    }
}
