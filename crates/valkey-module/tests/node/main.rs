//! Real servers with the module: what a client sees, what a replica gets, what comes back after a
//! restart, and what is refused.

mod access;
mod bad_input;
mod expiry;
mod files;
mod loading;
mod replicas;
mod session;
mod support;
