//! The tests of `scurry-diameter` as one program.

mod answers;
mod clients;
mod hostile;
mod memory;
mod requests;
mod sessions;
mod support;
