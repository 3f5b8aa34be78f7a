//! The `scurry` binary: parses the command line and runs the command.

#[macro_use]
mod printing;

mod backup;
mod bench;
mod client;
mod cluster;
mod diameter;
mod foreign_options;
mod health;
mod http;
mod inspect;
mod keep_log;
mod key_progress;
mod log;
mod machine;
mod option_values;
mod quickstart;
mod rdma;
mod recovery;
mod reload;
mod replica;
mod report;
mod restore;
mod serve;
mod server_address;
mod shell;
mod ship;
mod size;
mod snapshot;
mod state;
mod store;
mod suggestions;
mod supervisor;
mod tables;
mod terminal_escape;
mod tls_options;
mod toml_file;
mod top;
mod transfer;
mod users;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

const FIRST_STEPS: &str = "First steps:
  scurry quickstart        a store to try, with a console; nothing is left of it
  scurry serve             a store on 127.0.0.1:6389 that keeps its data in scurry-data
  scurry cli               commands to it, from another terminal
  scurry COMMAND --help    the options of a command";

/// Scurry: prepaid balances and live charging sessions in memory.
#[derive(Debug, Parser)]
#[command(name = "scurry", version, arg_required_else_help = true, after_help = FIRST_STEPS)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the store: serve RESP clients (redis-cli and every Redis client library) over TCP.
    ///
    /// Settings come from the command line, else from the file given with --config, else they are the defaults.
    /// Committed data is kept in --dir; by default it is on the device before the reply is sent (--durability).
    Serve(Box<serve::Options>),

    /// Try it: a store in a temporary directory with the console, some accounts and a little load.
    ///
    /// Prints what to open and what to type next. It ends with Ctrl-C, and removes all of its files.
    Quickstart(quickstart::Quickstart),

    /// Serve charging over HTTP before a store, or entities that several nodes keep.
    ///
    /// With --store it is charging, as `scurry serve --http-listen` has it too. With --nodes a GET,
    /// PUT or DELETE of /v0/entity?id=ID&replicas=ack/from is answered when ack of the from nodes
    /// that keep the id have answered; a majority of all nodes, unless it says otherwise.
    Http(Box<http::Http>),

    /// Serve charging over Diameter before a store: credit control of gateways (Ro, Gy; RFC 8506).
    ///
    /// `scurry serve --diameter-listen` has the same door beside a store. The settings file has its peers, the table of
    /// services, and how subscribers find their accounts.
    Diameter(diameter::Diameter),

    /// Send commands to a server and show the replies, over TCP, TLS or RDMA.
    ///
    /// At a terminal it is a shell with completion and history. redis-cli and valkey-cli work as well.
    Cli(client::Cli),

    /// Put load on a server, audit the results and show the figures; without an address, on a temporary server.
    ///
    /// The loads are those of the charging comparison that the documents quote, and plain keys. Each makes accounts
    /// or keys whose names begin with bench-, compares all of them with the acknowledged requests, and removes them.
    Bench(bench::Bench),

    /// Show the figures of a running server in the terminal, updated every second.
    ///
    /// Requests and how long they took, clients, memory, accounts, sessions, denials, the log, the nodes
    /// of a group, sums by unit and the busiest commands. Ends with q.
    Top(top::Top),

    /// Read a password and print its hash for a user in the settings file.
    ///
    /// From a terminal it is asked for twice and not shown; else the first line of stdin is taken.
    HashPassword,

    /// Make a token for HTTP (Authorization: Bearer) and print it, and its hash for a user in the
    /// settings file.
    ///
    /// The token is shown once and kept nowhere.
    MakeToken,

    /// Show the contents of a data directory, a log segment or a snapshot, and check that it is complete.
    ///
    /// Reads every byte and checks every checksum; writes nothing, so it can be used beside a
    /// running server. The exit code is 0 when everything holds, and 1 when something does not.
    Inspect(inspect::Inspect),

    /// Copy a data directory, also that of a running server, to a new directory.
    ///
    /// The copy holds every snapshot and the log up to its last complete record at that moment,
    /// core by core. It is checked against its source before the command ends, and is itself a
    /// data directory: `scurry serve` can be started on it.
    Backup(backup::Backup),

    /// Copy a backup to a new data directory, as it is or as it was at an earlier point.
    ///
    /// A point is the sequence of a record, per core; `scurry inspect --records` shows them with
    /// their times. The backup is not changed.
    Restore(restore::Restore),

    /// Show accounts of a data directory or a backup as they were at a point of the log, or open holds by age.
    ///
    /// Reads the files, also those of a running server or of any node of a group, and asks no server.
    State(state::State),

    /// Answer questions of finance from a backup or from shipped files: spend, denials, old holds, sums, statements.
    ///
    /// Reads files, also those of a running server, and asks no server. An answer that is not complete says so.
    Report(Box<report::Report>),

    /// Ask a running server to write a snapshot, and wait until it has.
    ///
    /// A start reads the newest snapshot and the log after it, so one that was just written makes the next start
    /// fast, and a backup small.
    Snapshot(snapshot::Snapshot),

    /// Start, show and stop a Valkey Cluster on this machine, for development.
    ///
    /// Its nodes are valkey-servers with libscurry.so: they have the same commands as `scurry serve`.
    Cluster(cluster::Cluster),

    /// Start, show and stop a group of `scurry serve` on this machine, for development.
    ///
    /// Each of its nodes has a copy of the log: docs/replication.md.
    Replica(replica::Replica),

    /// Deliver the events of a store to files, brokers and services.
    ///
    /// Each committed event, in order per account. The position is kept with what was delivered.
    Ship(Box<ship::Ship>),

    /// Copy everything of a store to another one, or to a file.
    ///
    /// Either may be a `scurry serve` or a Valkey Cluster. Accounts go with their sessions and all
    /// that is remembered, so that duplicates are known there too. Nothing may write meanwhile;
    /// what did is noticed.
    Export(transfer::Export),

    /// Copy everything of an export, or of another store, to a store.
    Import(transfer::Import),

    /// Print the completions of a shell (bash, zsh, fish, elvish, powershell) for this program.
    ///
    /// Packages have put them where shells look; else for instance:
    /// scurry completions bash > ~/.local/share/bash-completion/completions/scurry
    Completions(shell::Completions),

    /// Say by the exit code whether a server answers, for health checks of containers.
    ///
    /// Sends PING. A server that wants a password and says so is well.
    Health(health::Health),

    /// Write the manual pages of this program, as packages carry them.
    #[command(hide = true)]
    Man(shell::ManArgs),
}

