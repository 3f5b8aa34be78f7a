//! Load of the healthy client and the machine, with which every report begins whose latencies are its own.

use serde::Serialize;

use super::HealthyPlan;
use crate::host::Host;
use crate::testbed::Testbed;

/// Load, server and machine of a report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HealthySetting {
    /// Requests per second of the healthy client.
    pub rate: f64,
    /// Connections of the healthy client.
    pub connections: u32,
    /// Accounts of the healthy client.
    pub accounts: u32,
    /// Further arguments of the server.
    pub server_arguments: Vec<String>,
    /// The cores of the server; none where nothing was bound.
    pub target_cores: Vec<usize>,
    /// The core of the healthy client, and of what runs beside it.
    pub loader_core: Option<usize>,
    /// The machine.
    #[serde(flatten)]
    pub host: Host,
}

impl HealthySetting {
    /// Setting of a run on this testbed.
    pub fn new(plan: HealthyPlan, testbed: &Testbed) -> HealthySetting {
        let cores = testbed.cores.as_ref();
        HealthySetting {
            rate: plan.rate,
            connections: plan.connections,
            accounts: plan.accounts,
            server_arguments: testbed.scurry.arguments.clone(),
            target_cores: cores.map(|cores| cores.target.clone()).unwrap_or_default(),
            loader_core: cores.map(|cores| cores.loader),
            host: testbed.host.clone(),
        }
    }

    /// Lines below a table.
    pub fn words(&self) -> String {
        format!(
            "healthy client: {} requests/s of moaf-scur over {} connections, depth 1, latency from the \
             intended send time, audited; own is what the lab's core adds\n{}, {} cores, Linux {}\n",
            self.rate, self.connections, self.host.cpu, self.host.cores, self.host.kernel
        )
    }
}
