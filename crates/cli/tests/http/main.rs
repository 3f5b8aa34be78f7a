//! The HTTP door before real nodes and beside a real store: `scurry http` and `scurry serve`.

mod bad_input;
mod console;
mod copies;
mod failures;
mod floods;
mod gate;
mod https;
mod lifetimes;
mod metrics;
mod statuses;
mod store;
mod support;
