//! The `scurry-lab` binary: reads the command line and calls the laboratory.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use scurry_lab::arguments::{Arguments, LabCommand};
use scurry_lab::compare::compare;
use scurry_lab::echo::{ReplySizes, serve};
use scurry_lab::fill::fill;
use scurry_lab::html::report;
use scurry_lab::http2_memory::http2_memory;
use scurry_lab::launcher::{Launch, launch};
use scurry_lab::list::list;
use scurry_lab::run::{faults, run, soak};
use scurry_lab::ship::ship;

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

/// Runs the command and reports whether everything passed.
fn dispatch(command: LabCommand) -> Result<bool> {
    match command {
        LabCommand::Run(arguments) => return run(&arguments),
        LabCommand::Faults(arguments) => return faults(&arguments),
        LabCommand::Soak(arguments) => return soak(&arguments),
        LabCommand::Compare(arguments) => return compare(&arguments),
        LabCommand::Report(arguments) => report(&arguments)?,
        LabCommand::Fill(arguments) => fill(&arguments)?,
        LabCommand::Http2Memory(arguments) => http2_memory(&arguments)?,
        LabCommand::Ship(arguments) => ship(&arguments)?,
        LabCommand::List { scurry_bin } => print!("{}", list(scurry_bin.as_deref())?),
        LabCommand::EchoServer { listen, sizes, diameter } => {
            serve(listen, &ReplySizes::parse(&sizes)?, diameter)?;
        }
        LabCommand::Launch { cores, parent, command } => {
            launch(&Launch { cores, parent, command })?
        }
    }
    Ok(true)
}
