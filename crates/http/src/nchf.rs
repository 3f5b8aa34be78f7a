//! Nchf_ConvergedCharging (3GPP TS 32.291): the charging data resources of 5G, mapped to the sessions of the ledger.
//! The door keeps no state: the reference in the resource's URL holds what an Update needs from its Create.

mod problem;
mod reference;
mod request;
mod response;
mod routes;
mod units;

pub(crate) use routes::routes;
