//! Runs rounds of faults on one cluster. A `u64` seed determines every random choice; only the timing of the system
//! varies.

use crate::audit::Accounts;
use crate::cluster::Cluster;
use crate::fault::Fault;
use crate::module::Module;
use crate::namespaces;
use crate::report::{Report, Row};
use crate::round::round;
use crate::wait::WatchedProcesses;
use anyhow::{Context, Result};
use scurry_model::Random;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seed of all random choices.
    pub seed: u64,
    /// Rounds of each fault.
    pub rounds: u64,
    /// Faults in this order.
    pub faults: Vec<Fault>,
    /// Reason why no node can be cut off here. None if it can.
    pub no_cut: Option<String>,
    /// Empty directory for the nodes.
    pub directory: PathBuf,
    /// Set to end the run early with an error.
    pub interrupted: Arc<AtomicBool>,
}

/// Runs all rounds. Calls `tell` with the row of each. `report` has the successful rounds even if one fails.
pub fn run(
    module: &Module,
    settings: &Settings,
    report: &mut Report,
    tell: &mut dyn FnMut(&Row),
) -> Result<()> {
    let mut cluster = Cluster::start(&settings.directory, module, &settings.interrupted)?;
    let (mut accounts, mut random) = (Accounts::default(), Random::new(settings.seed));
    for &fault in &settings.faults {
        let at = report.rows.len();
        report.rows.push(Row::new(fault));
        if fault == Fault::Cut && !namespaces::inside() {
            report.rows[at].skipped = settings.no_cut.clone();
            continue;
        }
        for number in 0..settings.rounds {
            // Each round has its own generator, so that the draws of one round do not change another.
            let mut own = Random::new(random.next_u64());
            let stem = format!("{}-{number}", fault.name());
            let shown = round(fault, &stem, &mut cluster, &mut accounts, &mut own);
            // A node that has ended explains more than the clients that missed it.
            let shown = cluster.check().and(shown);
            let shown = shown.with_context(|| {
                format!(
                    "round {} of {}, seed {}; the nodes' logs and files are in {}",
                    number + 1,
                    fault.name(),
                    settings.seed,
                    settings.directory.display()
                )
            })?;
            tell(&shown);
            report.rows[at].add(&shown);
        }
    }
    Ok(())
}
