//! `scurry-lab run`: runs every target in turn, as often as requested, alternating, so that a machine that slows down
//! affects all of them.

mod entry;
mod notes;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::arguments::{RunArguments, SoakArguments};
use crate::clock::Clock;
use crate::cores::{Allowed, Cores};
use crate::data_directory::DataDirectory;
use crate::echo_sizes::{EchoSizes, built_in, key_value, measure_reply_sizes};
use crate::fleet::{GROUP_COPIES, GROUP_NODES};
use crate::host::Host;
use crate::measure::{Bench, Copies, KeptSystem};
use crate::over_rdma::OverRdma;
use crate::progress::{RunCount, tell};
use crate::report;
use crate::routes::Ports;
use crate::row::{Report, Row, Run, compare};
use crate::scenario::{Scenario, ScenarioKind};
use crate::snapshotter::Snapshots;
use crate::target::{Durability, ScurryOptions, Target, Variant};
use crate::testbed::{allow_files, catch_signals, write_json};
use entry::RunEntry;

/// Open files that a run needs beside one per connection.
const FILES_SPARE: u64 = 200;

/// Runs a scenario without faults, prints the table, and reports whether every measured target passed its audit.
///
/// # Errors
/// When the arguments contradict each other, or no target could be measured.
pub fn run(arguments: &RunArguments) -> Result<bool> {
    let steps = arguments.scenarios()?;
    ensure!(
        !steps.iter().any(Scenario::is_fault),
        "{0} is a fault: say `scurry-lab faults {0}`",
        arguments.scenario
    );
    show(arguments, &steps)
}

/// Runs like [`run`], for a scenario with a fault of a node or its disk.
///
/// # Errors
/// As [`run`].
pub fn faults(arguments: &RunArguments) -> Result<bool> {
    let steps = arguments.scenarios()?;
    ensure!(
        steps.iter().all(Scenario::is_fault),
        "{0} has no fault: say `scurry-lab run {0}`",
        arguments.scenario
    );
    show(arguments, &steps)
}

/// Repeats a scenario for the given minutes, each round with its own seed on fresh servers, until a target fails.
///
/// # Errors
/// As [`run`].
pub fn soak(arguments: &SoakArguments) -> Result<bool> {
    let mut steps = arguments.run.scenarios()?;
    let (clock, minutes) = (Clock::start(), arguments.minutes()?);
    for round in 1.. {
        let is_sound = show(&arguments.run, &steps)?;
        println!("round {round} ended after {:.1} minutes", clock.elapsed().as_secs_f64() / 60.0);
        if !is_sound || clock.elapsed() >= minutes {
            return Ok(is_sound);
        }
        steps.iter_mut().for_each(|step| step.seed = step.seed.wrapping_add(1));
    }
    Ok(true)
}

fn show(arguments: &RunArguments, steps: &[Scenario]) -> Result<bool> {
    let first = steps.first().context("a scenario has no steps")?;
    let report = measure(arguments, steps, None)?;
    print!("{}", report::render(first, &report)?);
    write_json(arguments.common.json.as_deref(), &report)?;
    if report.rows.iter().all(|row| row.not_measured.is_some()) {
        bail!("no target could be measured here");
    }
    Ok(report.rows.iter().all(|row| row.not_measured.is_some() || row.is_sound()))
}

/// Measures the targets under the steps of a scenario. After the first round a target runs again only if it would end
/// `within` this time, judging by its last round.
///
/// # Errors
/// When the arguments contradict each other, or the run is interrupted.
pub(crate) fn measure(
    arguments: &RunArguments,
    steps: &[Scenario],
    within: Option<Duration>,
) -> Result<Report> {
    let first = steps.first().context("a scenario has no steps")?;
    let targets = arguments.targets(first)?;
    let scurry = arguments.scurry()?;
    let connections = steps.iter().map(|step| step.connections).max().unwrap_or(0);
    allow_files(u64::from(connections) + FILES_SPARE)?;
    let interrupted = catch_signals()?;
    // Restores the affinity at the end, so that the next scenario may use these cores again.
    let _allowed = Allowed::look()?;
    let mut session = RunCommand {
        arguments,
        scenario: first,
        clock: Clock::start(),
        within,
        one_core: Cores::choose(1)?,
        cores: Cores::choose(scurry.threads.or(first.target_cores).unwrap_or(1) as usize)?,
        scurry,
        place: DataDirectory::find(arguments.common.directory.as_deref())?,
        rdma: arguments.over_rdma()?,
        host: Host::look(),
        library: library(arguments)?,
        interrupted: &interrupted,
    };
    session.greet();
    let mut parts = Vec::new();
    for step in steps {
        session.scenario = step;
        parts.push(session.part(&targets));
    }
    session.rounds(&mut parts)?;
    let mut rows = Vec::new();
    for part in parts {
        let mut more = session.conclude(part);
        compare(&mut more);
        rows.extend(more);
    }
    Ok(Report { rows })
}

