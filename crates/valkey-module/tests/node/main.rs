//! Real servers with the module: what a client sees, what a replica gets, what comes back after a
//! restart, and what is refused.

mod access;
mod bad_input;
mod busy;
mod chains;
mod expiry;
mod files;
mod garbage;
mod generic;
mod list;
mod loading;
mod product;
mod replicas;
mod replies;
mod session;
mod slot_migration;
mod support;
mod transactions;
