//! `scurry-lab run`: every target in turn, as often as asked, alternating, so that a machine
//! that slows down slows all of them down.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::arguments::RunArguments;
use crate::clock::Clock;
use crate::cores::Cores;
use crate::dialect::Dialect;
use crate::echo_sizes::{EchoSizes, built_in, key_value, learn};
use crate::host::Host;
use crate::log_growth::LogGrowth;
use crate::measure::{Bench, Copies};
use crate::place::Place;
use crate::progress::Step;
use crate::report;
use crate::routes::Door;
use crate::row::{Load, Report, Row, Run, compare};
use crate::scenario::{Kind, Scenario};
use crate::stand::Stand;
use crate::target::{Durability, ScurryOptions, Target, Variant};
use crate::testbed::{allow_files, catch_signals, write_json};

/// A target that uses this much of its core has none left, within the precision of the figure.
const BUSY_PERCENT: f64 = 95.0;
/// An open loop that answers less than this share of its rate has not kept it.
const KEPT_RATE_MIN: f64 = 0.99;
/// Interrupts are no work of others; above this it was more than those.
const OTHER_PERCENT_MAX: f64 = 25.0;
/// Files that a run needs beside one per connection.
const FILES_SPARE: u64 = 200;

/// Runs everything, prints the table, and says whether every target that was measured passed
/// its audit.
///
/// # Errors
/// When the arguments contradict each other, or no target could be measured.
pub fn run(arguments: &RunArguments) -> Result<bool> {
    let scenario = arguments.scenario()?;
    let report = measure(arguments, &scenario, None)?;
    print!("{}", report::render(&scenario, &report)?);
    write_json(arguments.common.json.as_deref(), &report)?;
    if report.rows.iter().all(|row| row.not_measured.is_some()) {
        bail!("no target could be measured here");
    }
    Ok(report.rows.iter().all(|row| row.not_measured.is_some() || row.is_sound()))
}

/// Measures the targets under a scenario. No round of runs begins after `within`, but the first.
///
/// # Errors
/// When the arguments contradict each other, or the run is interrupted.
pub(crate) fn measure(
    arguments: &RunArguments,
    scenario: &Scenario,
    within: Option<Duration>,
) -> Result<Report> {
    let targets = arguments.targets()?;
    let scurry = arguments.scurry()?;
    allow_files(u64::from(scenario.connections) + FILES_SPARE)?;
    let interrupted = catch_signals()?;
    let session = Session {
        arguments,
        scenario,
        clock: Clock::start(),
        within,
        one_core: Cores::choose(1)?,
        cores: Cores::choose(scurry.threads.unwrap_or(1) as usize)?,
        scurry,
        place: Place::find(arguments.common.directory.as_deref())?,
        stand: Stand::build(arguments.stand)?,
        host: Host::look(),
        library: library(arguments)?,
        interrupted: &interrupted,
    };
    session.greet();
    let mut rows = session.rows(&targets)?;
    compare(&mut rows);
    Ok(Report { rows })
}

fn library(arguments: &RunArguments) -> Result<Option<String>> {
    let Some(path) = &arguments.lua_library else { return Ok(None) };
    let text = std::fs::read_to_string(path);
    text.map(Some).with_context(|| format!("reading {}", path.display()))
}

struct Session<'a> {
    arguments: &'a RunArguments,
    scenario: &'a Scenario,
    clock: Clock,
    /// No round of runs begins later, but the first.
    within: Option<Duration>,
    /// The placement of targets that have one thread.
    one_core: Option<Cores>,
    /// The placement of scurry.
    cores: Option<Cores>,
    scurry: ScurryOptions,
    place: Place,
    stand: Stand,
    host: Host,
    library: Option<String>,
    interrupted: &'a AtomicBool,
}

/// A target on its way to a row.
struct Entry {
    variant: Variant,
    door: Door,
    /// None where it cannot be measured.
    program: Option<PathBuf>,
    row: Row,
}

