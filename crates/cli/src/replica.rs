//! `scurry replica`: a group of servers that replicate one log.

mod group;
mod status;
mod up;
mod verify;
pub(crate) mod view;

use crate::machine;
use crate::store::count_text;
use anyhow::Result;
use clap::{Args, Subcommand};
use group::Group;
use scurry_disk::order_begin;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  sudo -u scurry scurry replica init --dir /var/lib/scurry     once, on one of the machines of a new group
  scurry replica up --dir group --port 7000
  scurry replica status --dir group
  scurry cli -p 7000 SCUR.CREATE alice BUCKET main USD 1000
  scurry replica down --dir group

The same command brings a group that is down up again, or the nodes of it that are, with its data. docs/replication.md says what a
group promises, and how to start one on three machines.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Replica {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say, once for a new group, that it begins in this directory: of a node that is to be started there with
    /// --replicate, that waits there to join a group, or of a store of one machine that is to become the first of three.
    ///
    /// A server begins a group nowhere else. So a node that has lost its directory begins no second group, however it
    /// is started: never put this into a script that runs at each start. It refuses a directory that already belongs
    /// to a node.
    Init(Init),
    /// Start the nodes on this machine, and wait until all have a vote. They keep running when this command ends.
    ///
    /// One machine that fails takes all of them with it: a group that is to survive has each node on a
    /// machine of its own.
    Up(UpArgs),
    /// Stop the nodes that were started from a directory. Their data stays there.
    Down(Directory),
    /// Show each node: role, id, term, how far its log is, and whether one may be lost.
    Status(Directory),
    /// Compare the data of nodes on disk, at a sequence that all of them know to be committed.
    ///
    /// It reads as much as a start of each node, and changes nothing. It compares the state that each node would
    /// recover from its files, one in memory at a time.
    Verify(verify::Verify),
}

#[derive(Args, Debug)]
struct Init {
    /// The --dir of that server; it may run
    #[arg(long, value_name = "PATH")]
    dir: PathBuf,
}

#[derive(Args, Debug)]
struct UpArgs {
    #[command(flatten)]
    place: Directory,

    /// Nodes: of 3 any one may be lost, of 5 any two
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=5))]
    nodes: u16,

    /// Threads of each node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,

    /// First port: the first node's main port, followed by the ports of its threads and its port for other nodes; the
    /// next node takes the ports after these [default: a free block from 21000 on]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    port: Option<u16>,
}

#[derive(Args, Debug)]
struct Directory {
    /// Directory of the group: one directory per node, and the list of running nodes
    #[arg(long, value_name = "PATH", default_value = "scurry-group")]
    dir: PathBuf,
}

impl Replica {
    pub(crate) fn run(self) -> Result<()> {
        match self.action {
            Action::Init(Init { dir }) => init(&dir),
            Action::Up(up) => up::run(&up),
            Action::Down(place) => down(&place.dir),
            Action::Status(place) => status::run(&place.dir),
            Action::Verify(verify) => verify.run(),
        }
    }
}

fn init(dir: &Path) -> Result<()> {
    order_begin(dir)?;
    println!(
        "{} begins a group when a server starts there with --replicate, or goes on that waits there",
        dir.display()
    );
    Ok(())
}

fn down(dir: &Path) -> Result<()> {
    Group::existing(dir)?;
    let _lock = machine::lock_directory(dir)?;
    let mut group = Group::existing(dir)?;
    match group.stop(dir)? {
        0 => println!("no node was running"),
        count => println!(
            "{} stopped; the data is in {}",
            count_text(count as u64, "node"),
            dir.display()
        ),
    }
    Ok(())
}
