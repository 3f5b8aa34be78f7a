//! Groups of real servers on this machine: started and stopped by `scurry replica`, and killed and stopped under load.

mod addresses;
mod backup;
mod catch_up;
mod certificates;
mod clients;
mod clocks;
mod erased;
mod failover;
mod files;
mod http;
#[path = "../server/real_clients/libraries.rs"]
mod libraries;
mod life;
mod logs;
mod losses;
mod members;
mod memory;
mod nodes;
mod observers;
mod old_reads;
mod refusals;
#[path = "../cluster/said.rs"]
mod said;
mod sentinel;
mod support;
mod tls;
mod transfers;
mod upgrade;
