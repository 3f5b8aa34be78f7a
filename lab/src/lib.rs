//! The load laboratory. It starts each system under test, checks that it keeps the rules, loads
//! it, samples it, audits what it acknowledged, and prints one table. docs/lab.md is its manual.

pub mod arguments;
pub mod audit;
pub mod client;
pub mod clock;
pub mod cores;
pub mod dialect;
pub mod echo;
pub mod echo_sizes;
pub mod errors;
pub mod figures;
pub mod host;
pub mod latency;
pub mod launcher;
pub mod list;
pub mod loader;
pub mod measure;
pub mod names;
pub mod populate;
pub mod process;
pub mod progress;
pub mod random;
pub mod report;
pub mod resp;
pub mod row;
pub mod run;
pub mod sampler;
pub mod scenario;
pub mod target;
pub mod workload;
