//! What the cores have counted, as metrics. Labels have few values: cores, commands of the table,
//! kinds of memory, units (of which a store has as many as its accounts use).

pub(crate) mod exposition;
mod parts;

use crate::mail::report::CoreReport;
use crate::metrics::exposition::{Exposition, Kind};
use crate::settings::Settings;
use crate::shared::Shared;
use parts::{accounts, commands, log, memory, process, rdma, totals};
use std::sync::Arc;

/// Reports of the cores for one page of metrics.
pub struct Measurement {
    /// By core; none for one that has not answered in time.
    pub(crate) cores: Vec<Option<CoreReport>>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) password_hashes: u64,
}

impl Measurement {
    /// Why the server should get no work at present; none when it should.
    pub fn trouble(&self) -> Option<String> {
        for (core, report) in self.cores.iter().enumerate() {
            let Some(CoreReport { report, .. }) = report else {
                return Some(format!("core {core} does not answer"));
            };
            if report.durable.failed {
                return Some(format!("the log of core {core} has failed: see the server's log"));
            }
            if report.durable.full {
                return Some(format!("the log of core {core} has no room: writes are refused"));
            }
        }
        None
    }

    /// As Prometheus reads it.
    pub fn page(&self) -> Exposition {
        page(self)
    }
}

/// The page of a server.
fn page(measurement: &Measurement) -> Exposition {
    let source = Source::of(measurement);
    let mut page = Exposition::default();
    for part in [process, commands, accounts, totals, log, memory, rdma] {
        part(&source, &mut page);
    }
    page
}

/// The page's reports, and the names of cores as labels have them.
struct Source<'a> {
    measurement: &'a Measurement,
    /// Cores that have answered, with their labels.
    cores: Vec<(String, &'a CoreReport)>,
}

impl<'a> Source<'a> {
    fn of(measurement: &'a Measurement) -> Source<'a> {
        let said = measurement.cores.iter().flatten();
        let cores = said.map(|report| (report.core.to_string(), report)).collect();
        Source { measurement, cores }
    }

    /// A metric with a value for each core.
    fn each_core<V: std::fmt::Display>(
        &self,
        page: &mut Exposition,
        (name, kind, help): (&'static str, Kind, &str),
        value: impl Fn(&CoreReport) -> V,
    ) {
        page.metric(name, kind, help);
        for (core, report) in &self.cores {
            page.sample(&[("core", core)], value(report));
        }
    }
}
