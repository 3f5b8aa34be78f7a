//! The sink before real servers of Valkey and Redis: what it delivers once, and what it refuses.

mod hand;
mod once;
mod peer;
mod refusals;
mod servers;
mod tls;
