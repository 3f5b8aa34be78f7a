//! `scurry bench`: puts load on a server, audits the result and prints the figures. Without an address it starts a
//! server for the run.

mod charging;
mod client;
mod keys;
mod latency;
mod own_server;
mod routes;

use crate::machine::InterruptibleWait;
use crate::server_address::ServerAddress;
use crate::store::grouped;
use anyhow::{Context, Result, ensure};
use charging::Charging;
use clap::{ArgMatches, Args, ValueEnum};
use client::{Client, Task, Workload, each};
use keys::Keys;
use latency::Latencies;
use own_server::OwnServer;
use routes::Routes;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "Examples:
  scurry bench                              a server of its own: charging and keys, in memory and with fsync
  scurry bench -h 10.0.0.7 --workload charging
  SCURRY_PASSWORD=secret scurry bench --address store.example:6389 --tls --cacert ca.pem --user load";

/// Options that name a server. If one is given, no server is started.
const SERVER_OPTIONS: [&str; 3] = ["address", "host", "port"];

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub(crate) struct Bench {
    #[command(flatten)]
    server: ServerAddress,

    /// Load to run; without it, both
    #[arg(long, value_name = "NAME", value_enum)]
    workload: Option<WorkloadName>,

    /// Connections, each with a thread that waits for its replies
    #[arg(short, long, value_name = "N", default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=2_000))]
    connections: u32,

    /// Requests under way on each connection
    #[arg(short, long, value_name = "N", default_value_t = 64,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    depth: u32,

    /// Accounts that the charging load makes; as many keys in the other one
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100_000,
        value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    accounts: u32,

    /// Seconds that are measured of each load
    #[arg(short, long, value_name = "SECONDS", default_value_t = 5,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,

    /// Seconds of load before the measured ones
    #[arg(long, value_name = "SECONDS", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(0..=3_600))]
    warmup: u64,

    /// Directory for the data of the temporary server [default: the current directory]
    #[arg(long, value_name = "DIR", conflicts_with_all = SERVER_OPTIONS)]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WorkloadName {
    /// Sessions as online charging has them: GET RESERVE SESSION UPDATE SESSION UPDATE SESSION TERMINATE
    Charging,
    /// SET and GET of values of 100 bytes, half of each
    Keys,
}

/// Figures of one load.
struct Row {
    operations: u64,
    latencies: Latencies,
    /// Accounts or keys that the audit compared.
    audited: u64,
}

impl Bench {
    pub(crate) fn run(&self, given: &ArgMatches) -> Result<()> {
        let patience = InterruptibleWait::new()?;
        let is_given = |name: &&str| {
            given
                .value_source(name)
                .is_some_and(|source| source != clap::parser::ValueSource::DefaultValue)
        };
        println!(
            "{} connections, {} requests under way on each, {} s a line after {} s of warm-up",
            self.connections, self.depth, self.seconds, self.warmup
        );
        if SERVER_OPTIONS.iter().any(is_given) {
            println!("server {}\n\n{}", self.server.address(), Row::HEAD);
            return self.each_workload(|name| self.measure(name, &self.server, "", &patience));
        }
        println!("a server of its own, one thread, on this machine\n\n{}", Row::HEAD);
        let dir = self.dir.clone().unwrap_or_else(|| PathBuf::from("."));
        self.each_workload(|name| {
            for durability in ["none", "fsync"] {
                let server = OwnServer::start(&dir, durability, &patience)?;
                self.measure(name, server.address(), durability, &patience)
                    .with_context(|| server.log_tail())?;
            }
            Ok(())
        })
    }

    fn each_workload(&self, mut run: impl FnMut(WorkloadName) -> Result<()>) -> Result<()> {
        match self.workload {
            Some(name) => run(name),
            None => WorkloadName::value_variants().iter().try_for_each(|&name| run(name)),
        }
    }

    /// Runs one load and prints its line of the table.
    fn measure(
        &self,
        name: WorkloadName,
        server: &ServerAddress,
        durability: &str,
        patience: &InterruptibleWait,
    ) -> Result<()> {
        let row = match name {
            WorkloadName::Charging => self.load::<Charging>(server, patience)?,
            WorkloadName::Keys => self.load::<Keys>(server, patience)?,
        };
        println!("{}", row.line(name, durability, self.seconds));
        Ok(())
    }

    /// Connects all clients, then runs the load on them.
    fn load<W: Workload>(
        &self,
        server: &ServerAddress,
        patience: &InterruptibleWait,
    ) -> Result<Row> {
        let routes = Routes::ask(server)?;
        let depth = self.depth as usize;
        let run = routes::run_number();
        let accounts = self.accounts.max(self.connections).div_ceil(self.connections);
        let connect = |number| {
            let workload = W::new(routes.names(run, number, accounts), depth);
            Client::connect(&routes.server_of(server, number), depth, workload)
        };
        let mut clients: Vec<Client<W>> =
            (0..self.connections).map(connect).collect::<Result<_>>()?;
        self.run_on(&mut clients, patience).with_context(|| {
            format!("accounts and keys bench-{run:08x}-* may be left on the server")
        })
    }

    /// Prepares the accounts or keys, runs the load, audits and removes them again.
    fn run_on<W: Workload>(
        &self,
        clients: &mut [Client<W>],
        patience: &InterruptibleWait,
    ) -> Result<Row> {
        let (warmup, seconds) =
            (Duration::from_secs(self.warmup), Duration::from_secs(self.seconds));
        each(clients, |client| client.carry_out(Task::Prepare, patience))
            .context("the load cannot be prepared")?;
        let loaded = each(clients, |client| client.load(warmup, seconds, patience))?;
        let mut row = Row { operations: 0, latencies: Latencies::new()?, audited: 0 };
        for (operations, latencies) in &loaded {
            row.operations += operations;
            row.latencies.add(latencies);
        }
        let audited = each(clients, |client| client.carry_out(Task::Audit, patience))
            .context("the audit failed")?;
        row.audited = audited.into_iter().sum();
        ensure!(row.operations > 0, "no request was answered in {} s", self.seconds);
        each(clients, |client| client.carry_out(Task::Remove, patience))?;
        Ok(row)
    }
}

impl Row {
    const HEAD: &str = "load      durability  operations/s   p50 us   p99 us  p99.9 us   audit";

    fn line(&self, name: WorkloadName, durability: &str, seconds: u64) -> String {
        let of = match name {
            WorkloadName::Charging => "accounts",
            WorkloadName::Keys => "keys",
        };
        let us = |share| grouped(self.latencies.quantile_us(share));
        format!(
            "{:<8}  {durability:<10}  {:>12}  {:>7}  {:>7}  {:>8}   exact, {} {of}",
            name.to_string(),
            grouped(self.operations / seconds),
            us(0.5),
            us(0.99),
            us(0.999),
            grouped(self.audited),
        )
    }
}

impl fmt::Display for WorkloadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WorkloadName::Charging => "charging",
            WorkloadName::Keys => "keys",
        })
    }
}
