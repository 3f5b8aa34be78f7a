//! Tests of the table of services through its public names: rows as texts of settings files in, terms and words out.

mod bounds;
mod errors;
mod examples;
mod explain;
mod lookup;
mod naive;
mod settings;
mod subscribers;
mod terms;