impl Session<'_> {
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

    fn rows(&self, targets: &[Variant]) -> Result<Vec<Row>> {
        let mut entries: Vec<Entry> =
            targets.iter().flat_map(|target| self.entries(*target)).collect();
        let sizes = self.echo_sizes(targets);
        let measurable = entries.iter().filter(|entry| entry.program.is_some()).count();
        let mut step =
            Step { of: self.arguments.runs * u32::try_from(measurable)?, ..Step::default() };
        for number in 1..=self.arguments.runs {
            if number > 1 && self.within.is_some_and(|within| self.clock.elapsed() >= within) {
                break;
            }
            for entry in entries.iter_mut().filter(|entry| entry.program.is_some()) {
                self.one(entry, number, &sizes.text, step)?;
                step.done += 1;
                step.taken = self.clock.elapsed();
            }
        }
        for entry in &mut entries {
            if entry.program.is_some() {
                entry.row.conclude();
                self.annotate(entry.variant.target, &sizes, &mut entry.row);
            }
        }
        Ok(entries.into_iter().map(|entry| entry.row).collect())
    }

    /// One of each target, and one of scurry for each door.
    fn entries(&self, variant: Variant) -> Vec<Entry> {
        let target = variant.target;
        let doors: &[Door] =
            if target == Target::Scurry { &self.arguments.doors } else { &[Door::Main] };
        let entry = |door: &Door| {
            let scurry = self.arguments.common.scurry_bin.as_deref();
            let there = self.arguments.address_of(target);
            let located = match there {
                // Nothing is started there.
                Some(_) => target.charges_itself(self.scenario.kind).map(|()| PathBuf::new()),
                None => target.locate(self.scenario.kind, scurry),
            };
            let located = located.and_then(|program| {
                if variant.durability.keeps() {
                    self.place.check()?
                }
                Ok(program)
            });
            let located = located.and_then(|program| {
                target.meets_on(self.arguments.stand)?;
                Ok(program)
            });
            let mut row = self.blank(variant, *door);
            if let Err(missing) = &located {
                row.not_measured = Some(missing.to_string());
                row.audit = format!("not measured here: {missing}");
            }
            Entry { variant, door: *door, program: located.ok(), row }
        };
        doors.iter().map(entry).collect()
    }

    fn one(&self, entry: &mut Entry, number: u32, echo_sizes: &str, step: Step) -> Result<()> {
        let Some(program) = entry.program.clone() else { return Ok(()) };
        let Variant { target, durability, .. } = entry.variant;
        let bench =
            Bench { durability, step, ..self.bench(target, entry.door, program, echo_sizes) };
        let row = &mut entry.row;
        row.runs.push(match bench.measure(number, self.arguments.runs) {
            Ok(measured) => {
                row.version = measured.identity.version;
                row.configuration = measured.configuration;
                row.durability = measured.identity.durability;
                measured.run
            }
            Err(_) if self.interrupted.load(Ordering::Relaxed) => {
                bail!("interrupted; every server that was started has been stopped")
            }
            // One target that fails must not hide the others.
            Err(error) => {
                let audit = format!("failed: {error:#}");
                eprintln!("{}: {audit}", row.target);
                Run::failed(number, audit)
            }
        });
        Ok(())
    }

    /// One that keeps nothing.
    fn bench<'b>(
        &'b self,
        target: Target,
        door: Door,
        program: PathBuf,
        echo_sizes: &'b str,
    ) -> Bench<'b> {
        Bench {
            stand: &self.stand,
            scenario: self.scenario,
            target,
            durability: Durability::None,
            place: &self.place.path,
            snapshots: false,
            address: self.arguments.address_of(target),
            program,
            port: self.arguments.port,
            cores: self.placement(target),
            scurry: &self.scurry,
            door,
            copies: Copies {
                replicas: if target.replicates() { self.arguments.replicas } else { 0 },
                acknowledged: self.arguments.acknowledged_copies.filter(|_| target.replicates()),
            },
            echo_sizes,
            library: self.library.as_deref(),
            interrupted: self.interrupted,
            step: Step::default(),
            quiet: self.arguments.common.quiet,
        }
    }

    fn placement(&self, target: Target) -> Option<&Cores> {
        if target == Target::Scurry { self.cores.as_ref() } else { self.one_core.as_ref() }
    }

    /// The lengths of the echo server's answers: learnt from a real server where there is one.
    fn echo_sizes(&self, targets: &[Variant]) -> EchoSizes {
        if !targets.iter().any(|variant| variant.target.is_echo()) {
            return EchoSizes::default();
        }
        let Some(charging) = &self.scenario.charging else {
            return key_value(self.scenario.kv.as_ref());
        };
        let scurry = self.arguments.common.scurry_bin.as_deref();
        let located = Target::Scurry.locate(Kind::Charging, scurry);
        let learnt = located.map_err(anyhow::Error::from).and_then(|program| {
            let server = self.bench(Target::Scurry, Door::Main, program, "").start()?;
            learn(server.first().address(), charging)
        });
        learnt.unwrap_or_else(|error| built_in(&error))
    }

    fn blank(&self, variant: Variant, door: Door) -> Row {
        let target = variant.target;
        let scenario = self.scenario;
        let kv = scenario.kv.as_ref();
        let cores = self.placement(target);
        let is_scurry = target == Target::Scurry;
        let is_addressed = self.arguments.address_of(target).is_some();
        // The plain name is that of the plain way in.
        let name = match door {
            Door::Main => variant.name(),
            Door::Cores => format!("{} {}", variant.name(), door.name()),
        };
        Row {
            scenario: scenario.name.clone(),
            target: name,
            // Until the server has said it.
            durability: "unknown".to_owned(),
            filesystem: (variant.durability.keeps() && !is_addressed)
                .then(|| self.place.filesystem.clone()),
            load: Load {
                sessions: scenario.sessions,
                connections: scenario.connections,
                depth: scenario.depth,
                rate: scenario.rate,
                accounts: kv.map_or(scenario.accounts, |kv| kv.keys),
                seconds: scenario.seconds,
                warmup_seconds: scenario.warmup_seconds,
                seed: scenario.seed,
                ops_per_session: scenario.charging.as_ref().map(|c| c.operations().len()),
                threads: self.scurry.threads.filter(|_| is_scurry),
                door: is_scurry.then(|| door.name().to_owned()),
                target_cores: cores
                    .filter(|_| !is_addressed)
                    .map(|cores| cores.target.clone())
                    .unwrap_or_default(),
                loader_core: cores.map(|cores| cores.loader),
            },
            replicas: if target.replicates() { self.arguments.replicas } else { 0 },
            acknowledged_copies: self.arguments.acknowledged_copies.filter(|_| target.replicates()),
            host: self.host.clone(),
            stand: self.arguments.stand.name().to_owned(),
            ..Row::default()
        }
    }

    fn annotate(&self, target: Target, sizes: &EchoSizes, row: &mut Row) {
        let shared = self.placement(target).is_none_or(Cores::are_shared);
        if row.figures.loader_bound == Some(true) {
            let mut note =
                "loader-bound: the loader had less than 10 % of its core left".to_owned();
            if row.figures.cpu_percent.is_some_and(|percent| percent >= BUSY_PERCENT) {
                note.push_str(", though the target's core was full as well");
            }
            row.notes.push(note);
        }
        if let Some(percent) = other_work(row) {
            row.notes.push(format!(
                "other work took {percent:.0} % of a core meanwhile: the figures are disturbed"
            ));
        }
        let rate = row.figures.business_ops_per_s;
        if let (Some(wanted), Some(found)) = (row.load.rate, rate)
            && found < wanted * KEPT_RATE_MIN
        {
            row.notes.push(format!("did not keep the rate of {wanted} requests/s"));
        }
        if let Some(filesystem) = &row.filesystem {
            row.notes.push(format!("keeps its data on {filesystem}"));
        }
        row.notes.extend(row.figures.log.as_ref().map(LogGrowth::words));
        if target.is_echo() {
            row.notes.push(sizes.origin.clone());
        }
        if let Some(address) = self.arguments.address_of(target) {
            row.notes.push(format!(
                "at {address}: the lab neither started nor bound it, and does not see its CPU and memory"
            ));
        }
        if target.jvm_system().is_some() {
            row.notes.push(
                "loaded by its own client in a driver, whose CPU stands for the loader's"
                    .to_owned(),
            );
        }
        if matches!(target, Target::HazelcastJava | Target::HazelcastClient) {
            row.notes.push("its persistence is of the Enterprise edition only".to_owned());
        }
        if target.decides_in_client() {
            row.notes.push(
                "the rules run in the loader: CPU % and CPU us/op are the store's share alone"
                    .to_owned(),
            );
        }
        if let Some(path) = &self.arguments.lua_library
            && target.dialect() == Some(Dialect::Functions)
        {
            row.notes.push(format!("its Lua library is {}", path.display()));
        }
        if target == Target::Scurry && !self.scurry.arguments.is_empty() {
            row.notes.push(format!("started with {}", self.scurry.arguments.join(" ")));
        }
        if let Some(cpu) = row.figures.replica_cpu_us_per_op {
            let place =
                if self.placement(target).is_some() { ", on the loader's core" } else { "" };
            row.notes.push(format!("its replicas take {cpu:.2} us of CPU an operation{place}"));
        } else if self.arguments.replicas > 0 && !target.replicates() {
            row.notes.push("it has no replicas: --replicas is for Valkey and Redis".to_owned());
        }
        if let (Some(copies), Some(short)) =
            (row.acknowledged_copies, row.figures.not_enough_copies)
        {
            row.notes.push(format!(
                "acknowledged on {copies} copies, by a WAIT behind each batch; not enough \
                 replicas for {short} operations"
            ));
        }
        if target.is_cluster() {
            row.notes.push("3 primaries on the cores of the target".to_owned());
        }
        if target.is_yardstick() {
            row.notes.push("an HSET of four fields in the place of each operation".to_owned());
        }
        if target != Target::Scurry && self.scurry.threads.is_some_and(|threads| threads > 1) {
            row.notes.push("one thread: --threads is scurry's".to_owned());
        }
        if shared {
            row.notes.push(
                "loader and system under test share a core: compare CPU per operation, not \
                 throughput"
                    .to_owned(),
            );
        }
    }
}

