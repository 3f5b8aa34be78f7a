//! The `scurry-lab` binary: reads the command line and calls the laboratory.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use scurry_lab::ammo::ammo;
use scurry_lab::arguments::{Arguments, LabCommand};
use scurry_lab::busy_account::busy_account;
use scurry_lab::commit::commit;
use scurry_lab::compare::compare;
use scurry_lab::costs::costs;
use scurry_lab::diff::diff;
use scurry_lab::echo::{ReplySizes, serve};
use scurry_lab::expiry::expiry;
use scurry_lab::fill::fill;
use scurry_lab::html::report;
use scurry_lab::ladder::ladder;
use scurry_lab::launcher::{Launch, launch};
use scurry_lab::list::list;
use scurry_lab::neighbours::neighbours;
use scurry_lab::recovery::recovery;
use scurry_lab::run::run;
use scurry_lab::slow_disk::slow_disk;
use scurry_lab::snapshots::snapshots;

fn main() -> ExitCode {
    match dispatch(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("scurry-lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does it, and says whether everything passed.
fn dispatch(command: LabCommand) -> Result<bool> {
    match command {
        LabCommand::Run(arguments) => return run(&arguments),
        LabCommand::Compare(arguments) => return compare(&arguments),
        LabCommand::Diff(arguments) => return diff(&arguments),
        LabCommand::Report(arguments) => report(&arguments)?,
        LabCommand::Ammo(arguments) => ammo(&arguments)?,
        LabCommand::Ladder(arguments) => ladder(&arguments)?,
        LabCommand::Neighbours(arguments) => return neighbours(&arguments),
        LabCommand::Expiry(arguments) => return expiry(&arguments),
        LabCommand::Fill(arguments) => fill(&arguments)?,
        LabCommand::BusyAccount(arguments) => busy_account(&arguments)?,
        LabCommand::Costs(arguments) => costs(&arguments)?,
        LabCommand::Commit(arguments) => commit(&arguments)?,
        LabCommand::Recovery(arguments) => recovery(&arguments)?,
        LabCommand::Snapshots(arguments) => snapshots(&arguments)?,
        LabCommand::SlowDisk(arguments) => slow_disk(&arguments)?,
        LabCommand::List { scurry_bin } => print!("{}", list(scurry_bin.as_deref())?),
        LabCommand::EchoServer { listen, sizes } => serve(listen, &ReplySizes::parse(&sizes)?)?,
        LabCommand::Launch { cores, namespace, parent, command } => {
            launch(&Launch { cores, namespace, parent, command })?
        }
    }
    Ok(true)
}
