//! Nchf_ConvergedCharging (3GPP TS 32.291): the charging data resources of 5G, on the sessions of the
//! ledger. Nothing is kept here: what an Update needs to know of its Create is in the reference.

mod problem;
mod reference;
mod request;
mod response;
mod routes;
mod units;

pub(crate) use routes::routes;
