//! `scurry-lab ladder`: the same session loop through one layer more at a time, so that each
//! layer's price stands beside that of the one below.

mod engine;
mod in_process;
mod ledger;
mod loopback;
mod meter;
mod report;
mod session_loop;
mod store;

use anyhow::{Context, Result};

use crate::arguments::LadderArguments;
use crate::cores::bind_this_thread;
use crate::progress::Progress;
use crate::scenario::{Charging, Scenario};
use crate::testbed::{Testbed, allow_files, write_json};
use engine::EngineRung;
use in_process::InProcessRung;
use ledger::LedgerRung;
use loopback::{FORMS, Loopback};
use meter::{Rung, measure};
pub use report::{Ladder, Point, RungRow};
pub(crate) use session_loop::{Population, SessionLoop};
pub(crate) use store::{EPOCH, HASH_SEED, Store};

/// Sessions that take turns on the rungs without sockets: as many as the pipelined form has.
const SESSIONS: u32 = 3_200;
const FILES: u64 = 1_000;

/// Measures every rung, prints the ladder and writes it.
///
/// # Errors
/// When a rung cannot be measured, or loses a unit: a ladder with a gap says nothing.
pub fn ladder(arguments: &LadderArguments) -> Result<()> {
    arguments.check()?;
    allow_files(FILES)?;
    let testbed = Testbed::prepare(&arguments.common)?;
    let mut scenario = Scenario::built_in("moaf-scur")?;
    scenario.accounts = arguments.accounts;
    scenario.seconds = arguments.seconds;
    scenario.warmup_seconds = (arguments.seconds / 3.0).min(2.0);
    let climb = Climb { arguments, testbed: &testbed, scenario: &scenario };
    let mut ladder = Ladder {
        accounts: arguments.accounts,
        seconds: arguments.seconds,
        target_core: testbed.cores.as_ref().and_then(|cores| cores.target.first().copied()),
        host: testbed.host.clone(),
        rungs: climb.rungs()?,
    };
    ladder.compare();
    print!("{}", ladder.render());
    write_json(arguments.common.json.as_deref(), &ladder)
}

struct Climb<'a> {
    arguments: &'a LadderArguments,
    testbed: &'a Testbed,
    scenario: &'a Scenario,
}

impl Climb<'_> {
    /// All rungs from the lowest, each run of all of them before the next run.
    fn rungs(&self) -> Result<Vec<RungRow>> {
        let charging = self.scenario.charging.as_ref().context("the scenario is no charging")?;
        let loopback = Loopback::new(self.testbed, self.scenario)?;
        let mut points: Vec<Vec<Point>> = vec![Vec::new(); 3 + 2 * FORMS.len()];
        for run in 1..=self.arguments.runs {
            for (rung, points) in points.iter_mut().enumerate() {
                let point = match rung.checked_sub(3) {
                    None => self.inside(charging, rung, run)?,
                    Some(above) => loopback.run(above / 2, above % 2 == 1, run)?,
                };
                points.push(point);
            }
        }
        let names = ["ledger", "engine", "in-process"].map(str::to_owned).into_iter();
        let names = names.chain(
            FORMS
                .iter()
                .flat_map(|form| ["loopback", "echo"].map(|name| format!("{name} {}", form.name))),
        );
        let below = |name: &str| match name {
            "engine" => Some("ledger"),
            "in-process" => Some("engine"),
            name if name.starts_with("loopback") => Some("in-process"),
            _ => None,
        };
        Ok(names
            .zip(points)
            .map(|(name, points)| RungRow::new(&name, below(&name), points))
            .collect())
    }

    /// One run of a rung without sockets, on the core where the server will run.
    fn inside(&self, charging: &Charging, rung: usize, run: u32) -> Result<Point> {
        if let Some(core) = self.testbed.cores.as_ref().and_then(|cores| cores.target.first()) {
            bind_this_thread(*core)?;
        }
        let (accounts, seed) = (self.arguments.accounts, self.scenario.seed);
        let population = Population { accounts, sessions: SESSIONS, seed };
        let mut rung: Box<dyn Rung> = match rung {
            0 => Box::new(LedgerRung::new(charging, seed)?),
            1 => Box::new(EngineRung::new(charging, population)?),
            _ => Box::new(InProcessRung::new(charging, population)?),
        };
        let name = rung.name();
        let seconds = self.arguments.seconds;
        let point = measure(rung.as_mut(), run, seconds, &self.testbed.interrupted)
            .with_context(|| format!("the {name} rung"))?;
        let progress = Progress::new(
            &format!("run {run}/{} {name}", self.arguments.runs),
            self.testbed.quiet,
            0.0,
        );
        progress.note(&format!("{:.0} ops/s", point.operations_per_s));
        Ok(point)
    }
}
