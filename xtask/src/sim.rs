//! Exploring seeds of the simulator of durability. Those of the gate run as its tests.

use crate::host::Host;
use anyhow::Result;

/// Builds it optimised, with its assertions, and hands the arguments on.
pub(crate) fn run(host: &Host, args: &[String]) -> Result<()> {
    let mut all = vec!["run", "-q", "--locked", "-p", "scurry-sim", "--bin", "sim", "--"];
    all.extend(args.iter().map(String::as_str));
    host.cargo(&all)
}
