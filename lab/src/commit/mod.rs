//! `scurry-lab commit`: how long a commit takes at half load, beside what the device takes for
//! a sync, and a bare writer for the same batches, in the same minute on the same file system.

mod bare;
mod device;
mod report;

use anyhow::{Context, Result};

use crate::arguments::HalfLoadArguments;
use crate::cores::bind_this_thread;
use crate::half_load::{HalfLoad, latencies};
use crate::testbed::{Testbed, allow_files, write_json};
pub use bare::BareFigures;
use bare::Batches;
use device::Device;
pub use device::DeviceFigures;
pub use report::{CommitReport, CommitRun};

const FILES: u64 = 1_000;
/// The device is looked at for this share of a run's time, in each of two ways.
const DEVICE_SHARE: f64 = 0.2;
/// A page.
const PAGE: usize = 4_096;

/// Measures, prints the table and writes it.
///
/// # Errors
/// When the device or the server fails, or a unit is lost.
pub fn commit(arguments: &HalfLoadArguments) -> Result<()> {
    let plan = arguments.plan()?;
    allow_files(FILES)?;
    let testbed = Testbed::prepare(&arguments.common)?;
    let load = HalfLoad::prepare(&testbed, &plan)?;
    let mut device = Device::prepare(&testbed.place)?;
    let seconds = DEVICE_SHARE * plan.seconds;
    let mut runs = Vec::new();
    for number in 1..=plan.runs {
        // Where the server's threads are while it runs.
        if let Some(core) = testbed.cores.as_ref().and_then(|cores| cores.target.first()) {
            bind_this_thread(*core)?;
        }
        let page = device.measure(PAGE, seconds)?;
        let run = load.run(number, plan.runs, false)?;
        let log = run.figures.log.clone().context("the server shows no log in INFO")?;
        if let Some(core) = testbed.cores.as_ref().and_then(|cores| cores.target.first()) {
            bind_this_thread(*core)?;
        }
        let batch = device.measure(usize::try_from(log.bytes_per_batch)?, seconds)?;
        let bare = Batches::of(&log)?.write(&mut device, plan.seconds)?;
        let update = run.by_operation.iter().find(|one| one.operation == "UPDATE");
        runs.push(CommitRun {
            run: number,
            rate: run.figures.business_ops_per_s.unwrap_or(0.0),
            latency_us: latencies(&run.figures)?,
            update_us: update.map(|one| one.latency_us.clone()).unwrap_or_default(),
            cpu_percent: run.figures.cpu_percent.unwrap_or(0.0),
            loader_idle_percent: run.figures.loader_idle_percent.unwrap_or(0.0),
            log,
            device_page: page,
            device_batch: batch,
            bare_writer: bare,
        });
    }
    let report = CommitReport::new(&load, &plan, &testbed, runs);
    print!("{}{}", report.render(), load.words());
    write_json(arguments.common.json.as_deref(), &report)
}
