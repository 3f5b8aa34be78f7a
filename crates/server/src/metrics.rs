//! What the cores have counted, as metrics. Labels have few values: cores, commands of the table,
//! kinds of memory, units (of which a store has as many as its accounts use).

mod parts;

use crate::exposition::{Exposition, Kind};
use crate::inside::Measurement;
use crate::report::CoreReport;
use parts::{accounts, commands, log, memory, process, rdma, totals};

/// The page of a server.
pub(crate) fn page(measurement: &Measurement) -> Exposition {
    let source = Source::of(measurement);
    let mut page = Exposition::default();
    for part in [process, commands, accounts, totals, log, memory, rdma] {
        part(&source, &mut page);
    }
    page
}

/// What is shown, and names of cores as labels have them.
struct Source<'a> {
    measurement: &'a Measurement,
    /// Those that have answered.
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
