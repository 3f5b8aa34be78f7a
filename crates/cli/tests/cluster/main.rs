//! A real cluster of valkey-servers with the module, and moving into it and back.

mod charging;
mod local;
mod moving;
mod refusals;
mod said;
mod support;
