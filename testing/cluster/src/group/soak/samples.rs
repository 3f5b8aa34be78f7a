//! What a node takes: memory, open files, and space on disk.

use crate::group::member::Member;
use anyhow::{Context, Result};
use scurry_crash::wire::{text, words};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a node takes at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sample {
    /// Number of the node.
    pub(super) node: usize,
    /// Time since the load of the piece began, s.
    pub(super) at_s: u64,
    /// Whether it is the first, one of a full hour, or the last of the piece.
    pub(super) moment: String,
    /// True if the node leads.
    pub(super) leads: bool,
    /// Age of its process, s.
    pub(super) uptime_s: u64,
    /// Resident memory, bytes.
    pub(super) rss: u64,
    /// Memory that the node counts as used, bytes.
    pub(super) used: u64,
    /// Open file descriptors.
    pub(super) files: u64,
    /// Space of the log and of files kept for it, bytes on disk.
    pub(super) log: u64,
    /// Space of snapshots, bytes on disk.
    pub(super) snapshots: u64,
}

impl Sample {
    /// Takes a sample of a node that runs.
    pub(super) fn take(
        (node, member): (usize, &Member),
        (at_s, moment): (u64, String),
    ) -> Result<Sample> {
        let process = member.process()?;
        let info = text(&member.thread_wire()?.ask(&words("INFO"))?)?;
        let number = |name: &str| -> Result<u64> {
            let of = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            Ok(of.with_context(|| format!("no {name} in INFO"))?.trim().parse()?)
        };
        let files = fs::read_dir(format!("/proc/{process}/fd"))?.count() as u64;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let rss = rss.and_then(|rest| rest.trim().strip_suffix(" kB")).context("no VmRSS")?;
        let (log, snapshots) = Sample::on_disk(member);
        Ok(Sample {
            node,
            at_s,
            moment,
            leads: member.status()?.serves(),
            uptime_s: number("uptime_in_seconds")?,
            rss: rss.trim().parse::<u64>()? * 1_024,
            used: number("used_memory")?,
            files,
            log,
            snapshots,
        })
    }

    /// Returns the space of a node's log, with the files kept for it, and of its snapshots, bytes on disk.
    pub(super) fn on_disk(member: &Member) -> (u64, u64) {
        space(&member.store())
    }
}

/// Returns the space of the log and of the snapshots under a directory, bytes. Files come and go meanwhile.
fn space(directory: &Path) -> (u64, u64) {
    let (mut log, mut snapshots) = (0, 0);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        let bytes = about.blocks() * 512;
        if about.is_dir() {
            let within = space(&entry.path());
            (log, snapshots) = (log + within.0, snapshots + within.1);
        } else if entry.file_name().to_string_lossy().starts_with("snapshot-") {
            snapshots += bytes;
        } else {
            log += bytes;
        }
    }
    (log, snapshots)
}