/// What ran on the cores of the loader and of the target beside these two, 100 per core; none where it
/// is little, or not known.
fn other_work(row: &Row) -> Option<f64> {
    let figures = &row.figures;
    let is_ours =
        |core: usize| row.load.loader_core == Some(core) || row.load.target_cores.contains(&core);
    // What replicas take is on the loader's core too, and told apart.
    if row.load.loader_core.is_none() || row.replicas > 0 || figures.core_use.is_empty() {
        return None;
    }
    let busy: f64 =
        figures.core_use.iter().filter(|one| is_ours(one.core)).map(|one| one.busy_percent).sum();
    let other = busy - figures.cpu_percent? - (100.0 - figures.loader_idle_percent?);
    (other > OTHER_PERCENT_MAX).then_some(other)
}

/// Numbers of cores as text.
fn joined(cores: &[usize]) -> String {
    cores.iter().map(usize::to_string).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Figures;
    use crate::sampler::CoreUse;

    #[test]
    fn work_of_others_is_what_neither_loader_nor_target_did() {
        let core = |core, busy_percent| CoreUse { core, busy_percent, ..CoreUse::default() };
        let row = |core_use: Vec<CoreUse>| Row {
            load: Load { loader_core: Some(0), target_cores: vec![1], ..Load::default() },
            figures: Figures {
                cpu_percent: Some(90.0),
                loader_idle_percent: Some(60.0),
                core_use,
                ..Figures::default()
            },
            ..Row::default()
        };
        assert_eq!(other_work(&row(vec![core(0, 45.0), core(1, 99.0)])), None);
        let disturbed = row(vec![core(0, 99.0), core(1, 99.0), core(2, 99.0)]);
        assert_eq!(other_work(&disturbed), Some(68.0));
        assert_eq!(other_work(&row(vec![])), None);
    }
}
