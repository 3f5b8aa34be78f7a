//! The HTTP door before real nodes: `scurry http` and `scurry serve`.

mod bad_input;
mod charging;
mod charging_bad_input;
mod charging_errors;
mod charging_nchf;
mod charging_openapi;
mod charging_retries;
mod copies;
mod docs;
mod failures;
mod lifetimes;
mod statuses;
mod support;
