//! The HTTP door before real nodes and beside a real store: `scurry http` and `scurry serve`.

mod bad_input;
mod charging;
mod charging_bad_input;
mod charging_errors;
mod charging_nchf;
mod charging_openapi;
mod charging_retries;
mod console;
mod copies;
mod docs;
mod failures;
mod floods;
mod gate;
mod https;
mod lifetimes;
mod metrics;
mod statuses;
mod store;
mod support;
