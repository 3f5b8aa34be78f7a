//! The sink before a real nats-server: what it delivers once, and what it refuses. CONTRIBUTING.md says how to get one.

mod hand;
mod once;
mod peer;
mod refusals;
