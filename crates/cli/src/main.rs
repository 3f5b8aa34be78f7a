//! The `scurry` binary: what is typed on its command line, and what that starts.

mod file;
mod serve;
mod size;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Scurry: prepaid balances and live charging sessions in memory.
#[derive(Debug, Parser)]
#[command(name = "scurry", version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve RESP clients (redis-cli and every Redis client library) over TCP.
    ///
    /// Settings come from the command line, else from the file given with --config, else they
    /// are the defaults. This release keeps everything in memory: nothing survives a restart.
    Serve(serve::Serve),
}

fn main() -> ExitCode {
    let CommandLine { command: Command::Serve(serve) } = CommandLine::parse();
    match serve.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scurry: {error:#}");
            ExitCode::FAILURE
        }
    }
}