fn main() -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut matches = CommandLine::command()
        .try_get_matches()
        .unwrap_or_else(|error| foreign_options::with_advice(error, &words).exit());
    let line = CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let (_, given) = matches.remove_subcommand().unwrap_or_default();
    match run(line.command, &given) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("scurry: {}", format_error_chain(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command, given: &ArgMatches) -> anyhow::Result<ExitCode> {
    match command {
        Command::Cli(cli) => return cli.run(),
        Command::Serve(options) => serve::run(*options, given),
        Command::Quickstart(quickstart) => quickstart.run(),
        Command::Http(http) => http.run(),
        Command::Diameter(diameter) => diameter.run(),
        Command::Bench(bench) => bench.run(given),
        Command::Top(top) => top.run(),
        Command::HashPassword => users::hash_password(),
        Command::MakeToken => users::make_token(),
        Command::Inspect(inspect) => inspect.run(),
        Command::Backup(backup) => backup.run(),
        Command::Restore(restore) => restore.run(),
        Command::State(state) => state.run(),
        Command::Report(report) => report.run(),
        Command::Snapshot(snapshot) => snapshot.run(),
        Command::Cluster(cluster) => cluster.run(),
        Command::Replica(replica) => replica.run(),
        Command::Ship(ship) => ship.run(),
        Command::Export(export) => export.run(),
        Command::Import(import) => import.run(),
        Command::Completions(completions) => completions.run(CommandLine::command()),
        Command::Health(health) => health.run(),
        Command::Man(man) => man.run(CommandLine::command()),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Formats an error with its causes, each once: many errors repeat the text of their cause.
fn format_error_chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            let between = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{between}{cause}");
        }
    }
    // The text of a cause may come from a server or a file, so it is escaped.
    terminal_escape::escaped_lines(&text)
}
