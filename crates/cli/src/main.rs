//! The `scurry` binary: what is typed on its command line, and what that starts.

mod file;
mod hash_password;
mod log;
mod mode;
mod recovery;
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
    /// are the defaults. What is committed is kept in --dir, by
    /// default on the device before it is answered (--durability).
    Serve(Box<serve::Serve>),

    /// Read a password and print its hash for a user in the settings file.
    ///
    /// From a terminal it is asked for twice and not shown; else the first line of stdin is taken.
    HashPassword,
}

fn main() -> ExitCode {
    let result = match CommandLine::parse().command {
        Command::Serve(serve) => serve.run(),
        Command::HashPassword => hash_password::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scurry: {error:#}");
            ExitCode::FAILURE
        }
    }
}
