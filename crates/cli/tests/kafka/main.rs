//! `scurry ship kafka` before a real broker: each event once, in order per account, whatever is killed or cut; and
//! errors in words. `scripts/install-tools.sh all` brings the broker.

mod broker;
mod faults;
#[path = "../ship/proxy.rs"]
mod proxy;
mod refusals;
#[path = "../ship/shipper.rs"]
mod shipper;
#[path = "../ship/store.rs"]
mod store;
#[path = "../ship/wait.rs"]
mod wait;
