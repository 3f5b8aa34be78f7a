//! Faults injected under load. Each fault is undone at its end: all nodes run and reach each other.

mod cut;
mod files;
mod kill;
mod migrate;
mod pause;
mod restart;

use crate::cluster::Cluster;
use anyhow::{Result, ensure};
use clap::ValueEnum;
use scurry_model::Random;
use std::time::Duration;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// SIGKILL of a primary, which is started again at once or when its replica has taken over.
    KillPrimary,
    /// SIGKILL of a replica, which is started again.
    KillReplica,
    /// SIGSTOP of a primary until its replica has taken over, and SIGCONT.
    PausePrimary,
    /// A primary reaches no other node any more, and clients reach it or not.
    Cut,
    /// Slots with accounts in them move to another primary, and back.
    Migrate,
    /// Each node is restarted, a primary when its replica has taken over.
    RollingRestart,
    /// SIGKILL of all nodes, which start again on their files of commands.
    FullRestart,
    /// A replica loses its files and copies its primary again.
    ReplicaResync,
    /// Each node saves its keys as a snapshot and loads them from it, and rewrites its file of
    /// commands.
    SaveAndLoad,
}

/// Context that a fault works with.
pub(crate) struct FaultContext<'s> {
    pub(crate) cluster: &'s mut Cluster,
    pub(crate) random: &'s mut Random,
    /// Accounts in use.
    pub(crate) keys: &'s [String],
}

impl Fault {
    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Fault::KillPrimary => "kill-primary",
            Fault::KillReplica => "kill-replica",
            Fault::PausePrimary => "pause-primary",
            Fault::Cut => "cut",
            Fault::Migrate => "migrate",
            Fault::RollingRestart => "rolling-restart",
            Fault::FullRestart => "full-restart",
            Fault::ReplicaResync => "replica-resync",
            Fault::SaveAndLoad => "save-and-load",
        }
    }

    /// Faults of the short run.
    pub const SHORT: [Fault; 3] = [Fault::KillPrimary, Fault::PausePrimary, Fault::Migrate];

    pub(crate) fn inflict(self, scene: &mut FaultContext<'_>) -> Result<()> {
        match self {
            Fault::KillPrimary => kill::primary(scene),
            Fault::KillReplica => kill::replica(scene),
            Fault::PausePrimary => pause::primary(scene),
            Fault::Cut => cut::primary(scene),
            Fault::Migrate => migrate::there_and_back(scene),
            Fault::RollingRestart => restart::rolling(scene),
            Fault::FullRestart => restart::full(scene),
            Fault::ReplicaResync => files::resync(scene),
            Fault::SaveAndLoad => files::save_and_load(scene),
        }
    }
}

impl FaultContext<'_> {
    /// Returns a random primary with its replica.
    fn pair(&mut self) -> Result<(usize, usize)> {
        let pairs = self.cluster.pairs()?;
        ensure!(!pairs.is_empty(), "there is no primary");
        Ok(self.random.pick(&pairs))
    }

    /// Sleeps for a random time between the bounds.
    pub(crate) fn pass_ms(&mut self, low: i64, high: i64) -> Result<()> {
        let ms = u64::try_from(self.random.between(low, high))?;
        self.cluster.pass(Duration::from_millis(ms))
    }

    /// Waits until this replica has become primary.
    fn until_primary(&mut self, index: usize) -> Result<()> {
        self.cluster.until("the replica takes over", |cluster| {
            ensure!(cluster.is_primary(index), "node {index} is no primary");
            Ok(())
        })
    }
}
