//! Runs rounds of faults, each fault on its own group. A `u64` seed determines every random choice; only the timing of
//! the system varies.

use super::fault::Fault;
use super::member::NodeSetup;
use super::report::{Report, Row};
use super::round::round;
use super::same::Known;
use super::{Group, PLACES, faketime};
use crate::wait::WatchedProcesses;
use anyhow::{Context, Result};
use scurry_crash::{Binary, Shared, linear};
use scurry_model::Random;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Groups with networks at a time: their addresses are of one network, whose last address is the test's own.
const GROUPS_MAX: usize = 60;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seed of all random choices.
    pub seed: u64,
    /// Rounds of each fault.
    pub rounds: u64,
    /// Faults in this order.
    pub faults: Vec<Fault>,
    /// True if nodes speak TLS with each other and with clients.
    pub tls: bool,
    /// Reason why nodes cannot have their own networks here. None if they can.
    pub no_network: Option<String>,
    /// Empty directory for the nodes.
    pub directory: PathBuf,
    /// Number of groups that this process has started before. Their networks may still exist for a moment.
    pub groups_before: usize,
    /// Set to end the run early with an error.
    pub interrupted: Arc<AtomicBool>,
}

/// Runs all rounds, and checks the histories at the end. Calls `tell` with the row of each round. `report` has the
/// successful rounds even if one fails.
pub fn run(
    binary: &Binary,
    settings: &Settings,
    report: &mut Report,
    tell: &mut dyn FnMut(&Row),
) -> Result<()> {
    let histories = settings.directory.join("histories");
    std::fs::create_dir_all(&histories).context("no place for the histories")?;
    let mut random = Random::new(settings.seed);
    let (mut epoch, mut calls) = (0, 0);
    for &fault in &settings.faults {
        let at = report.rows.len();
        report.rows.push(Row::new(fault));
        let no_network = settings.no_network.clone().filter(|_| fault.needs_networks());
        let why = match no_network {
            Some(why) => Some(why),
            None => {
                let possible = fault.disk().possible(&settings.directory);
                possible.and_then(|()| fault.possible()).err().map(|why| format!("{why:#}"))
            }
        };
        let clock = fault.sets_clocks().then(faketime).transpose();
        let why = why.or(clock.as_ref().err().map(|why| format!("{why:#}")));
        if why.is_some() {
            report.rows[at].skipped = why;
            continue;
        }
        let directory = settings.directory.join(fault.name());
        let tls = settings.tls && fault.allows_tls();
        let setup = NodeSetup { tls, ..NodeSetup::of_round(fault.disk(), clock?) };
        let interrupted = &settings.interrupted;
        let place = (settings.groups_before + at) % GROUPS_MAX * PLACES;
        let mut group = Group::start(&directory, binary, &setup, place, interrupted)?;
        let mut known = Known::default();
        for number in 0..settings.rounds {
            // Each round has its own generator, so that the draws of one round do not change another.
            let mut own = Random::new(random.next_u64());
            let stem = format!("{}-{number}", fault.name());
            let shared = Shared::new(epoch);
            let shown = round(fault, &stem, &mut group, &mut known, &shared, &mut own);
            calls += linear::write(&histories, epoch, shared)?;
            epoch += 1;
            // A node that has ended explains more than the clients that missed it.
            let shown = group.check().and(shown);
            let shown = shown.with_context(|| {
                format!(
                    "round {} of {}, seed {}; the nodes' logs and files are in {}",
                    number + 1,
                    fault.name(),
                    settings.seed,
                    directory.display()
                )
            })?;
            let mut shown = shown;
            if tls {
                shown.remarks.push("with TLS".to_owned());
            }
            tell(&shown);
            report.rows[at].add(&shown);
        }
        // Nodes preallocate much space, which is no longer needed.
        drop(group);
        std::fs::remove_dir_all(&directory).with_context(|| format!("{}", directory.display()))?;
    }
    linear::check(&histories)?;
    report.calls = calls;
    Ok(())
}
