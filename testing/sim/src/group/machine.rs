//! A node: the parts that survive a crash, and its running processes.

use super::asks::Request;
use super::running::{BALLOT, NodeProcess};
use crate::SimDisk;
use crate::SimFile;
use crate::reach::REACH;
use scurry_consensus::replica::NodeId;
use scurry_consensus::shard::RequiredVersion;
use scurry_engine::{Disk, File, LogBallot, LogId, LogReach, Vote};
use std::collections::VecDeque;
use std::io;

/// The versions of the protocol that older and newer nodes speak.
pub(super) const OLDER: u16 = 3;
pub(super) const NEWER: u16 = 4;

/// A node of the group.
pub(super) struct Machine {
    pub(super) id: NodeId,
    pub(super) disk: SimDisk,
    /// The node's clock, milliseconds. It may go back.
    pub(super) clock: i64,
    pub(super) starts: u64,
    /// True while the node is paused. It continues later without noticing the pause.
    pub(super) is_paused: bool,
    /// True while its disk stalls.
    pub(super) is_stalled: bool,
    /// The version of the protocol between nodes that the node speaks.
    pub(super) speaks: u16,
    /// The version that each node of its group has to speak, as noted on its disk.
    pub(super) required: RequiredVersion,
    /// True when the node was replaced. It may run until the group removes it, and is not started again.
    pub(super) is_gone: bool,
    pub(super) running: Option<Box<NodeProcess>>,
    /// Requests that wait for a turn of its core.
    pub(super) inbox: VecDeque<Request>,
}

impl Machine {
    /// Creates a node with an empty log, and with the files for its reach and its vote.
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
            speaks: NEWER,
            required: RequiredVersion::new(1, Box::new(|_| Ok(()))),
            is_gone: false,
            running: None,
            inbox: VecDeque::new(),
        })
    }

    /// Reports whether the node runs and is not paused.
    pub(super) fn is_up(&self) -> bool {
        self.running.is_some() && !self.is_paused
    }

    /// Reports whether the node executes commands, because it considers itself the leader.
    pub(super) fn leads(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.lead.is_some())
    }

    /// Ends the process. Requests in its inbox are lost.
    pub(super) fn end(&mut self) {
        self.running = None;
        self.inbox.clear();
        self.is_paused = false;
    }
}
