//! What charging costs with a shipper that follows, against none.

use anyhow::{Context, Result};

use super::report::{ChargingRow, Range};
use super::setting::ShipSetting;
use super::shipper::{Shipped, Shipper, Source};
use crate::figures::{percent, rounded};
use crate::row::Run;
use crate::sampler::MAIN_THREAD;
use crate::scenario::Scenario;

/// Options of a shipper that follows.
const FOLLOWS: [&str; 2] = ["--flush-ms", "1000"];

/// Measures the closed loop, and half of its rate by the clock.
pub(super) fn measure(setting: &ShipSetting<'_>) -> Result<Vec<ChargingRow>> {
    let closed = setting.scenario.clone();
    let first = row(setting, &closed, "closed loop")?;
    let half = Scenario { rate: Some((first.none_ops_per_s.median / 2.0).max(1.0)), ..closed };
    let second = row(setting, &half, "half of it, by the clock")?;
    Ok(vec![first, second])
}

/// The runs of one side.
#[derive(Default)]
struct Side {
    ops_per_s: Vec<f64>,
    core_us: Vec<f64>,
    reader_us: Vec<f64>,
    all_us: Vec<f64>,
}

impl Side {
    fn add(&mut self, run: &Run) -> Result<()> {
        let figures = &run.figures;
        let missing = "a load was not measured";
        let thread = |name| run.thread_us_per_op.get(name).copied().unwrap_or(0.0);
        self.ops_per_s.push(figures.business_ops_per_s.context(missing)?);
        // The first of the threads that charge is that of the process.
        self.core_us.push(thread(MAIN_THREAD) + thread("core"));
        self.reader_us.push(thread("reader"));
        self.all_us.push(figures.cpu_us_per_op.context(missing)?);
        Ok(())
    }
}

fn row(setting: &ShipSetting<'_>, scenario: &Scenario, load: &str) -> Result<ChargingRow> {
    let (mut none, mut shipped) = (Side::default(), Side::default());
    let mut shippers: Vec<Shipped> = Vec::new();
    // The two sides alternate, so that a machine that slows down affects both.
    for number in 1..=setting.arguments.runs {
        let (run, fleet) = setting.load(scenario, setting.start(scenario)?, number)?;
        none.add(&run)?;
        drop(fleet);
        let fleet = setting.start(scenario)?;
        let source = Source::Server(fleet.first().address());
        let mut shipper = Shipper::start(setting, &source, "json", &FOLLOWS)?;
        let (run, _fleet) = setting.load(scenario, fleet, number)?;
        shipped.add(&run)?;
        shippers.push(shipper.stop()?);
    }
    let pairs = none.core_us.iter().zip(&shipped.core_us);
    let added = pairs.map(|(none, shipped)| rounded(percent(shipped - none, *none), 2));
    let added: Vec<f64> = added.collect();
    let rates: Vec<f64> = shippers.iter().map(Shipped::rate).collect();
    Ok(ChargingRow {
        load: load.to_owned(),
        runs: setting.arguments.runs,
        none_ops_per_s: Range::of(&none.ops_per_s),
        ops_per_s: Range::of(&shipped.ops_per_s),
        none_core_us: Range::of(&none.core_us),
        core_us: Range::of(&shipped.core_us),
        core_added_percent: Range::of(&added),
        reader_us: Range::of(&shipped.reader_us),
        none_all_us: Range::of(&none.all_us),
        all_us: Range::of(&shipped.all_us),
        shipped_per_s: Range::of(&rates),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Figures;

    #[test]
    fn the_cores_that_charge_are_counted_apart_from_the_reader() {
        let threads = [("main", 1.0), ("core", 2.0), ("log", 8.0), ("reader", 4.0)];
        let figures = Figures {
            business_ops_per_s: Some(10.0),
            cpu_us_per_op: Some(15.0),
            ..Figures::default()
        };
        let thread_us_per_op = threads.map(|(name, us)| (name.to_owned(), us)).into();
        let mut side = Side::default();
        side.add(&Run { figures, thread_us_per_op, ..Run::default() }).unwrap();
        assert_eq!((side.core_us, side.reader_us, side.all_us), (vec![3.0], vec![4.0], vec![15.0]));
    }
}
