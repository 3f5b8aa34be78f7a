//! The 5G charging API Nchf_ConvergedCharging (3GPP TS 32.291): it maps charging data resources to sessions of the
//! ledger. This door stores nothing: the reference in the resource's URI carries all that an Update needs from its
//! Create.

mod problem;
mod reference;
mod request;
mod response;
mod routes;
mod units;

pub use routes::routes;
