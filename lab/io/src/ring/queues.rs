//! The two queues shared with the kernel, and the one system call that moves both.
#![expect(unsafe_code, reason = "the kernel acts on whatever memory a submission names")]

use std::io;

use io_uring::squeue::Entry;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{CompletionQueue, SubmissionQueue, Submitter};
use rustix::io::Errno;

use super::Wait;
use crate::limits::WAIT_MAX;

/// What the kernel says of a submission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) user_data: u64,
    /// A count, a number, or an error below zero.
    pub(super) result: i32,
    pub(super) flags: u32,
}

impl Completion {
    /// The count or number, or the error.
    pub(super) fn result(&self) -> Result<u32, Errno> {
        u32::try_from(self.result).map_err(|_| Errno::from_raw_os_error(-self.result))
    }
}

/// Both queues of a ring.
pub(super) struct Queues<'a> {
    submitter: Submitter<'a>,
    submissions: SubmissionQueue<'a>,
    completions: CompletionQueue<'a>,
    wait: Wait,
    patience: Timespec,
    /// Sends that were pushed since the last wait.
    fresh_sends: usize,
}

/// How long sends that do not end at once may keep an arrival waiting.
const SEND_WAIT_US_MAX: u32 = 1_000;

impl<'a> Queues<'a> {
    pub(super) fn new(
        submitter: Submitter<'a>,
        submissions: SubmissionQueue<'a>,
        completions: CompletionQueue<'a>,
        wait: Wait,
    ) -> Queues<'a> {
        let patience = Timespec::from(WAIT_MAX);
        Queues { submitter, submissions, completions, wait, patience, fresh_sends: 0 }
    }

    /// A send was pushed.
    pub(super) fn count_fresh_send(&mut self) {
        self.fresh_sends += 1;
    }

    /// Hands over what was pushed and waits. Returns how many system calls that took.
    pub(super) fn wait(&mut self) -> io::Result<u64> {
        self.submissions.sync();
        self.completions.sync();
        let arguments = SubmitArgs::new().timespec(&self.patience);
        let fresh_sends = std::mem::take(&mut self.fresh_sends);
        let entered = match self.wait {
            Wait::Arrival if fresh_sends > 0 => {
                let arguments = arguments.min_wait_usec(SEND_WAIT_US_MAX);
                self.submitter.submit_with_args(fresh_sends + 1, &arguments)
            }
            Wait::Arrival => self.submitter.submit_with_args(1, &arguments),
            Wait::One => self.submitter.submit_with_args(1, &arguments),
            Wait::Batch { events, micros } => {
                self.submitter.submit_with_args(events, &arguments.min_wait_usec(micros))
            }
            Wait::Busy if self.is_idle() => return Ok(0),
            Wait::Busy => self.submitter.submit(),
        };
        match entered {
            Ok(_) => {}
            // The patience has ended, a signal came, or completions must be taken first.
            Err(error)
                if [Errno::TIME, Errno::INTR, Errno::BUSY, Errno::AGAIN]
                    .contains(&Errno::from_io_error(&error).unwrap_or(Errno::IO)) => {}
            Err(error) => return Err(error),
        }
        self.submissions.sync();
        self.completions.sync();
        Ok(1)
    }

    /// True when the kernel has nothing to do and nothing to tell.
    fn is_idle(&self) -> bool {
        self.submissions.is_empty() && self.completions.is_empty() && !self.submissions.taskrun()
    }

    /// The next completion that the last wait has found.
    pub(super) fn next(&mut self) -> Option<Completion> {
        let entry = self.completions.next()?;
        let (user_data, result, flags) = (entry.user_data(), entry.result(), entry.flags());
        Some(Completion { user_data, result, flags })
    }

    /// The places of the completions that were taken are the kernel's again.
    pub(super) fn release(&mut self) {
        self.completions.sync();
    }

    /// Appends a submission; hands over the others first when there is no room. Returns how many
    /// system calls that took.
    ///
    /// # Safety
    /// The memory that the entry names stays valid and untouched until its completion.
    pub(super) unsafe fn push(&mut self, entry: &Entry) -> io::Result<u64> {
        let mut calls = 0;
        // SAFETY: the caller's promise.
        while unsafe { self.submissions.push(entry) }.is_err() {
            self.submissions.sync();
            self.submitter.submit()?;
            self.submissions.sync();
            calls += 1;
        }
        Ok(calls)
    }
}