fn library(arguments: &RunArguments) -> Result<Option<String>> {
    let Some(path) = &arguments.lua_library else { return Ok(None) };
    let text = std::fs::read_to_string(path);
    text.map(Some).with_context(|| format!("reading {}", path.display()))
}

struct RunCommand<'a> {
    arguments: &'a RunArguments,
    scenario: &'a Scenario,
    clock: Clock,
    /// Time by which every run after the first round must end.
    within: Option<Duration>,
    /// Core assignment of targets with one thread.
    one_core: Option<Cores>,
    /// Core assignment of scurry.
    cores: Option<Cores>,
    scurry: ScurryOptions,
    place: DataDirectory,
    rdma: Option<OverRdma>,
    host: Host,
    library: Option<String>,
    interrupted: &'a AtomicBool,
}

/// One step of a scenario and its rows so far; all steps have the same targets.
struct ReportPart<'a> {
    scenario: &'a Scenario,
    sizes: EchoSizes,
    entries: Vec<RunEntry>,
}

impl<'a> RunCommand<'a> {
    fn greet(&self) {
        if self.arguments.common.quiet {
            return;
        }
        match &self.cores {
            Some(cores) => eprintln!(
                "loader on core {}, system under test on core {}",
                cores.loader,
                joined(&cores.target)
            ),
            None => {
                eprintln!("one core only: loader and system under test share it, nothing is bound")
            }
        }
    }

