//! The driver: starts each candidate on its own core, loads it from another one, asks it what
//! that cost, and prints medians with their spread. Candidates and cases alternate, so that what
//! else the machine does falls on all of them.

mod case;
mod idle;
mod loader;
mod server;
mod table;
mod valkey;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::backend::{self, CANDIDATES, Candidate};
use crate::place;
pub(crate) use case::CASES;
use case::Case;
use loader::Loader;
use server::Server;

/// What to compare.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Candidates, separated by commas; without it all that are not on demand.
    #[arg(long, value_delimiter = ',')]
    candidates: Vec<String>,
    /// Cases, separated by commas; without it all.
    #[arg(long, value_delimiter = ',')]
    cases: Vec<String>,
    /// What sends the requests.
    #[arg(long, value_enum, default_value = "own")]
    load: Load,
    /// Runs of each candidate in each case.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Requests of a run, in percent of the usual.
    #[arg(long, default_value_t = 100)]
    percent: u64,
    /// Core of the server.
    #[arg(long, default_value_t = 1)]
    server_core: usize,
    /// Core of the load.
    #[arg(long, default_value_t = 0)]
    load_core: usize,
    /// File for the results as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What sends the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Load {
    /// The loader of this program, which costs less than any of the servers.
    Own,
    /// valkey-benchmark, which others know; at depth 1 it is the limit itself.
    Valkey,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
struct Run {
    case: &'static str,
    candidate: &'static str,
    requests_per_s: f64,
    cpu_us_per_request: f64,
    /// CPU time of the server during the load, in percent of the time.
    cpu_percent: f64,
    /// As the server counts; the waits inside of tokio are not known to it.
    system_calls_per_request: f64,
    /// Requests that one wait found; none for tokio.
    requests_per_wait: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    kernel: String,
    cpu: String,
    runs: &'a [Run],
}

impl Compare {
    /// Compares and prints.
    ///
    /// # Errors
    /// When a server or the load fails.
    pub(crate) fn run(&self) -> Result<()> {
        ensure!(self.server_core != self.load_core, "server and load need a core each");
        let candidates = self.candidates()?;
        let cases = self.cases()?;
        place::bind_to(self.load_core)?;
        let mut runs = Vec::new();
        for round in 1..=self.runs {
            for case in &cases {
                eprintln!("round {round} of {}: {}", self.runs, case.name);
                for candidate in &candidates {
                    runs.push(self.measure(case, candidate)?);
                }
            }
            // What is measured stays when a later round fails or is interrupted.
            self.save(&runs)?;
        }
        for case in cases {
            println!("{}", table::of_case(case, &candidates, &runs));
        }
        Ok(())
    }

    fn measure(&self, case: &'static Case, candidate: &Candidate) -> Result<Run> {
        let server = Server::start(candidate.name, self.server_core)?;
        let _idle = idle::connect(server.address, case.idle)?;
        let mut own = match self.load {
            Load::Own => Some(Loader::connect(case, server.address)?),
            Load::Valkey => None,
        };
        let mut send = |requests| match &mut own {
            Some(loader) => loader.run(requests),
            None => valkey::run(case, server.address, requests),
        };
        send(case.warmup())?;
        let before = server.usage()?;
        let seconds = send(case.requests * self.percent / 100)?;
        let used = server.usage()?.since(before);
        let requests = used.requests as f64;
        Ok(Run {
            case: case.name,
            candidate: candidate.name,
            requests_per_s: requests / seconds,
            cpu_us_per_request: used.cpu_nanos as f64 / 1e3 / requests,
            cpu_percent: used.cpu_nanos as f64 / 1e7 / seconds,
            system_calls_per_request: used.system_calls as f64 / requests,
            requests_per_wait: (used.turns > 0).then(|| requests / used.turns as f64),
        })
    }

    fn candidates(&self) -> Result<Vec<Candidate>> {
        if self.candidates.is_empty() {
            return Ok(CANDIDATES.iter().filter(|c| c.is_default).copied().collect());
        }
        self.candidates.iter().map(|name| backend::find(name)).collect()
    }

    fn cases(&self) -> Result<Vec<&'static Case>> {
        if self.cases.is_empty() {
            return Ok(CASES.iter().collect());
        }
        self.cases.iter().map(|name| case::find(name)).collect()
    }

    fn save(&self, runs: &[Run]) -> Result<()> {
        let Some(path) = &self.json else { return Ok(()) };
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let report = Report {
            kernel: kernel.trim().to_owned(),
            cpu: model.map_or("unknown", |(_, model)| model).to_owned(),
            runs,
        };
        fs::write(path, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("writing {}", path.display()))
    }
}
