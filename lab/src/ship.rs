//! `scurry-lab ship`: what a shipper of events costs the store that charges, how many events one core delivers to files,
//! and how late they are. docs/lab.md says how it is run.

mod charging;
mod delivery;
mod file_lag;
mod report;
mod setting;
mod shipper;
mod watch;

use anyhow::Result;

use crate::arguments::ShipArguments;
use crate::cores::Allowed;
use crate::testbed::{Testbed, allow_files, write_json};
pub use report::{ChargingRow, DeliveryRow, LagRow, Range, ShipReport};
use setting::ShipSetting;

/// Files of the lab and the server beside the connections.
const FILES: u64 = 200;

/// Measures everything, prints the tables and writes them.
///
/// # Errors
/// When a server or a shipper does not start, or an audit fails.
pub fn ship(arguments: &ShipArguments) -> Result<()> {
    arguments.check()?;
    let testbed = Testbed::prepare(&arguments.common)?;
    let setting = ShipSetting::new(arguments, &testbed)?;
    allow_files(u64::from(setting.scenario.connections) + FILES)?;
    // Restores the cores that this thread may run on.
    let _allowed = Allowed::look()?;
    let charging = charging::measure(&setting)?;
    let delivery = delivery::measure(&setting)?;
    let lag = file_lag::measure(&setting, &delivery)?;
    let report = ShipReport {
        host: testbed.host.clone(),
        durability: setting.durability().word().to_owned(),
        charging,
        delivery: delivery.rows,
        lag,
    };
    print!("{}", report.render());
    write_json(arguments.common.json.as_deref(), &report)
}
