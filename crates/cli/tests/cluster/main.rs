//! A real cluster of valkey-servers with the module, and copies into it and back.

mod charging;
mod local;
mod moving;
mod refusals;
mod said;
mod support;
mod tables;
