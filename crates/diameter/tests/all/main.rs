//! The tests of `scurry-diameter` as one program.

mod answers;
mod clients;
mod hostile;
mod memory;
mod peer_handshake;
mod peer_messages;
mod peer_support;
mod peer_timers;
mod read_avps;
mod requests;
mod sessions;
mod support;
