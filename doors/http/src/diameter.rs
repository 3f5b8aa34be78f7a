//! What an HTTP port shows of a Diameter door in its process: metrics, and its peers for the console.

mod door;
mod metrics;
mod peers;

pub use door::open_beside_diameter;
pub(crate) use metrics::show;
pub(crate) use peers::routes;