    fn part(&self, targets: &[Variant]) -> ReportPart<'a> {
        let entries = targets.iter().flat_map(|target| self.entries(*target)).collect();
        ReportPart { scenario: self.scenario, sizes: self.echo_sizes(targets), entries }
    }

    /// Runs one target after the other under every step, and repeats all of that as often as requested.
    fn rounds(&mut self, parts: &mut [ReportPart<'a>]) -> Result<()> {
        let targets = parts.first().map_or(0, |part| part.entries.len());
        let all = parts.iter().flat_map(|part| &part.entries);
        let measurable = u32::try_from(all.filter(|entry| entry.program.is_some()).count())?;
        let mut step = RunCount { of: self.arguments.runs * measurable, ..RunCount::default() };
        let mut taken = vec![Duration::ZERO; targets];
        for number in 1..=self.arguments.runs {
            for (at, taken) in taken.iter_mut().enumerate() {
                let begun = self.clock.elapsed();
                if number > 1
                    && self.within.is_some_and(|within| begun.saturating_add(*taken) > within)
                {
                    // Skip it in later rounds too, so that runs of one number belong together.
                    *taken = Duration::MAX;
                    continue;
                }
                let mut standing = KeptSystem::default();
                for part in &mut *parts {
                    self.scenario = part.scenario;
                    let entry = &mut part.entries[at];
                    if entry.program.is_some() {
                        self.one(entry, number, &part.sizes.text, &mut standing, step)?;
                        step.done += 1;
                        step.taken = self.clock.elapsed();
                    }
                }
                // Stop a system that was kept for reuse before the next target starts.
                drop(standing);
                *taken = self.clock.elapsed().saturating_sub(begun);
            }
        }
        Ok(())
    }

    fn conclude(&mut self, part: ReportPart<'a>) -> Vec<Row> {
        self.scenario = part.scenario;
        let row = |mut entry: RunEntry| {
            if entry.program.is_some() {
                entry.row.conclude();
                self.annotate(entry.variant.target, &part.sizes, &mut entry.row);
            }
            entry.row
        };
        part.entries.into_iter().map(row).collect()
    }

    fn one(
        &self,
        entry: &mut RunEntry,
        number: u32,
        echo_sizes: &str,
        standing: &mut KeptSystem,
        step: RunCount,
    ) -> Result<()> {
        let Some(program) = entry.program.clone() else { return Ok(()) };
        let Variant { target, durability, .. } = entry.variant;
        let bench = self.bench(target, entry.ports, program, echo_sizes);
        let copies = Copies { replicas: self.replicas(entry.variant), ..bench.copies };
        let bench = Bench { durability, copies, step, ..bench };
        let row = &mut entry.row;
        let runs = self.arguments.runs;
        let clock = Clock::start();
        let run = match bench.measure_on(standing, number, runs) {
            Ok(measured) => {
                row.version = measured.identity.version;
                row.configuration = measured.configuration;
                row.durability = measured.identity.durability;
                measured.run
            }
            // An interrupt ends the whole run; any other error belongs to the row.
            Err(_) if self.interrupted.load(Ordering::Relaxed) => {
                bail!("interrupted; every server that was started has been stopped")
            }
            // One target that fails must not hide the results of the others.
            Err(error) => {
                let audit = format!("failed: {error:#}");
                eprintln!("{}: {audit}", row.target);
                Run::failed(number, audit)
            }
        };
        if !self.arguments.common.quiet {
            let (title, target) = (row.title(), &row.target);
            let name = format!("{title}, {target}, run {number}/{runs}");
            tell(&name, &run.audit, clock.elapsed());
        }
        row.runs.push(run);
        Ok(())
    }

    /// Returns the bench of a run without durability.
    fn bench<'b>(
        &'b self,
        target: Target,
        ports: Ports,
        program: PathBuf,
        echo_sizes: &'b str,
    ) -> Bench<'b> {
        Bench {
            rdma: self.rdma.as_ref(),
            scenario: self.scenario,
            target,
            durability: Durability::None,
            place: &self.place.path,
            snapshots: Snapshots::None,
            revives: false,
            address: self.arguments.address_of(target),
            program,
            cores: self.placement(target),
            scurry: &self.scurry,
            ports,
            copies: Copies { replicas: 0, acknowledged: self.asked_copies(target) },
            echo_sizes,
            library: self.library.as_deref(),
            interrupted: self.interrupted,
            step: RunCount::default(),
            quiet: self.arguments.common.quiet,
        }
    }

    fn wanted_replicas(&self) -> u32 {
        self.arguments.replicas.unwrap_or(self.scenario.replicas)
    }

    /// Returns the number of replicas of a target.
    fn replicas(&self, variant: Variant) -> u32 {
        if variant.target.is_group() {
            return GROUP_NODES - 1;
        }
        let has_them = variant.target.replicates_with(variant.durability, self.scenario.kind);
        if has_them { self.wanted_replicas() } else { 0 }
    }

    /// Returns the copies required for an acknowledgement; None when not required.
    fn acknowledged_copies(&self, variant: Variant) -> Option<u32> {
        let target = variant.target;
        if target.is_group() {
            return Some(GROUP_COPIES);
        }
        // The data nodes of NDB commit together or not at all.
        let together =
            Some(1 + self.replicas(variant)).filter(|copies| target.is_ndb() && *copies > 1);
        together.or_else(|| self.asked_copies(target))
    }

    /// Returns the copies for which a client has to send WAIT.
    fn asked_copies(&self, target: Target) -> Option<u32> {
        let failover = self.scenario.failover.as_ref().map(|failover| failover.copies);
        let asked = self.arguments.acknowledged_copies.or(failover.filter(|copies| *copies > 1));
        asked.filter(|_| target.replicates())
    }

    fn placement(&self, target: Target) -> Option<&Cores> {
        let has_more = target.is_scurry() || self.scenario.target_cores.is_some();
        if has_more { self.cores.as_ref() } else { self.one_core.as_ref() }
    }

    /// Returns the reply sizes of the echo server, measured on a real server if there is one.
    fn echo_sizes(&self, targets: &[Variant]) -> EchoSizes {
        if !targets.iter().any(|variant| variant.target.is_echo()) {
            return EchoSizes::default();
        }
        let Some(charging) = &self.scenario.charging else {
            return key_value(self.scenario.kv.as_ref());
        };
        let scurry = self.arguments.common.scurry_bin.as_deref();
        let located = Target::Scurry.locate(ScenarioKind::Charging, scurry);
        let learnt = located.map_err(anyhow::Error::from).and_then(|program| {
            let server = self.bench(Target::Scurry, Ports::Main, program, "").start()?;
            measure_reply_sizes(server.first().address(), charging)
        });
        learnt.unwrap_or_else(|error| built_in(&error))
    }
}

/// Joins core numbers as text.
fn joined(cores: &[usize]) -> String {
    cores.iter().map(usize::to_string).collect::<Vec<_>>().join(" and ")
}
