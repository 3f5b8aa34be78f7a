//! `scurry cluster`: a Valkey Cluster on this machine, for development.

mod binary;
mod join;
mod local;
mod status;
mod up;

use crate::machine;
use crate::store::count_text;
use anyhow::Result;
use clap::{Args, Subcommand};
use local::Local;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  scurry cluster up --primaries 3 --replicas 1 --dir cluster
  scurry cluster status --dir cluster
  valkey-cli -c -p 21000 SCUR.CREATE alice BUCKET main USD 1000
  scurry cluster down --dir cluster

The same command brings a cluster that is down up again, with its data. docs/cluster.md has the
settings for production.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start the nodes, join them, and wait until all of them serve. They go on when this ends.
    Up(UpArgs),
    /// Stop the nodes that were started from a directory. Their data stays there.
    Down(Directory),
    /// Show each node: role, slots, link to its primary, memory, accounts, keys.
    Status(Directory),
}

#[derive(Args, Debug)]
struct UpArgs {
    #[command(flatten)]
    place: Directory,

    /// Nodes that own keys, 3 at least: fewer cannot agree that one of them has failed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(3..=16))]
    primaries: u16,

    /// Copies of each of them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=4))]
    replicas: u16,

    /// libscurry.so [default: beside this program]
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,

    /// First port; the nodes take the following ports, and as many again for the cluster bus [default: a free block
    /// from 21000 on]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    port: Option<u16>,

    /// The server's program
    #[arg(long, value_name = "PATH", default_value = "valkey-server")]
    server: PathBuf,
}

#[derive(Args, Debug)]
struct Directory {
    /// Directory of the cluster: one directory per node, and the list of running nodes
    #[arg(long, value_name = "PATH", default_value = "scurry-cluster")]
    dir: PathBuf,
}

impl Cluster {
    pub(crate) fn run(self) -> Result<()> {
        match self.action {
            Action::Up(up) => up::run(&up),
            Action::Down(place) => down(&place.dir),
            Action::Status(place) => status::run(&place.dir),
        }
    }
}

fn down(dir: &Path) -> Result<()> {
    Local::existing(dir)?;
    let _lock = machine::lock_directory(dir)?;
    let mut local = Local::existing(dir)?;
    match local.stop(dir)? {
        0 => println!("no node was running"),
        count => println!(
            "{} stopped; the data is in {}",
            count_text(count as u64, "node"),
            dir.display()
        ),
    }
    Ok(())
}
