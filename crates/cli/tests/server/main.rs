//! Tests with the real binary: each starts a server of its own on a free port.

mod access;
mod bad_input;
mod by_hand;
mod chains;
mod differential;
mod events;
mod flooding;
mod info;
mod life;
mod lobby;
mod memory;
mod random;
mod random_commands;
mod real_clients;
mod statement;
mod store;
mod support;
mod threads;
mod tls;
mod tools;
mod tracking;
mod transactions;
mod turns;
mod valkey;
mod watch;
mod web;
