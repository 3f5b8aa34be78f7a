//! A node: what survives a crash of it, and what is running.

use super::asks::Request;
use super::running::{BALLOT, Running};
use crate::SimDisk;
use crate::SimFile;
use crate::reach::REACH;
use scurry_consensus::replica::NodeId;
use scurry_engine::{Disk, File, LogBallot, LogId, LogReach, Vote};
use std::collections::VecDeque;
use std::io;

/// A node.
pub(super) struct Machine {
    pub(super) id: NodeId,
    pub(super) disk: SimDisk,
    /// Time that its clock shows.
    pub(super) clock: i64,
    pub(super) starts: u64,
    /// True while it does nothing, and goes on later as if nothing had been.
    pub(super) is_paused: bool,
    /// True while its disk does nothing.
    pub(super) is_stalled: bool,
    /// True when it is no member any more, or is to be none: it goes on and does not come back.
    pub(super) is_gone: bool,
    pub(super) running: Option<Box<Running>>,
    /// Requests that wait for a turn of its core.
    pub(super) inbox: VecDeque<Request>,
}

impl Machine {
    /// An empty machine.
    pub(super) fn new(id: NodeId, disk: SimDisk, log: LogId, clock: i64) -> io::Result<Machine> {
        let mut files = disk.clone();
        let notes = [
            (REACH, LogReach::<SimFile>::file_of([(log, 0)].into_iter())),
            (BALLOT, LogBallot::<SimFile>::file_of([(log, Vote::default())].into_iter())),
        ];
        for (name, bytes) in notes {
            let mut file = files.create(name, 0)?;
            file.write_at(0, &bytes)?;
            file.sync()?;
        }
        files.sync_dir()?;
        Ok(Machine {
            id,
            disk,
            clock,
            starts: 0,
            is_paused: false,
            is_stalled: false,
            is_gone: false,
            running: None,
            inbox: VecDeque::new(),
        })
    }

    /// True when it takes part.
    pub(super) fn is_up(&self) -> bool {
        self.running.is_some() && !self.is_paused
    }

    /// True when it executes commands, as far as it knows.
    pub(super) fn leads(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.lead.is_some())
    }

    /// The process ends.
    pub(super) fn end(&mut self) {
        self.running = None;
        self.inbox.clear();
        self.is_paused = false;
    }
}
