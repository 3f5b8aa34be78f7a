//! The next segment: its room is set aside while the open one still takes what may come, so that a
//! full disk is known before anything is accepted that it could not take.

use super::spare;
use crate::{Disk, File};
use std::io;

/// Bytes of zeros that are written at once: no batch waits for more.
const PIECE_LEN: usize = 1 << 20;

/// The next segment of a log.
#[derive(Debug)]
pub(super) struct Ahead<F> {
    /// Bytes of a segment.
    len: u64,
    next: Option<Next<F>>,
}

#[derive(Debug)]
struct Next<F> {
    file: F,
    /// So many of its bytes were written before.
    filled: u64,
}

impl<F: File> Ahead<F> {
    pub(super) fn new(len: u64) -> Ahead<F> {
        Ahead { len, next: None }
    }

    /// True when its room is set aside.
    pub(super) fn is_there(&self) -> bool {
        self.next.is_some()
    }

    /// Sets its room aside, unless it is: an old segment where there is one.
    pub(super) fn set_aside<D: Disk<File = F>>(&mut self, disk: &mut D) -> io::Result<()> {
        if self.next.is_none() {
            self.next = Some(match spare::claim(disk, self.len)? {
                Some(file) => Next { file, filled: self.len },
                None => Next { file: disk.create(spare::NEXT, self.len)?, filled: 0 },
            });
        }
        Ok(())
    }

    /// Fills it with zeros up to here, so that a sync of what is written there has no metadata to
    /// write.
    pub(super) fn fill<D: Disk<File = F>>(&mut self, disk: &mut D, to: u64) -> io::Result<()> {
        let to = to.min(self.len);
        let outcome = self.fill_pieces(to);
        if outcome.is_err() {
            self.next = None;
            // Its room is needed more elsewhere. When it cannot be removed the next one will be.
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

    /// Gives it its name as a segment. None when its room is not set aside.
    pub(super) fn take<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        segment: &str,
    ) -> io::Result<Option<F>> {
        let Some(next) = self.next.take() else { return Ok(None) };
        disk.rename(spare::NEXT, segment)?;
        Ok(Some(next.file))
    }
}
