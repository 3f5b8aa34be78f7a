//! Tests of connections over sockets of this machine, with a stand-in for the charging.

mod bounds;
mod ending;
mod handshake;
mod hostile;
mod own;
mod pipes;
mod requests;
mod sections;
mod support;
mod table;
mod tls;
