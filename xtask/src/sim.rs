//! Exploring seeds of the simulators. Those of the gate run as their tests.

use crate::host::Host;
use anyhow::Result;

/// A simulator: its package and its binary.
pub(crate) type Simulator = (&'static str, &'static str);

/// The simulator of durability.
pub(crate) const DURABILITY: Simulator = ("scurry-sim", "sim");
/// The simulator of RESP over RDMA.
pub(crate) const RDMA: Simulator = ("scurry-rdma-fabric", "rdma-sim");
/// The simulator of replicas.
pub(crate) const REPLICAS: Simulator = ("scurry-replicas", "replica-sim");

/// Builds it optimised, with its assertions, and hands the arguments on.
pub(crate) fn run(host: &Host, (package, binary): Simulator, args: &[String]) -> Result<()> {
    let mut all = vec!["run", "-q", "--locked", "-p", package, "--bin", binary, "--"];
    all.extend(args.iter().map(String::as_str));
    host.cargo(&all)
}
