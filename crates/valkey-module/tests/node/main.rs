//! Real servers with the module: the replies to clients, the data of replicas and after a restart, and refusals.

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
