//! The command line: each flag beside its help, one file per sub-command.

mod address;
mod ammo;
mod busy_account;
mod common;
mod compare;
mod costs;
mod expiry;
mod fill;
mod half_load;
mod ladder;
mod neighbours;
mod recovery;
mod results;
mod run;
mod slow_disk;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use ammo::{AmmoArguments, AmmoFormat};
pub use busy_account::BusyAccountArguments;
pub use common::{CommonArguments, HealthyArguments};
pub use compare::CompareArguments;
pub use costs::CostsArguments;
pub use expiry::ExpiryArguments;
pub use fill::FillArguments;
pub use half_load::HalfLoadArguments;
pub use ladder::LadderArguments;
pub use neighbours::NeighboursArguments;
pub use recovery::RecoveryArguments;
pub use results::{DiffArguments, ReportArguments};
pub use run::{RunArguments, YesNo};
pub use slow_disk::SlowDiskArguments;

/// The load laboratory: charging and key-value workloads, side by side, audited.
#[derive(Debug, Parser)]
#[command(name = "scurry-lab", version, arg_required_else_help = true)]
pub struct Arguments {
    /// Command to carry out.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// Commands of the lab.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Load targets with a scenario, audit each, and print one table.
    Run(Box<RunArguments>),
    /// Measure all targets that suit a scenario, in the columns of what others have published for it.
    Compare(Box<CompareArguments>),
    /// Compare two files of results, row by row: what differs by more than chance.
    Diff(DiffArguments),
    /// Write one self-contained page of HTML from files of results.
    Report(ReportArguments),
    /// Write requests for the HTTP door in the formats of yandex-tank's phantom and pandora.
    Ammo(AmmoArguments),
    /// Show what each layer costs: the ledger, the engine, the bytes around it, the sockets.
    Ladder(LadderArguments),
    /// Show what a healthy client feels while another one misbehaves.
    Neighbours(NeighboursArguments),
    /// Show what a healthy client feels while a million things expire at once.
    Expiry(ExpiryArguments),
    /// Fill a store with many accounts, weigh it, and load it.
    Fill(FillArguments),
    /// Show what a command costs beside another: chains, limits, a busy account.
    Costs(CostsArguments),
    /// Show what a healthy client feels while an account with a million things in it is shown and copied.
    BusyAccount(BusyAccountArguments),
    /// Show how long a commit takes at half load, beside the device's own sync.
    Commit(HalfLoadArguments),
    /// Show what clients feel at half load while snapshots are written.
    Snapshots(HalfLoadArguments),
    /// Show what a healthy client feels of a slow disk, on one machine and in a group of three.
    SlowDisk(SlowDiskArguments),
    /// Show how fast a log and a snapshot are read back, in this process.
    Recovery(RecoveryArguments),
    /// Show the scenarios and the targets, and what helps where a target is missing.
    List {
        /// Where the scurry binary is [default: beside the lab, then PATH].
        #[arg(long, value_name = "PATH")]
        scurry_bin: Option<PathBuf>,
    },
    /// The echo server, started by `run`.
    #[command(hide = true)]
    EchoServer {
        /// Where it listens.
        #[arg(long)]
        listen: SocketAddr,
        /// Reply lengths, NAME=BYTES,...
        #[arg(long, default_value = "")]
        sizes: String,
    },
    /// Becomes a server that ends with the lab, started by `run`.
    #[command(hide = true)]
    Launch {
        /// A core that it may run on; any core without.
        #[arg(long = "core")]
        cores: Vec<usize>,
        /// The network namespace to run in; the lab's without.
        #[arg(long)]
        namespace: Option<PathBuf>,
        /// Process id of the lab.
        #[arg(long)]
        parent: i32,
        /// Program and arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

#[cfg(test)]
pub(crate) fn parse_words(line: &str) -> anyhow::Result<LabCommand> {
    let words = format!("scurry-lab {line}");
    Ok(Arguments::try_parse_from(words.split_whitespace())?.command)
}
