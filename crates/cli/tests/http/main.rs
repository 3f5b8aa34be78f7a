//! The HTTP door before real nodes: `scurry http` and `scurry serve`.

mod bad_input;
mod charging;
mod copies;
mod failures;
mod lifetimes;
mod statuses;
mod support;
