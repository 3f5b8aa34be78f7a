//! `scurry-lab run`: every target in turn, as often as asked, alternating, so that a machine
//! that slows down slows all of them down.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::arguments::RunArguments;
use crate::cores::Cores;
use crate::dialect::Dialect;
use crate::echo_sizes::{EchoSizes, built_in, key_value, learn};
use crate::host::Host;
use crate::measure::Bench;
use crate::report;
use crate::row::{Load, Report, Row, Run, compare};
use crate::scenario::{Kind, Scenario};
use crate::target::{LIBRARY, Target};

/// A target that uses this much of its core has none left, within the precision of the figure.
const BUSY_PERCENT: f64 = 95.0;
/// Files that a run needs beside one per connection.
const FILES_SPARE: u64 = 200;

/// Runs everything, prints the table, and says whether every target that was measured passed
/// its audit.
///
/// # Errors
/// When the arguments contradict each other, or no target could be measured.
pub fn run(arguments: &RunArguments) -> Result<bool> {
    let scenario = arguments.scenario()?;
    let targets = arguments.targets()?;
    allow_files(u64::from(scenario.connections) + FILES_SPARE)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let session = Session {
        arguments,
        scenario: &scenario,
        cores: Cores::choose()?,
        host: Host::look(),
        library: library(arguments)?,
        interrupted: &interrupted,
    };
    session.greet();
    let mut rows = session.rows(&targets)?;
    compare(&mut rows);
    let report = Report { rows };
    print!("{}", report::render(&scenario, &report)?);
    if let Some(path) = &arguments.json {
        let json = serde_json::to_string_pretty(&report)?;
        std::fs::write(path, json + "\n").with_context(|| format!("writing {}", path.display()))?;
    }
    if report.rows.iter().all(|row| row.not_measured.is_some()) {
        bail!("no target could be measured here");
    }
    Ok(report.rows.iter().all(|row| row.not_measured.is_some() || row.is_sound()))
}

/// Raises the limit of open files where it is too low; the servers inherit it.
fn allow_files(needed: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    ensure!(
        limit.maximum.is_none_or(|maximum| maximum >= needed),
        "{needed} open files are needed: raise the limit (ulimit -n) or lower --connections"
    );
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).context("raising the limit of open files")
}

fn library(arguments: &RunArguments) -> Result<String> {
    let Some(path) = &arguments.lua_library else { return Ok(LIBRARY.to_owned()) };
    std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

struct Session<'a> {
    arguments: &'a RunArguments,
    scenario: &'a Scenario,
    cores: Option<Cores>,
    host: Host,
    library: String,
    interrupted: &'a AtomicBool,
}

impl Session<'_> {
    fn greet(&self) {
        if self.arguments.quiet {
            return;
        }
        match &self.cores {
            Some(cores) => eprintln!(
                "loader on core {}, system under test on core {}",
                cores.loader, cores.target
            ),
            None => {
                eprintln!("one core only: loader and system under test share it, nothing is bound")
            }
        }
    }

    fn rows(&self, targets: &[Target]) -> Result<Vec<Row>> {
        let mut entries: Vec<(Target, Option<PathBuf>, Row)> = Vec::new();
        for target in targets {
            let located = target.locate(self.scenario.kind, self.arguments.scurry_bin.as_deref());
            let mut row = self.blank(*target);
            let program = match located {
                Ok(program) => Some(program),
                Err(missing) => {
                    row.not_measured = Some(missing.to_string());
                    row.audit = format!("not measured here: {missing}");
                    None
                }
            };
            entries.push((*target, program, row));
        }
        let sizes = self.echo_sizes(targets);
        for number in 1..=self.arguments.runs {
            for (target, program, row) in &mut entries {
                let Some(program) = program else { continue };
                let run = self.one(*target, program.clone(), number, &sizes.text, row)?;
                row.runs.push(run);
            }
        }
        Ok(entries
            .into_iter()
            .map(|(target, program, mut row)| {
                if program.is_some() {
                    row.conclude();
                    self.annotate(target, &sizes, &mut row);
                }
                row
            })
            .collect())
    }

    fn one(
        &self,
        target: Target,
        program: PathBuf,
        number: u32,
        echo_sizes: &str,
        row: &mut Row,
    ) -> Result<Run> {
        let bench = self.bench(target, program, echo_sizes);
        match bench.measure(number, self.arguments.runs) {
            Ok(measured) => {
                row.version = measured.identity.version;
                row.durability = measured.identity.durability;
                Ok(measured.run)
            }
            Err(_) if self.interrupted.load(Ordering::Relaxed) => {
                bail!("interrupted; every server that was started has been stopped")
            }
            // One target that fails must not hide the others.
            Err(error) => {
                let audit = format!("failed: {error:#}");
                eprintln!("{}: {audit}", target.name());
                Ok(Run::failed(number, audit))
            }
        }
    }

    fn bench<'b>(&'b self, target: Target, program: PathBuf, echo_sizes: &'b str) -> Bench<'b> {
        Bench {
            scenario: self.scenario,
            target,
            program,
            port: self.arguments.port,
            cores: self.cores.as_ref(),
            echo_sizes,
            library: &self.library,
            interrupted: self.interrupted,
            quiet: self.arguments.quiet,
        }
    }

    /// The lengths of the echo server's answers: learnt from a real server where there is one.
    fn echo_sizes(&self, targets: &[Target]) -> EchoSizes {
        if !targets.contains(&Target::Echo) {
            return EchoSizes::default();
        }
        let Some(charging) = &self.scenario.charging else {
            return key_value(self.scenario.kv.as_ref());
        };
        let located = Target::Scurry.locate(Kind::Charging, self.arguments.scurry_bin.as_deref());
        let learnt = located.map_err(anyhow::Error::from).and_then(|program| {
            let bench = self.bench(Target::Scurry, program, "");
            let server = bench.start()?;
            learn(server.address(), charging)
        });
        learnt.unwrap_or_else(|error| built_in(&error))
    }

    fn blank(&self, target: Target) -> Row {
        let scenario = self.scenario;
        let kv = scenario.kv.as_ref();
        Row {
            scenario: scenario.name.clone(),
            target: target.name().to_owned(),
            durability: "none".to_owned(),
            load: Load {
                sessions: scenario.sessions,
                connections: scenario.connections,
                depth: scenario.depth,
                accounts: kv.map_or(scenario.accounts, |kv| kv.keys),
                seconds: scenario.seconds,
                warmup_seconds: scenario.warmup_seconds,
                seed: scenario.seed,
                ops_per_session: scenario.charging.as_ref().map(|c| c.operations().len()),
                target_core: self.cores.as_ref().map(|cores| cores.target),
                loader_core: self.cores.as_ref().map(|cores| cores.loader),
            },
            host: self.host.clone(),
            ..Row::default()
        }
    }

    fn annotate(&self, target: Target, sizes: &EchoSizes, row: &mut Row) {
        if row.figures.loader_bound == Some(true) {
            let mut note =
                "loader-bound: the loader had less than 10 % of its core left".to_owned();
            if row.figures.cpu_percent.is_some_and(|percent| percent >= BUSY_PERCENT) {
                note.push_str(", though the target's core was full as well");
            }
            row.notes.push(note);
        }
        if target.is_echo() {
            row.notes.push(sizes.origin.clone());
        }
        if let Some(path) = &self.arguments.lua_library
            && target.dialect() == Some(Dialect::Functions)
        {
            row.notes.push(format!("its Lua library is {}", path.display()));
        }
        if self.cores.is_none() {
            row.notes.push("one core: loader and system under test share it".to_owned());
        }
    }
}
