//! The Diameter door as a process, asked by a client of these tests over real sockets, before real stores.

mod bytes;
mod charging;
mod client;
mod doors;
mod freediameter;
mod notices;
mod otp;
mod peers;
mod python;
mod replays;
mod sent_avps;
mod store;
mod tshark;
