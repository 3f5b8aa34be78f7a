//! The HTTP door before real nodes and beside a real store: `scurry http` and `scurry serve`.

mod bad_input;
mod charging;
mod charging_bad_input;
mod charging_chains;
mod charging_errors;
mod charging_list;
mod charging_nchf;
mod charging_openapi;
mod charging_retries;
mod charging_statement;
mod charging_totals;
mod console;
mod docs;
mod entities;
mod entity;
mod failures;
mod floods;
mod gate;
mod hosts;
mod https;
mod linearizable;
mod log;
mod metrics;
mod misdeeds;
mod node;
mod one_order;
mod process;
mod proxy;
#[path = "../server/random.rs"]
mod random;
mod ranges;
mod restarts;
mod statuses;
mod store;
mod support;
mod valkey_nodes;
