//! The next segment. Its space is reserved while the open segment still has room, so that a full disk is noticed before
//! a command is accepted that the log could not store.

use super::spare;
use crate::{Disk, File};
use std::io;

/// Most bytes of zeros that are written at once: a batch waits for no more than this.
const PIECE_LEN: usize = 1 << 20;

/// The next segment of a log.
#[derive(Debug)]
pub(super) struct NextSegment<F> {
    /// Bytes of a segment.
    len: u64,
    next: Option<Next<F>>,
}

#[derive(Debug)]
struct Next<F> {
    file: F,
    /// Bytes from the start that were written before.
    filled: u64,
}

impl<F: File> NextSegment<F> {
    pub(super) fn new(len: u64) -> NextSegment<F> {
        NextSegment { len, next: None }
    }

    /// Reports whether space for the next segment is reserved.
    pub(super) fn is_there(&self) -> bool {
        self.next.is_some()
    }

    /// Reserves space for the next segment, unless it is reserved: by claiming a spare if one exists.
    pub(super) fn set_aside<D: Disk<File = F>>(&mut self, disk: &mut D) -> io::Result<()> {
        if self.next.is_none() {
            self.next = Some(match spare::claim(disk, self.len)? {
                Some(file) => Next { file, filled: self.len },
                None => Next { file: disk.create(spare::NEXT, self.len)?, filled: 0 },
            });
        }
        Ok(())
    }

    /// Fills the next segment with zeros up to this offset, so that a sync of frames there has no metadata to write.
    pub(super) fn fill<D: Disk<File = F>>(&mut self, disk: &mut D, to: u64) -> io::Result<()> {
        let to = to.min(self.len);
        let outcome = self.fill_pieces(to);
        if outcome.is_err() {
            self.next = None;
            // The disk needs its space. If it cannot be removed now, the next one reuses the name.
            let _ = disk.remove(spare::NEXT);
        }
        outcome
    }

    fn fill_pieces(&mut self, to: u64) -> io::Result<()> {
        let Some(Next { file, filled }) = &mut self.next else { return Ok(()) };
        while *filled < to {
            let rest = usize::try_from(self.len - *filled).unwrap_or(PIECE_LEN);
            let len = rest.min(PIECE_LEN);
            file.fill(*filled, len)?;
            *filled += len as u64;
        }
        Ok(())
    }

    /// Renames it to a segment. None when no space is reserved.
    pub(super) fn rename_to_segment<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        segment: &str,
    ) -> io::Result<Option<F>> {
        let Some(next) = self.next.take() else { return Ok(None) };
        disk.rename(spare::NEXT, segment)?;
        Ok(Some(next.file))
    }
}
