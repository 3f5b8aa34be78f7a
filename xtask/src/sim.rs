//! Runs the simulators with other seeds. The seeds of the gate run as tests.

use crate::host::Host;
use anyhow::Result;

/// Package and binary of a simulator.
pub(crate) type Simulator = (&'static str, &'static str);

/// Simulator of durability.
pub(crate) const DURABILITY: Simulator = ("scurry-sim", "sim");
/// Simulator of RESP over RDMA.
pub(crate) const RDMA: Simulator = ("scurry-rdma-fabric", "rdma-sim");
/// Simulator of replicas.
pub(crate) const REPLICAS: Simulator = ("scurry-replicas", "replica-sim");

/// Simulator of doors to Diameter, their clients and the links between them.
pub(crate) const DIAMETER: Simulator = ("scurry-diameter-sim", "diameter-sim");

/// Builds it with optimization and assertions, and passes the arguments on.
pub(crate) fn run(host: &Host, (package, binary): Simulator, args: &[String]) -> Result<()> {
    let mut all = vec!["run", "-q", "--locked", "-p", package, "--bin", binary, "--"];
    all.extend(args.iter().map(String::as_str));
    host.cargo(&all)
}
