//! Rounds of faults on one cluster; one `u64` is all that they draw but for the moments at which the
//! system lets things happen.

use crate::audit::Accounts;
use crate::cluster::Cluster;
use crate::fault::Fault;
use crate::module::Module;
use crate::namespaces;
use crate::report::{Report, Row};
use crate::round::round;
use crate::wait::Watched;
use anyhow::{Context, Result};
use scurry_model::Random;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How a run is made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The whole of it.
    pub seed: u64,
    /// Rounds of each fault.
    pub rounds: u64,
    /// In this order.
    pub faults: Vec<Fault>,
    /// Why no node can be cut off here; none where it can.
    pub no_cut: Option<String>,
    /// An empty directory for the nodes.
    pub directory: PathBuf,
    /// Ends the run early, with an error.
    pub interrupted: Arc<AtomicBool>,
}

/// Runs all rounds. `tell` gets the row of each, and `report` has those that went well also when one
/// did not.
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
            // What others draw has no say in this one.
            let mut own = Random::new(random.next_u64());
            let stem = format!("{}-{number}", fault.name());
            let shown = round(fault, &stem, &mut cluster, &mut accounts, &mut own);
            // A node that has ended says more than who has missed it.
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
