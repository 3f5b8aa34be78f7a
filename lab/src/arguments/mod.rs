//! The command line: each flag beside its help, one file per sub-command.

mod address;
mod common;
mod compare;
mod fill;
mod http2_memory;
mod report;
mod run;
mod ship;
mod soak;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use common::CommonArguments;
pub use compare::CompareArguments;
pub use fill::FillArguments;
pub use http2_memory::Http2MemoryArguments;
pub use report::ReportArguments;
pub use run::RunArguments;
pub use ship::ShipArguments;
pub use soak::SoakArguments;

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
    /// Run a scenario in which a node is killed, hands over or is replaced, or has a slow disk.
    Faults(Box<RunArguments>),
    /// Run a scenario again and again, each round audited, until a time is over or an audit fails.
    Soak(Box<SoakArguments>),
    /// Write one self-contained page of HTML from files of results.
    Report(ReportArguments),
    /// Fill a store with many accounts, weigh it, and load it.
    Fill(FillArguments),
    /// Weigh the HTTP door of scurry with HTTP/2 connections that are idle, have open requests, and are at all bounds.
    Http2Memory(Http2MemoryArguments),
    /// Measure `scurry ship files`: what it costs the store, how many events it delivers, and how late they are.
    Ship(ShipArguments),
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
        /// Answers Diameter in place of RESP.
        #[arg(long)]
        diameter: bool,
    },
    /// Becomes a server that ends with the lab, started by `run`.
    #[command(hide = true)]
    Launch {
        /// A core that it may run on; any core without.
        #[arg(long = "core")]
        cores: Vec<usize>,
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
