//! `scurry ship amqp` before a real RabbitMQ: each event at least once, in order per account, whatever is killed or cut;
//! and errors in words. `scripts/install-tools.sh all` brings the broker and its client.

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
